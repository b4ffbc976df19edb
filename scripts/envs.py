#!/usr/bin/env python3
"""Create the interpreters' environments under `.envs/` that the tests of several Python and pytest versions use.

    python3 scripts/envs.py [NAME ...]

Standard library only, safe to repeat: an environment that is complete is left alone, one whose requirements changed is
made again. A missing interpreter is one visible line and no error; everything else that goes wrong with an environment
ends with status 1, after the others were tried.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ENVS = Path(__file__).resolve().parent.parent / ".envs"
MARKER = "triage-env.json"
"""Written last, with the requirements: an environment without it was not finished."""

PLUGINS = ("pytest-rerunfailures", "pytest-randomly", "pytest-cov", "pytest-xdist", "hypothesis", "numpy")
PYTEST = {"pytest7": "pytest>=7,<8", "pytest8": "pytest>=8,<9", "pytest9": "pytest>=9,<10"}
TAKEN_OVER = (
    "flaky",
    "pytest-cov",
    "pytest-flakefinder",
    "pytest-forked",
    "pytest-random-order",
    "pytest-randomly",
    "pytest-repeat",
    "pytest-rerunfailures",
    "pytest-retry",
    "pytest-reverse",
    "pytest-timeout",
    "pytest-xdist",
)
"""Every plugin that `triage.targets.takeover` makes inert."""
MATRIX: dict[str, tuple[str, ...]] = {
    **{
        name: (PYTEST[name.partition("-")[2]],)
        for name in (
            "py3.8-pytest7",
            "py3.8-pytest8",
            "py3.9-pytest8",
            "py3.10-pytest9",
            "py3.11-pytest7",
            "py3.11-pytest9",
            "py3.12-pytest8",
            "py3.12-pytest9",
            "py3.13-pytest8",
            "py3.13-pytest9",
        )
    },
    "py3.11-plugins": (PYTEST["pytest9"], *PLUGINS),
    "py3.11-takeover": (PYTEST["pytest9"], *TAKEN_OVER),
    "py3.11-async": (PYTEST["pytest9"], "anyio", "pytest-asyncio"),
}
"""Name (which begins with the interpreter's version) to requirements."""
QUICK = "--quick"
SLOW = ("py3.8-pytest8", "py3.11-pytest7", "py3.13-pytest8")
"""Only tests marked `slow` use these; `--quick` leaves them out."""

PROBE = "import ensurepip, sys, venv; print('%d.%d' % sys.version_info[:2])"
"""Distributions of Linux split `ensurepip` off: such a Python cannot make an environment."""


def say(line: str) -> None:
    """Print one line at once: creating environments takes minutes."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def version_of(candidate: str) -> str | None:
    """Return `X.Y` of an interpreter that really starts, else None (a shim may exist for a version that does not)."""
    try:
        done = subprocess.run([candidate, "-c", PROBE], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def candidates(version: str) -> list[str]:
    """Return where an interpreter of this version may be, most specific first."""
    found = []
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = Path(folder or ".", f"python{version}")
        if os.access(path, os.X_OK):
            found.append(str(path))
    roots = [Path(os.environ["PYENV_ROOT"])] if os.environ.get("PYENV_ROOT") else []
    roots.append(Path.home() / ".pyenv")
    for root in roots:
        # The newest patch version first, as numbers: 3.11.10 comes before 3.11.9.
        installed = [path for path in root.glob(f"versions/{version}*/bin/python") if path.is_file()]
        found += [str(path) for path in sorted(installed, key=_patch_version, reverse=True)]
    return [*found, sys.executable]


def _patch_version(python: Path) -> tuple[int, ...]:
    return tuple(int(part) for part in python.parent.parent.name.split(".") if part.isdigit())


def find_interpreter(version: str) -> str | None:
    """Return the path of an interpreter `X.Y` that runs, or None."""
    return next((path for path in candidates(version) if version_of(path) == version), None)


def interpreter_version(name: str) -> str:
    """Return `3.11` of `py3.11-pytest9`."""
    return name.partition("-")[0][len("py") :]


def is_complete(name: str, requirements: tuple[str, ...]) -> bool:
    """Whether the environment was finished with exactly these requirements, and its interpreter still starts."""
    folder = ENVS / name
    try:
        marker = json.loads((folder / MARKER).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    python = str(folder / "bin" / "python")
    return marker == list(requirements) and version_of(python) == interpreter_version(name)


def create(name: str, requirements: tuple[str, ...], interpreter: str) -> None:
    """Make the environment anew.

    Raises `subprocess.CalledProcessError` or `OSError`.
    """
    folder = ENVS / name
    shutil.rmtree(folder, ignore_errors=True)
    python = str(folder / "bin" / "python")
    clean = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL_ENV", "__PYVENV"))
    }
    for command in (
        [interpreter, "-m", "venv", str(folder)],
        [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements],
    ):
        subprocess.run(command, check=True, env=clean, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    (folder / MARKER).write_text(json.dumps(list(requirements)) + "\n", encoding="utf-8")


def ensure(name: str) -> bool:
    """Bring one environment about; False if it went wrong for another reason than a missing interpreter."""
    requirements = MATRIX[name]
    if is_complete(name, requirements):
        say(f"{name}: ready")
        return True
    version = interpreter_version(name)
    interpreter = find_interpreter(version)
    if interpreter is None:
        say(f"{name}: MISSING, no Python {version} on PATH or under pyenv")
        return True
    try:
        create(name, requirements, interpreter)
    except (OSError, subprocess.CalledProcessError) as error:
        say(f"{name}: FAILED, {error}")
        return False
    say(f"{name}: created with {interpreter}")
    return True


def main(names: list[str]) -> int:
    """Create the named environments, or all; with `--quick` all that `make test` uses."""
    if names == [QUICK]:
        names = [name for name in MATRIX if name not in SLOW]
    unknown = [name for name in names if name not in MATRIX]
    if unknown:
        say(f"unknown: {', '.join(unknown)}; known: {', '.join(MATRIX)}")
        return 2
    ENVS.mkdir(exist_ok=True)
    with (ENVS / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two sessions in one checkout must not build the same folder at once
        done = [ensure(name) for name in names or MATRIX]
    return 0 if all(done) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
