"""Ask one interpreter what it is: it is started, and only what it answers counts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from packaging.utils import canonicalize_name

from triage.errors import UnrunnableError
from triage.model.project import Interpreter

TIME_LIMIT = 30.0
"""Seconds. An interpreter answers in a fraction of one; a cold file system or a slow network drive may take several."""
OLDEST_PYTHON = (3, 8)
OLDEST_PYTEST = 7
_MARK = "triage-interpreter:"
_BEFORE = "import sys\nsys.path[:] = [entry for entry in sys.path if entry]\nimport json\n"
"""The current folder is taken off the path before anything is imported: a `json.py` there is none of the interpreter's."""
_AFTER = f"\nsys.stdout.write('\\n{_MARK}' + json.dumps(answer) + '\\n')\n"
_MOST_OUTPUT = 1 << 20

_SCRIPT = """
answer = {
    "version": ".".join(str(part) for part in sys.version_info[:3]),
    "executable": sys.executable, "prefix": sys.prefix, "base_prefix": getattr(sys, "base_prefix", sys.prefix),
    "implementation": "cpython", "free_threaded": False, "packages": {},
}
try:
    import importlib.metadata, importlib.util, sysconfig
    answer["implementation"] = sys.implementation.name
    answer["free_threaded"] = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    for name in ("pytest", "pytest-xdist", "hypothesis", "numpy"):
        try:
            answer["packages"][name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    if importlib.util.find_spec("pytest") is None:
        answer["packages"].pop("pytest", None)
except ImportError:
    pass
"""
"""Readable by every Python from 2.7 on, so that one that is too old can say so."""


_DISTRIBUTIONS = """
try:
    from importlib.metadata import distributions
except ImportError:
    def distributions():
        return ()
answer = {}
for one in distributions():
    try:
        answer.setdefault(one.metadata["Name"], one.version)
    except Exception:
        pass
"""


class NoPytestError(UnrunnableError):
    """An interpreter that works and has no pytest."""


class Answer(Struct, frozen=True, kw_only=True):
    """What an interpreter says of itself."""

    path: str
    """As it is to be started."""
    version: str
    implementation: str
    free_threaded: bool
    executable: str | None
    prefix: str
    base_prefix: str = ""
    packages: dict[str, str] = {}
    """Versions of `pytest`, `pytest-xdist`, `hypothesis` and `numpy`, of those that are installed."""

    @property
    def pytest(self) -> str | None:
        """Version of pytest, or None."""
        return self.packages.get("pytest")

    @property
    def identity(self) -> tuple[str, str]:
        """The same for two paths that lead to the same interpreter with the same packages."""
        return os.path.realpath(self.prefix), os.path.realpath(self.executable or self.path)

    @property
    def is_environment(self) -> bool:
        """Whether it belongs to a virtual environment."""
        return bool(self.base_prefix) and os.path.realpath(self.prefix) != os.path.realpath(self.base_prefix)

    @property
    def short(self) -> str:
        """`3.13`, or `3.13t` for a free-threaded build."""
        return self.interpreter("").short

    @property
    def is_too_old(self) -> bool:
        """Whether targets cannot run on this version."""
        return _numbers(self.version) < OLDEST_PYTHON

    def interpreter(self, origin: str) -> Interpreter:
        """Return this as the shared value."""
        return Interpreter(
            path=self.path,
            version=self.version,
            pytest=self.pytest,
            origin=origin,
            implementation=self.implementation,
            free_threaded=self.free_threaded,
        )

    def why_unfit(self) -> UnrunnableError | None:
        """Return the error that says why this interpreter cannot run targets, or None if it can."""
        if self.is_too_old:
            return UnrunnableError(
                f"Python {self.version} in `{self.path}` is too old",
                hint="`triage` runs targets on Python 3.8 and later",
            )
        if self.pytest is None:
            return NoPytestError(
                f"no pytest in `{self.path}`",
                hint=f'install it with "{self.path} -m pip install pytest" or name another interpreter with --python',
            )
        if _numbers(self.pytest) < (OLDEST_PYTEST,):
            return UnrunnableError(
                f"pytest {self.pytest} in `{self.path}` is too old",
                hint=f'install a newer one with "{self.path} -m pip install -U pytest" ({OLDEST_PYTEST} or later)',
            )
        return None


def is_shim(path: str) -> bool:
    """Whether a path leads to a version manager's shim, as pyenv, mise and asdf have them."""
    return Path(path).parent.name == "shims"


def ask(
    path: str, environ: Mapping[str, str], time_limit: float = TIME_LIMIT, folder: str | os.PathLike[str] | None = None
) -> Answer:
    """Start the interpreter at `path` in `environ` and return what it says of itself.

    `time_limit` is in seconds. A shim of a version manager is asked in `folder`, the project's root, on which depends what is
    behind it, and is replaced by that. Raises `UnrunnableError` if it does not start, does not answer in time or answers
    something else.
    """
    data = speak(path, environ, time_limit, _SCRIPT, folder if is_shim(path) else None)
    try:
        answer = Answer(path=path, **data)
    except TypeError as error:
        raise _broken(path, "did not answer as a Python does") from error
    if is_shim(path) and answer.executable:
        return Answer(path=answer.executable, **data)
    return answer


def distributions(path: str, environ: Mapping[str, str], time_limit: float = TIME_LIMIT) -> dict[str, str]:
    """Return what is installed in the interpreter at `path`: normalised names and versions.

    Raises `UnrunnableError` as `ask` does.
    """
    found = speak(path, environ, time_limit, _DISTRIBUTIONS)
    return {canonicalize_name(name): version for name, version in found.items() if isinstance(version, str)}


def speak(
    path: str,
    environ: Mapping[str, str],
    time_limit: float,
    script: str,
    folder: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """Run a script, to which `sys` and `json` are known, and return the object `answer` that it makes.

    Raises `UnrunnableError` as `ask` does.
    """
    status, output, errors = _run(path, environ, time_limit, script, folder)
    lines = [line for line in output.splitlines() if line.startswith(_MARK)]
    if status is None:
        raise _broken(path, f"did not answer within {time_limit:g} s")
    if status != 0 or not lines:
        said = _gist(errors or output)
        shown = f": {said}" if said else ""
        ended = f"ended with status {status}" if status else "did not answer as a Python does"
        raise _broken(path, ended + shown)
    try:
        data = json.loads(lines[-1].removeprefix(_MARK))
    except ValueError as error:
        raise _broken(path, "did not answer as a Python does") from error
    if not isinstance(data, dict):
        raise _broken(path, "did not answer as a Python does")
    return data


def _run(
    path: str,
    environ: Mapping[str, str],
    time_limit: float,
    script: str,
    folder: str | os.PathLike[str] | None,
) -> tuple[int | None, str, str]:
    """Return exit status (None if out of time), standard output and standard error.

    Output goes to files and the process gets a group of its own, so that neither a child that outlives it nor one that
    keeps its output open can hold us up.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(
                [path, "-c", _BEFORE + script + _AFTER],
                env=dict(environ),
                cwd=folder or "/",  # no folder of ours: killed, we would leave it behind
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
        except OSError as error:
            raise _broken(path, f"cannot be started ({(error.strerror or str(error)).lower()})") from error
        try:
            status: int | None = process.wait(time_limit)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            _end(process)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read(_MOST_OUTPUT).decode(errors="replace"))
    return status, texts[0], texts[1]


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the process and its group, and wait for the process."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _broken(path: str, what: str) -> UnrunnableError:
    return UnrunnableError(f"`{path}` is not a working interpreter: it {what}", hint="name another one with --python")


def _gist(text: str) -> str:
    """Return the line that says most: the first, but the last of a traceback."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    return (lines[-1] if any(line.startswith("Traceback (") for line in lines) else lines[0])[:200]


def _numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: `9.0.0rc1` gives 9 and 0."""
    numbers: list[int] = []
    for part in version.split("."):
        if not part.isdigit():
            break
        numbers.append(int(part))
    return tuple(numbers)
