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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from python_discovery import iter_interpreters

from triage.errors import UnrunnableError, UsageError
from triage.model.project import Interpreter
from triage.targets.inspection import Answer, NoPytestError, ask, distributions
from triage.targets.managers import environments
from triage.targets.requirements import Needs

VERSION = re.compile(r"\d+(?:\.\d+){0,2}t?")
"""`3`, `3.13`, `3.13.0`, `3.13t` (free-threaded)."""
NAME = re.compile(r"python(\d+(?:\.\d+){0,2}t?)?")
"""`python`, `python3`, `python3.13`: a name to be looked up on `PATH`."""
OF_TRIAGE = "the interpreter of triage"
ALL = "all"
"""Stands for every version that is installed."""
_ENVIRONMENT_FOLDERS = (".venv*", "venv*", ".envs/*", ".tox/*", ".nox/*")

logging.getLogger("python_discovery").addHandler(logging.NullHandler())  # it logs every candidate that it turns down


class Found(Struct, frozen=True, kw_only=True):
    """An interpreter that works, and what it still lacks for this project."""

    answer: Answer
    origin: str
    problem: UnrunnableError | None = None
    """Why it cannot run targets as it is; None if it can."""
    lacks: tuple[str, ...] = ()
    """Requirements that it does not meet, as far as they are known; the project itself may be among them."""

    @property
    def ready(self) -> bool:
        """Whether the project's tests can be run with it as it is."""
        return self.problem is None and not self.lacks

    @property
    def interpreter(self) -> Interpreter:
        """The shared value. Raises `UnrunnableError` if it cannot run targets."""
        if self.problem is not None:
            raise self.problem
        return self.answer.interpreter(self.origin)


def own_interpreter(root: Path, environ: Mapping[str, str], explicit: Sequence[str] = ()) -> Interpreter:
    """Return the interpreter that `find_own` finds, which has a pytest; what else it lacks is not looked at."""
    return find_own(root, environ, explicit).interpreter


def find_own(root: Path, environ: Mapping[str, str], explicit: Sequence[str] = (), needs: Needs | None = None) -> Found:
    """Return the interpreter with which the project is tested when nobody names one.

    The first of these that has a pytest: the active virtual environment (`VIRTUAL_ENV`, then `CONDA_PREFIX`); `.venv`, then
    `venv`, in `root`; the environments of the tools that the project uses (`managers.environments`); and then, if
    `needs` are given only one that meets them or can be made to, the first of `explicit`; the interpreter of `triage` itself;
    without any named, `python3` and `python` on `PATH`. With `needs`, where nothing is complete the first of these, and of
    pyenv's versions, that an environment for the project can be made with; that of `triage` last.
    Raises `UnrunnableError` if there is none, or if one of the environments that the user has set up (active, or in `root`)
    does not start or is too old: to go on silently with another would test something else.
    """
    incomplete: list[Found] = []
    for found in _own_candidates(root, environ, explicit, needs):
        if found.ready or (found.origin.startswith("--python ") and needs is not None and _can_serve(found, needs)):
            return found
        incomplete.append(found)
    if needs is not None:
        for found in sorted(incomplete, key=lambda found: found.origin == OF_TRIAGE):
            if _can_serve(found, needs):
                return found
    of_environments = (one.problem for one in incomplete if one.answer.is_environment and one.origin != OF_TRIAGE)
    raise next(of_environments, None) or UnrunnableError(
        "no Python with pytest was found", hint="activate the project's virtual environment or name one with --python"
    )


def passed_over(root: Path, environ: Mapping[str, str], own: Found) -> tuple[str, ...]:
    """Return which environments that the user has set up come before `own` and have no pytest."""
    passed = []
    for path, origin in _designated(root, environ):
        if (path, origin) == (own.answer.path, own.origin):
            break
        passed.append(origin)
    return tuple(passed)


def _own_candidates(
    root: Path, environ: Mapping[str, str], explicit: Sequence[str], needs: Needs | None
) -> Iterator[Found]:
    """Yield what works, in the order of `find_own`."""
    for path, origin in _designated(root, environ):
        found = _judged(ask(path, environ), origin)
        if found.problem is not None and not isinstance(found.problem, NoPytestError):
            raise found.problem
        yield found
    for path, origin in _of_tools(root, environ):
        tried = _tried(path, origin, root, environ, None)
        if tried and tried.problem is None:
            yield tried
    named = explicit[:1] if ALL not in explicit[:1] else ()
    for spec in named:
        yield find(spec, root, environ, needs)
    rest = [(sys.executable, OF_TRIAGE)]
    if not named:
        rest += _on_path(("python3", "python"), environ)
        rest += [(path, "pyenv") for path in _pyenv_versions("3", environ)] if needs is not None else ()
    for path, origin in rest:
        if tried := _tried(path, origin, root, environ, needs):
            yield tried


def resolve(spec: str, root: Path, environ: Mapping[str, str] | None = None) -> Interpreter:
    """Return the interpreter that `find` finds, which has a pytest; what else it lacks is not looked at."""
    return find(spec, root, os.environ if environ is None else environ).interpreter


def find(spec: str, root: Path, environ: Mapping[str, str], needs: Needs | None = None) -> Found:
    """Return the interpreter that `spec` names: a path to a Python or to a virtual environment, a name, or a version.

    For a version the first of these with a pytest, because an environment of the project also has what the project needs:
    the active virtual environment; `.venv*`, `venv*`, `.envs/*`, `.tox/*`, `.nox/*` in `root` and the environments of
    the project's tools; then (if `needs` are given, only one that meets them) what python-discovery finds (`PATH`, shims, uv)
    and pyenv's versions, newest first; the interpreter of `triage`. Where none is complete, the first that is no
    environment: it is what an environment can be made with. A name (`python3.13`) is looked up on `PATH`; where it leads
    to nothing that works, such as a shim for a version that is not selected, it means that version.
    Raises `UsageError` for a `spec` that means nothing, `UnrunnableError` if nothing works there.
    """
    origin = f"--python {spec}"
    named = NAME.fullmatch(spec)
    if not VERSION.fullmatch(spec) and not (named and not Path(spec).exists()):
        return _judged(ask(_python_at(spec), environ, folder=root), origin)
    version = spec
    if named:
        tried = [_tried(path, origin, root, environ) for path, _ in _on_path((spec,), environ)]
        if working := [found for found in tried if found]:
            return next((found for found in working if found.problem is None), working[0])
        version = named[1] or "3"
    incomplete: list[Found] = []
    for path, of_project in _of_version(version, root, environ):
        found = _tried(path, origin, root, environ, None if of_project else needs)
        if found is None or not matches(version, found.answer.version, free_threaded=found.answer.free_threaded):
            continue
        if found.ready:
            return found
        incomplete.append(found)
    if not incomplete:
        raise UnrunnableError(
            f"no Python {version} was found",
            hint="install it, or give --python the path of an interpreter or virtual environment",
        )
    return min(incomplete, key=lambda found: found.answer.is_environment)


def every_version(root: Path, environ: Mapping[str, str], needs: Needs) -> tuple[str, ...]:
    """Return a version for each minor version that is installed and that the project allows, newest patch, oldest first."""
    newest: dict[tuple[int, int, bool], tuple[int, str]] = {}
    for path, _ in _on_this_machine(environ):
        found = _tried(path, "", root, environ)
        if found is None or not _can_serve(found, needs):
            continue
        answer = found.answer
        major, minor, patch = (int(part) for part in answer.version.split("."))
        key = (major, minor, answer.free_threaded)
        newest[key] = max(newest.get(key, (-1, "")), (patch, f"{answer.version}{'t' if answer.free_threaded else ''}"))
    return tuple(newest[key][1] for key in sorted(newest))


def installed(root: Path, environ: Mapping[str, str]) -> Iterator[Found]:
    """Yield every interpreter that works, once: of the project's environments, then on `PATH` and of pyenv, newest first."""
    folders = (folder for pattern in _ENVIRONMENT_FOLDERS for folder in sorted(root.glob(pattern)))
    own = [(python, f"`{folder.relative_to(root)}`") for folder in folders if (python := _python_in(folder))]
    seen: set[tuple[str, str]] = set()
    for path, origin in (*_designated(root, environ), *_of_tools(root, environ), *own, *_on_this_machine(environ)):
        tried = _tried(path, origin, root, environ)
        if tried and tried.answer.identity not in seen:
            seen.add(tried.answer.identity)
            yield tried


def all_interpreters(root: Path, environ: Mapping[str, str], specs: Sequence[str] = ()) -> tuple[Interpreter, ...]:
    """Return the project's own interpreter and then those of `specs`, each once."""
    found = [own_interpreter(root, environ, specs), *(resolve(spec, root, environ) for spec in specs)]
    return distinct(found, environ)


def distinct(interpreters: Iterable[Interpreter], environ: Mapping[str, str]) -> tuple[Interpreter, ...]:
    """Return each interpreter once, whatever paths lead to it; the first of each stays."""
    unique: dict[tuple[str, str], Interpreter] = {}
    for interpreter in interpreters:
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


def _judged(answer: Answer, origin: str, lacks: tuple[str, ...] = ()) -> Found:
    return Found(answer=answer, origin=origin, problem=answer.why_unfit(), lacks=lacks)


def _tried(path: str, origin: str, root: Path, environ: Mapping[str, str], needs: Needs | None = None) -> Found | None:
    """Return what is at `path`, with what it lacks of `needs`; None if it does not work."""
    try:
        answer = ask(path, environ, folder=root)
        fit = answer.why_unfit() is None
        lacks = needs.missing(answer.version, distributions(answer.path, environ)) if needs and fit else ()
    except UnrunnableError:
        return None
    return _judged(answer, origin, lacks)


def _can_serve(found: Found, needs: Needs) -> bool:
    """Whether an environment for this project may be made with it."""
    return not found.answer.is_too_old and needs.allows(found.answer.version)


def _of_tools(root: Path, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for folder, origin in environments(root, environ):
        if python := _python_in(folder):
            yield python, origin


def _on_path(names: Sequence[str], environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield every executable of these names on `PATH`, the first of all folders before the second."""
    for folder in environ.get("PATH", os.defpath).split(os.pathsep):
        for name in names:
            if os.path.isabs(folder) and (path := shutil.which(name, path=folder)):  # noqa: PTH117 - a string from outside
                yield path, f"`{name}` on PATH"


def _of_version(spec: str, root: Path, environ: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """Yield paths where an interpreter of this version may be, and whether it is an environment of the project's.

    `find` gives the order and its reason.
    """
    for path, _ in (*_designated(root, environ), *_of_tools(root, environ)):
        if _may_be(spec, Path(path).parent.parent):
            yield path, True
    for pattern in _ENVIRONMENT_FOLDERS:
        for folder in sorted(root.glob(pattern)):
            if (python := _python_in(folder)) and _may_be(spec, folder):
                yield python, True
    for found in iter_interpreters(spec, cache=None, env=environ):
        if found.executable and matches(
            spec, ".".join(map(str, found.version_info[:3])), free_threaded=found.free_threaded
        ):
            yield found.executable, False
    for path in _pyenv_versions(spec, environ):
        yield path, False
    yield sys.executable, False


def _on_this_machine(environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield paths of interpreters of any version that belong to no project."""
    for found in iter_interpreters("cpython", cache=None, env=environ):
        if found.executable:
            yield found.executable, "found on this machine"
    for path in _pyenv_versions("3", environ):
        yield path, "pyenv"


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


def _python_at(spec: str) -> str:
    """Return the path that `spec` means, absolute."""
    path = Path(os.path.abspath(Path(spec).expanduser()))  # noqa: PTH100 - links are not followed: a venv's python is one
    if path.is_dir():
        if python := _python_in(path):
            return python
        raise UsageError(
            f"no interpreter in the folder `{spec}`", hint="give --python a virtual environment or a Python"
        )
    if path.exists():
        return str(path)
    raise UsageError(f"no such interpreter: `{spec}`", hint="--python takes a version such as 3.13 or a path")
