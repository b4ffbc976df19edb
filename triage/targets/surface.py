"""Take the surface of a project: files, packages, interpreters, collected tests, options, environment, machine.

It is compared before trials of an earlier run count again. What it does not see is said in the manual: data files, code outside
the root folder (of other packages only the versions), services.
"""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterator, Mapping
from pathlib import Path

from triage import __version__
from triage.model.project import Collection, Interpreter, Project
from triage.model.surface import Surface
from triage.targets.configuration import CONFIG_FILES
from triage.targets.environment import recorded

SUFFIXES = frozenset(
    {".py", ".pyi", ".pyx", ".pxd", ".so", ".c", ".h", ".cc", ".cpp", ".hpp", ".rs", ".toml", ".cfg", ".ini"}
)
FOREIGN = frozenset({"__pycache__", "node_modules", "site-packages", "build", "dist", "venv", "env"})
"""Folders that hold no sources of the project; so do those whose name begins with a dot."""
MOST_FILES = 20_000
"""Files that are looked at; a project with more is compared by the first ones, in order of their paths."""


def surface_of(project: Project, environ: Mapping[str, str], options: Mapping[str, str]) -> Surface:
    """Return the surface of a project that was collected; `options` are those of `triage` that matter."""
    ids = [item.id for item in project.scope]
    return Surface(
        files=files(Path(project.root)),
        packages=packages(project.collection),
        interpreters=interpreters(project.interpreters),
        tests={"number": str(len(ids)), "ids digest": _digest("\0".join(ids).encode("utf-8", "surrogatepass"))},
        options={"pytest options": " ".join((*project.options, *project.levels)), **options},
        environment=recorded(environ),
        tool=tool(),
    )


def packages(collection: Collection) -> dict[str, str]:
    """Return the versions of everything installed, plugins included."""
    return dict(collection.packages)


def interpreters(found: tuple[Interpreter, ...]) -> dict[str, str]:
    """Return what tells interpreters apart."""
    return {one.path: f"{one.implementation} {one.version}, pytest {one.pytest}" for one in found}


def tool() -> dict[str, str]:
    """Return what `triage` itself and the machine are."""
    return {"triage": __version__, "platform": platform.platform()}


def files(root: Path) -> dict[str, str]:
    """Return the digest of each source and configuration file below the root folder; one that cannot be read has none."""
    found: dict[str, str] = {}
    for path in _sources(root):
        if len(found) >= MOST_FILES:
            break
        found[path.relative_to(root).as_posix()] = _of_file(path)
    return found


def _sources(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root):
        here = Path(folder)
        folders[:] = sorted(
            name
            for name in folders
            if not (name.startswith(".") or name in FOREIGN or (here / name / "pyvenv.cfg").exists())
        )
        for name in sorted(names):
            if name in CONFIG_FILES or os.path.splitext(name)[1] in SUFFIXES:  # noqa: PTH122 - a name, thousands of times
                yield here / name


def _of_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    except OSError:
        return ""


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]
