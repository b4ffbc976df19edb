"""Which Python runs the target: the project's own, and those that `--python` names.

Nothing is an interpreter until it has been started and has answered (`inspection.ask`): shims exist for versions that are
not installed, and virtual environments outlive the Python that they were made with.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from python_discovery import iter_interpreters

from triage.errors import UnrunnableError, UsageError
from triage.model.project import Interpreter
from triage.targets.inspection import NoPytestError, ask

VERSION = re.compile(r"\d+(?:\.\d+){0,2}t?")
"""`3`, `3.13`, `3.13.0`, `3.13t` (free-threaded)."""
_ENVIRONMENT_FOLDERS = (".venv*", "venv*", ".envs/*", ".tox/*", ".nox/*")

logging.getLogger("python_discovery").addHandler(logging.NullHandler())  # it logs every candidate that it turns down


def own_interpreter(root: Path, environ: Mapping[str, str], explicit: Sequence[str] = ()) -> Interpreter:
    """Return the interpreter with which the project is tested when nobody names one.

    The first of these that has a pytest: the active virtual environment (`VIRTUAL_ENV`, then `CONDA_PREFIX`); `.venv`, then
    `venv`, in `root`; the interpreter of `triage` itself; the first of `explicit`; `python3` and `python` on `PATH`.
    Raises `UnrunnableError` if there is none, or if one of the environments that the user has set up (active, or in `root`)
    does not start or is too old: to go on silently with another would test something else.
    """
    without_pytest: UnrunnableError | None = None
    for path, origin in _designated(root, environ):
        answer = ask(path, environ)
        problem = answer.why_unfit()
        if problem is None:
            return answer.interpreter(origin)
        if not isinstance(problem, NoPytestError):
            raise problem
        without_pytest = without_pytest or problem
    if fit := _first_fit([(sys.executable, "the interpreter of triage")], environ):
        return fit
    if explicit:
        return resolve(explicit[0], root, environ)
    if fit := _first_fit(_on_path(("python3", "python"), environ), environ):
        return fit
    raise without_pytest or UnrunnableError(
        "no Python with pytest was found", hint="activate the project's virtual environment or name one with --python"
    )


def resolve(spec: str, root: Path, environ: Mapping[str, str] | None = None) -> Interpreter:
    """Return the interpreter that `spec` names: a path to a Python or to a virtual environment, or a version.

    For a version the first of these with a pytest, because an environment of the project also has what the project needs:
    the active virtual environment; `.venv*`, `venv*`, `.envs/*`, `.tox/*`, `.nox/*` in `root`; what python-discovery finds
    (`PATH`, shims, uv) and pyenv's versions, newest first; the interpreter of `triage`.
    Raises `UsageError` for a `spec` that means nothing, `UnrunnableError` for an interpreter that cannot run targets.
    """
    environ = os.environ if environ is None else environ
    origin = f"--python {spec}"
    if not VERSION.fullmatch(spec):
        answer = ask(_python_at(spec, environ), environ)
        if problem := answer.why_unfit():
            raise problem
        return answer.interpreter(origin)
    problem = None
    for path in _of_version(spec, root, environ):
        try:
            answer = ask(path, environ)
        except UnrunnableError:
            continue
        if not matches(spec, answer.version, free_threaded=answer.free_threaded):
            continue
        unfit = answer.why_unfit()
        if unfit is None:
            return answer.interpreter(origin)
        problem = problem or unfit
    raise problem or UnrunnableError(
        f"no Python {spec} was found",
        hint="install it, or give --python the path of an interpreter or virtual environment",
    )


def all_interpreters(root: Path, environ: Mapping[str, str], specs: Sequence[str] = ()) -> tuple[Interpreter, ...]:
    """Return the project's own interpreter and then those of `specs`, each once."""
    found = [own_interpreter(root, environ, specs), *(resolve(spec, root, environ) for spec in specs)]
    unique: dict[tuple[str, str], Interpreter] = {}
    for interpreter in found:
        unique.setdefault(ask(interpreter.path, environ).identity, interpreter)
    return tuple(unique.values())


def matches(spec: str, version: str, *, free_threaded: bool) -> bool:
    """Whether `version` is one that `spec` (`3.13`, `3.13.0`, `3.13t`) names; a free-threaded build only with the `t`."""
    wanted = spec.removesuffix("t").split(".")
    return version.split(".")[: len(wanted)] == wanted and free_threaded == spec.endswith("t")


def _designated(root: Path, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the interpreters of the environments that the user has set up for the project."""
    for name, origin in (("VIRTUAL_ENV", "active virtual environment"), ("CONDA_PREFIX", "active conda environment")):
        if (folder := environ.get(name)) and Path(folder).is_dir():
            yield _python_in(Path(folder)) or str(Path(folder, "bin", "python")), origin
    for name in (".venv", "venv"):
        if python := _python_in(root / name):
            yield python, name


def _first_fit(
    candidates: Iterator[tuple[str, str]] | list[tuple[str, str]], environ: Mapping[str, str]
) -> Interpreter | None:
    for path, origin in candidates:
        try:
            answer = ask(path, environ)
        except UnrunnableError:
            continue
        if answer.why_unfit() is None:
            return answer.interpreter(origin)
    return None


def _on_path(names: Sequence[str], environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield every executable of these names on `PATH`, the first of all folders before the second."""
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        for name in names:
            if os.path.isabs(folder) and (path := shutil.which(name, path=folder)):  # noqa: PTH117 - a string from outside
                yield path, f"`{name}` on PATH"


def _of_version(spec: str, root: Path, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield paths where an interpreter of this version may be; `resolve` gives the order and its reason."""
    for path, _ in _designated(root, environ):
        if _may_be(spec, Path(path).parent.parent):
            yield path
    for pattern in _ENVIRONMENT_FOLDERS:
        for folder in sorted(root.glob(pattern)):
            if (python := _python_in(folder)) and _may_be(spec, folder):
                yield python
    for found in iter_interpreters(spec, cache=None, env=environ):
        if found.executable and matches(
            spec, ".".join(map(str, found.version_info[:3])), free_threaded=found.free_threaded
        ):
            yield found.executable
    yield from _pyenv_versions(spec, environ)
    yield sys.executable


def _pyenv_versions(spec: str, environ: Mapping[str, str]) -> Iterator[str]:
    """Yield pyenv's installed versions, also those for which no shim works in this folder; newest first."""
    home = environ.get("HOME")
    top = environ.get("PYENV_ROOT") or (str(Path(home, ".pyenv")) if home else None)
    if top is None:
        return
    number = spec.removesuffix("t")
    folders = [folder for folder in Path(top, "versions").glob(f"{number}*") if (folder / "bin" / "python").exists()]
    for folder in sorted(
        folders, key=lambda folder: [int(part) for part in re.findall(r"\d+", folder.name)], reverse=True
    ):
        yield str(folder / "bin" / "python")


def _may_be(spec: str, folder: Path) -> bool:
    """Whether the virtual environment says that it is of this version; one that says nothing has to be asked."""
    try:
        text = (folder / "pyvenv.cfg").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    said = re.search(r"^version(?:_info)?\s*=\s*(\d+(?:\.\d+)*)", text, re.MULTILINE)
    number = spec.removesuffix("t")
    return said is None or f"{said[1]}.".startswith(f"{number}.") or f"{number}.".startswith(f"{said[1]}.")


def _python_in(environment: Path) -> str | None:
    """Return the path of the Python of a virtual environment, links not followed; None if the folder is none.

    A link that leads nowhere is returned: the environment is there and broken, and that must be said.
    """
    for name in ("bin/python", "bin/python3", "Scripts/python.exe"):
        python = environment / name
        if python.exists() or python.is_symlink():
            return str(python)
    return None


def _python_at(spec: str, environ: Mapping[str, str]) -> str:
    """Return the path that `spec` means, absolute; a bare name such as `python3.13` is looked up on `PATH`."""
    path = Path(os.path.abspath(Path(spec).expanduser()))  # noqa: PTH100 - links are not followed: a venv's python is one
    if path.is_dir():
        if python := _python_in(path):
            return python
        raise UsageError(
            f"no interpreter in the folder `{spec}`", hint="give --python a virtual environment or a Python"
        )
    if path.exists():
        return str(path)
    if os.sep not in spec and (found := shutil.which(spec, path=environ.get("PATH"))):
        return found
    raise UsageError(f"no such interpreter: `{spec}`", hint="--python takes a version such as 3.13 or a path")
