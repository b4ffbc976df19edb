"""A copy of the project to build in: build backends write next to the sources (`*.egg-info`, `build`, version files)."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from triage.errors import UnrunnableError

LARGEST = 2 << 30
"""Bytes. More is no source tree, and copying it would take longer than anybody waits."""
_SKIPPED = frozenset(
    {
        ".git",
        ".hg",
        ".svn",
        ".triage",
        ".tox",
        ".nox",
        ".envs",
        ".eggs",
        "__pycache__",
        "node_modules",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".hypothesis",
    }
)
_MADE_BY_BUILDS = (".egg-info", ".dist-info", ".egg-link")
_CODE = frozenset({".py", ".pyi", ".so", ".pyd", ".dylib"})


def files(root: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the project's files and links with their paths relative to `root`: no environments, caches or build results."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            entries = sorted(os.scandir(root / folder), key=lambda entry: entry.name)
        except OSError:
            continue  # it cannot be read, so a build could not either
        names = {entry.name for entry in entries}
        if "pyvenv.cfg" in names or (folder == "build" and any(name.startswith(("lib", "bdist.")) for name in names)):
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _SKIPPED:
                    waiting.append(path)
            elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
                yield path, entry


def digest(root: Path) -> str:
    """Return a digest of which files there are, how large they are and when they were last changed."""
    state = hashlib.sha256()
    for path, entry in files(root):
        with contextlib.suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            state.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode(errors="surrogateescape"))
    return state.hexdigest()[:16]


def copy(root: Path, target: Path) -> None:
    """Copy the project to `target`, with a link to its repository, since versions are often taken from tags.

    Raises `UnrunnableError` if it is larger than `LARGEST`, OSError if it cannot be copied.
    """
    size = 0
    for path, entry in files(root):
        destination = target / path
        destination.parent.mkdir(parents=True, exist_ok=True)
        if entry.is_symlink():
            link = os.readlink(entry.path)  # noqa: PTH115 - as it stands, links are not followed
            outside = not os.path.realpath(entry.path).startswith(os.path.realpath(root) + os.sep)
            destination.symlink_to(os.path.realpath(entry.path) if outside else link)
            continue
        with contextlib.suppress(PermissionError):
            size += entry.stat().st_size
            if size > LARGEST:
                raise UnrunnableError(
                    f"the project is larger than {LARGEST >> 30} GiB, too large for a copy to build in",
                    hint="name an environment where it is installed with --python",
                )
            shutil.copy2(entry.path, destination)
    link_repository(root, target)


def link_repository(root: Path, target: Path) -> None:
    """Make git see the copy as a work tree of the project's repository; `GIT_OPTIONAL_LOCKS=0` keeps it from writing there."""
    repository = root / ".git"
    with contextlib.suppress(OSError):
        if repository.is_dir():
            (target / ".git").write_text(f"gitdir: {repository.resolve()}\n", encoding="utf-8")
        elif repository.is_file():  # a work tree or a submodule
            place = repository.read_text(encoding="utf-8").partition("gitdir:")[2].strip()
            (target / ".git").write_text(f"gitdir: {(root / place).resolve()}\n", encoding="utf-8")


def generated(before: set[str], folder: Path) -> tuple[str, ...]:
    """Return the files of code that a build left in `folder` beside those that were there `before`."""
    new = (path for path, _ in files(folder) if path not in before)
    return tuple(
        path
        for path in new
        if os.path.splitext(path)[1] in _CODE  # noqa: PTH122 - a relative path as text
        and not any(part.endswith(_MADE_BY_BUILDS) for part in path.split("/"))
    )
