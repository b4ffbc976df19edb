"""The NODEID arguments: taking them apart, finding their root folder, and choosing what they stand for."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from triage.errors import NothingSelectedError, UsageError
from triage.model.project import Item
from triage.targets.configuration import find_root

_SKIPPED_FOLDERS = frozenset({"node_modules", "site-packages", "__pycache__", "venv", "build", "dist"})
_MOST_FILES = 5000
"""A limit of the search for names to offer: it must never take longer than the error is worth."""


class Argument(Struct, frozen=True, kw_only=True):
    """One NODEID as the user typed it, and as pytest calls it from the root folder."""

    text: str
    path: str
    """Absolute."""
    rest: str
    """What follows the first `::`: classes, function, parameters; empty for a file or folder."""
    node_id: str
    """Relative to the root folder, with `/`; `.` is the root folder itself."""

    @property
    def file(self) -> str:
        """The part of `node_id` that is a path."""
        return self.node_id.split("::", 1)[0]


class Request(Struct, frozen=True, kw_only=True):
    """All arguments of one command; they share one root folder."""

    root: str
    arguments: tuple[Argument, ...]


def parse(arguments: Sequence[str], cwd: Path) -> Request:
    """Take `arguments` apart and find their root folder; paths are relative to `cwd`, links are not followed.

    Raises `NothingSelectedError` for a path that does not exist, `UsageError` for roots that differ.
    """
    if not arguments:
        raise UsageError("no node id given", hint="name a test, such as `triage run tests/test_cart.py::test_total`")
    split = [_split(text, cwd) for text in arguments]
    roots = {text: _root(path, cwd) for text, path, _ in split}
    first = next(iter(roots.values()))
    for text, root in roots.items():
        if root != first:
            raise UsageError(
                f"`{arguments[0]}` and `{text}` belong to different projects (`{_shown(first, cwd)}`, `{_shown(root, cwd)}`)",
                hint="run `triage` once for each project",
            )
    return Request(
        root=str(first),
        arguments=tuple(
            Argument(text=text, path=str(path), rest=rest, node_id=_node_id(path, rest, first))
            for text, path, rest in split
        ),
    )


def select(argument: Argument, items: Sequence[Item]) -> tuple[Item, ...]:
    """Return the items that `argument` stands for, in their own order.

    A complete id stands for itself; the base id of a parametrised test for all its parameters; a class, file or folder
    for everything inside. Raises `NothingSelectedError` with the closest ids if there is none.
    """
    wanted = argument.node_id
    for form in dict.fromkeys((wanted, _escaped(wanted))):
        if chosen := tuple(item for item in items if item.id == form):
            return chosen
        if chosen := tuple(item for item in items if _inside(item.id, form, folder=not argument.rest)):
            return chosen
    near = closest(wanted, [item.id for item in items])
    raise NothingSelectedError(f"no test matches `{argument.text}`", hint=_offer(near))


def closest(unknown: str, known: Sequence[str], n: int = 3) -> tuple[str, ...]:
    """Return up to `n` of `known` that look most like `unknown`, best first.

    Names after the last `::` weigh as much as the whole: a test that was moved to another file is found again, and so is
    one with a typing error. Similarity is `difflib.SequenceMatcher.ratio`.
    """
    by_tail: dict[str, list[str]] = {}
    for name in known:
        by_tail.setdefault(_tail(name), []).append(name)
    tails = difflib.get_close_matches(_tail(unknown), by_tail, n=n, cutoff=0.6)
    candidates = [name for tail in tails for name in by_tail[tail]]
    candidates += difflib.get_close_matches(unknown, known, n=n, cutoff=0.6)
    ranked = sorted(dict.fromkeys(candidates), key=lambda name: -_likeness(unknown, name))
    return tuple(ranked[:n])


def _split(text: str, cwd: Path) -> tuple[str, Path, str]:
    name, _, rest = text.partition("::")
    path = Path(os.path.abspath(cwd / name))  # noqa: PTH100 - `..` is taken away, links are not followed, as in pytest
    if not name or "\0" in text:
        raise UsageError(
            f"`{text}` is not a node id", hint="a node id begins with a path: `tests/test_cart.py::test_total`"
        )
    if not path.exists():
        raise NothingSelectedError(f"no such file or folder: `{name}`", hint=_offer(_near_files(name, path, cwd), rest))
    if rest and path.is_dir():
        raise UsageError(f"`{name}` is a folder and has no `{rest}`", hint="name the file that has the test")
    return text, path, rest


def _root(path: Path, cwd: Path) -> Path:
    """Return the root folder for `path`; without any configuration it is `cwd`, or the path's folder if that lies elsewhere."""
    folder = path if path.is_dir() else path.parent
    return find_root(folder) or (cwd if folder.is_relative_to(cwd) else folder)


def _node_id(path: Path, rest: str, root: Path) -> str:
    relative = path.relative_to(root).as_posix()
    return f"{relative}::{rest}" if rest else relative


def _inside(item_id: str, wanted: str, *, folder: bool) -> bool:
    if folder and wanted == ".":
        return True
    return item_id.startswith((f"{wanted}::", f"{wanted}[")) or (folder and item_id.startswith(f"{wanted}/"))


def _escaped(node_id: str) -> str:
    """Return the id with its parameters as pytest writes them: other characters than ASCII and line breaks escaped."""
    base, bracket, parameters = node_id.partition("[")
    return base + bracket + parameters.encode("unicode_escape").decode("ascii") if bracket else node_id


def _tail(node_id: str) -> str:
    return node_id.partition("[")[0].rsplit("::", 1)[-1]


def _likeness(one: str, other: str) -> float:
    whole = difflib.SequenceMatcher(None, one, other).ratio()
    return whole + difflib.SequenceMatcher(None, _tail(one), _tail(other)).ratio()


def _near_files(name: str, path: Path, cwd: Path) -> tuple[str, ...]:
    """Return existing test files whose names look like `name`, relative to `cwd`."""
    start = next((parent for parent in path.parents if parent.is_dir()), cwd)
    top = find_root(start) or (cwd if start.is_relative_to(cwd) else start)
    files = {os.path.relpath(file, cwd): file.name for file in _test_files(top)}
    by_name = [file for file, base in files.items() if difflib.get_close_matches(path.name, [base], cutoff=0.75)]
    near = dict.fromkeys([*difflib.get_close_matches(name, files, n=3, cutoff=0.75), *by_name])
    return tuple(sorted(near, key=lambda file: -difflib.SequenceMatcher(None, name, file).ratio())[:3])


def _test_files(top: Path) -> Iterator[Path]:
    seen = 0
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(each for each in folders if each not in _SKIPPED_FOLDERS and not each.startswith("."))
        for file in sorted(files):
            if file.endswith(".py") and (file.startswith("test") or file.endswith("_test.py")):
                yield Path(folder, file)
                seen += 1
        if seen > _MOST_FILES:
            return


def _offer(names: Sequence[str], rest: str = "") -> str | None:
    """Return a hint that names what may have been meant."""
    if not names:
        return "`python -m pytest --collect-only -q` lists the node ids of a project"
    shown = [f"`{name}::{rest}`" if rest else f"`{name}`" for name in names]
    return "did you mean " + " or ".join(shown) + "?"


def _shown(path: Path, cwd: Path) -> str:
    return os.path.relpath(path, cwd)
