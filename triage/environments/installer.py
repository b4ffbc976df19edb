"""The two installers, uv and pip: their commands, how they are run, and which line of their output says what went wrong."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from packaging.version import InvalidVersion, Version

from triage.errors import UnrunnableError
from triage.runner.process import run_supervised
from triage.runner.scratch import Scratch

ALWAYS_PEP517 = Version("25.3")
"""pip before that runs `setup.py develop` for some projects unless told not to."""
_DROPPED = frozenset(
    {
        "CONDA_PREFIX",
        "PIP_DRY_RUN",
        "PIP_LOG",
        "PIP_PREFIX",
        "PIP_PYTHON",
        "PIP_REPORT",
        "PIP_REQUIRE_VIRTUALENV",
        "PIP_ROOT",
        "PIP_TARGET",
        "PIP_USER",
        "PYTHONHOME",
        "PYTHONPATH",
        "PYTHONSAFEPATH",
        "PYTHONSTARTUP",
        "PYTHONUSERBASE",
        "UV_PROJECT_ENVIRONMENT",
        "UV_PYTHON",
        "UV_SYSTEM_PYTHON",
        "UV_TARGET",
        "VIRTUAL_ENV",
        "__PYVENV_LAUNCHER__",
    }
)
"""Variables that would make an installer work on another environment than it is told."""
_SET = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "NO_COLOR": "1",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
    "PIP_PROGRESS_BAR": "off",
    "UV_NO_PROGRESS": "1",
    "UV_PYTHON_DOWNLOADS": "never",
}
_UNREACHABLE = re.compile(
    r"name resolution|name or service not known|failed to establish a new connection|network is unreachable|"
    r"connection refused|connection timed out|dns error|error sending request|could not connect|"
    r"network connectivity is disabled|newconnectionerror|nodename nor servname",
    re.IGNORECASE,
)
_SECRET = re.compile(r"(\w[\w+.-]*://)[^/\s@'\"]+@")
_EMPTY_WORDS = ("subprocess-exited-with-error", "metadata-generation-failed", "externally-managed-environment")
_TELLING = re.compile(r"^(?:ERROR|error|Error|fatal)\b:?\s*(.+)")
_CAUSE = re.compile(r"^(?:cause: |[├╰]─▶ )(.+)")
"""Of uv; the second form is that of older versions."""
_EXCEPTION = re.compile(r"^[\w.]*(?:Error|Exception)\b(?::\s*.+)?$")


class Installer(Struct, frozen=True, kw_only=True):
    """What makes environments and installs into them."""

    name: str
    """With its version, where that is known beforehand."""
    uv: str | None = None
    """Path of uv; None for `venv` with pip."""

    def create(self, python: str, folder: Path) -> list[str]:
        """Return the command that makes an empty environment for `python`."""
        if self.uv:
            return [self.uv, "venv", "--no-project", "--python", python, "--no-python-downloads", str(folder)]
        return [python, "-I", "-m", "venv", str(folder)]

    def install(self, python: str, *words: str, pip: Version | None = None) -> list[str]:
        """Return the command that installs `words` into the environment of `python`; `pip` is the version of pip there."""
        if self.uv:
            return [self.uv, "pip", "install", "--python", python, *words]
        legacy = ["--use-pep517"] if pip is not None and pip < ALWAYS_PEP517 else []
        return [python, "-I", "-m", "pip", "install", "--no-compile", *legacy, *words]

    def reinstall(self, python: str, *words: str, pip: Version | None = None) -> list[str]:
        """Return the command that installs exactly these projects again."""
        return self.install(python, "--reinstall" if self.uv else "--force-reinstall", "--no-deps", *words, pip=pip)


def installers(environ: Mapping[str, str]) -> list[Installer]:
    """Return what is here, the first to be tried first: uv if it is on `PATH` and works, and pip."""
    found = []
    uv = shutil.which("uv", path=environ.get("PATH"))
    if uv:
        try:
            told = subprocess.run(
                [uv, "--version"],
                env=dict(environ),
                capture_output=True,
                text=True,
                errors="replace",
                timeout=20,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            told = None
        if told and told.returncode == 0 and told.stdout.startswith("uv "):
            found.append(Installer(name=" ".join(told.stdout.split()[:2]), uv=uv))
    return [*found, Installer(name="pip")]


class InstallError(UnrunnableError):
    """An environment could not be made; the message is the line of the installer that says most."""

    def __init__(self, message: str, hint: str | None = None, *, unreachable: bool = False) -> None:
        super().__init__(message, hint)
        self.unreachable = unreachable


class Job:
    """Runs the commands for one environment, each ended with all that it started, and keeps their output."""

    def __init__(self, root: Path, environ: Mapping[str, str], scratch: Scratch, limit: float) -> None:
        self.root = root
        self.scratch = scratch
        self.limit = limit
        self.deadline = time.monotonic() + limit
        self.log = scratch.folder / "install.log"
        kept = {name: value for name, value in environ.items() if name not in _DROPPED}
        self.environment = {**kept, **_SET, "TMPDIR": str(scratch.temporary)}

    def run(self, argv: Sequence[str]) -> None:
        """Run one command; raises `InstallError` if it fails or if the time of the whole is up."""
        before = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"$ {' '.join(argv)}\n")
        end = run_supervised(
            ["/bin/sh", "-c", 'exec "$@" >>"$0" 2>&1', str(self.log), *argv],
            cwd=self.root,
            environment=self.environment,
            limit=max(1.0, self.deadline - time.monotonic()),
            log_file=self.scratch.log,
        )
        if end.error is not None:
            raise InstallError(end.error)
        if end.limit_hit:
            raise InstallError(f"it took longer than {self.limit:.0f} s")
        if end.exit_status != 0:
            with self.log.open("rb") as log_file:
                log_file.seek(before)
                text = log_file.read().decode("utf-8", "replace")
            ended = f"ended by signal {end.signal}" if end.signal else f"status {end.exit_status}"
            message, unreachable = telling(text)
            raise InstallError(message or ended, unreachable=unreachable)

    def kept_log(self) -> str:
        """Return what the commands printed, without passwords of addresses."""
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return without_secrets(text.replace(str(self.scratch.folder), "$BUILD"))


def telling(text: str) -> tuple[str, bool]:
    """Return the line of an installer's output that says most, and whether the index could not be reached.

    uv ends with its causes, the last of which is the reason; pip marks lines with `ERROR:`, the first of the last
    block being the reason and the exception of a build lying before it.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if any(_UNREACHABLE.search(line) for line in lines):
        return "a package index could not be reached (is this machine offline?)", True
    causes = [found[1] for line in lines if (found := _CAUSE.match(line))]
    marked = [found[1] for line in lines if (found := _TELLING.match(line))]
    marked = [line for line in marked if not line.startswith(_EMPTY_WORDS)]
    raised = [line for line in lines if _EXCEPTION.match(line)]
    missing = [line for line in marked if line.startswith("Could not find a version")]
    chosen = (causes[-1:] or missing[-1:] or raised[-1:] or marked[-1:] or lines[-1:] or [""])[0]
    return without_secrets(chosen)[:300].rstrip("."), False


def without_secrets(text: str) -> str:
    """Return a text without the names and passwords in its addresses."""
    return _SECRET.sub(r"\1***@", text)


def pip_version(python: str, environ: Mapping[str, str]) -> Version | None:
    """Return the version of the pip that the interpreter has, or None."""
    try:
        told = subprocess.run(
            [python, "-I", "-m", "pip", "--version"],
            env=dict(environ),
            cwd=os.sep,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60,
            check=False,
        )
        return Version(told.stdout.split()[1])
    except (OSError, subprocess.TimeoutExpired, IndexError, InvalidVersion):
        return None
