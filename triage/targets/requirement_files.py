"""Requirement files: their lines as pip reads them, as far as that matters for where local projects are built.

pip has no library for its own format. What is needed of it is little: which lines there are, which files they include, and
which lines name a folder, since a project in a folder would be built in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from triage.errors import UnrunnableError

_INCLUDES = ("-r", "--requirement")
_CONSTRAINTS = ("-c", "--constraint")
_EDITABLE = ("-e", "--editable")
_DEEPEST = 10


class Lines(Struct, frozen=True, kw_only=True):
    """One requirement file with all that it includes."""

    lines: tuple[str, ...]
    """Ready for another requirement file anywhere: paths are absolute, and those of local projects lie in the copy."""
    own_extras: tuple[str, ...] = ()
    """Extras of the project itself, which the file asked for by its folder."""
    hashed: bool = False
    """Whether pip will check hashes, and then refuses whatever has none."""


def nested(path: Path, depth: int = 0) -> tuple[Path, ...]:
    """Return a file with the files that it includes, each once; those that are missing are pip's to complain about."""
    if depth > _DEEPEST or not path.is_file():
        return ()
    found = [path]
    for line in _logical(path):
        if target := _value(line, (*_INCLUDES, *_CONSTRAINTS)):
            found += nested(path.parent / target, depth + 1)
    return tuple(dict.fromkeys(found))


def plain(path: Path) -> Iterator[str]:
    """Yield the lines that are requirements, or look like it: no options, no folders; of included files too."""
    for file in nested(path):
        for line in _logical(file):
            if not line.startswith(("-", ".", "/")):
                yield line.partition(" --")[0].strip()


def included(line: str) -> str | None:
    """Return the file that a line includes, as it stands there; None if it includes none."""
    return _value(line, _INCLUDES)


def flat(path: Path, root: Path, copy: Path, depth: int = 0) -> Lines:
    """Return the lines of a file and of those that it includes, with local projects moved from `root` to its `copy`.

    Raises `UnrunnableError` for a local project outside of `root`: a build would write there.
    """
    lines: list[str] = []
    extras: list[str] = []
    hashed = False
    for line in _logical(path):
        other = included(line)
        if other and "://" not in other and depth < _DEEPEST:
            inner = flat(path.parent / other, root, copy, depth + 1)
            lines += inner.lines
            extras += inner.own_extras
            hashed = hashed or inner.hashed
            continue
        if (bounds := _value(line, _CONSTRAINTS)) and "://" not in bounds:
            lines.append(f"--constraint {(path.parent / bounds).absolute()}")
            continue
        links = _value(line, ("-f", "--find-links"))
        if links and (path.parent / links).exists():
            lines.append(f"--find-links {(path.parent / links).absolute()}")
            continue
        hashed = hashed or "--hash" in line
        editable = _value(line, _EDITABLE)
        place, wanted = _split_extras(editable or line)
        folder = _folder(place, root)
        if folder is None:
            lines.append(line)
        elif folder == root:
            extras += wanted
        elif root in folder.parents:
            suffix = f"[{','.join(wanted)}]" if wanted else ""
            lines.append(f"{'-e ' if editable else ''}{copy / folder.relative_to(root)}{suffix}")
        elif folder.is_file():
            lines.append(str(folder))
        else:
            raise UnrunnableError(
                f"`{path.name}` names the project `{place}`, which lies outside of this one",
                hint="name an environment where it is installed with --python",
            )
    return Lines(lines=tuple(lines), own_extras=tuple(extras), hashed=hashed)


def _logical(path: Path) -> Iterator[str]:
    """Yield lines without comments, continued ones joined."""
    try:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise UnrunnableError(
            f"`{path}` cannot be read: {error.strerror or error}", hint="correct the name where it is included"
        ) from error
    for raw in text.replace("\\\n", " ").splitlines():
        line = raw.strip()
        line = "" if line.startswith("#") else line.partition(" #")[0].strip()
        if line:
            yield line


def _value(line: str, options: tuple[str, ...]) -> str | None:
    """Return what follows one of these options, with a space, `=` or nothing between."""
    for option in options:
        if line.startswith(option) and (rest := line[len(option) :]):
            if option.startswith("--") and rest[0] not in " =":
                continue
            return rest.strip(" =")
    return None


def _split_extras(text: str) -> tuple[str, tuple[str, ...]]:
    place, bracket, rest = text.partition("[")
    if not bracket:
        return text, ()
    return place, tuple(name.strip() for name in rest.partition("]")[0].split(",") if name.strip())


def _folder(place: str, root: Path) -> Path | None:
    """Return the path that a requirement means, if it is one; pip takes it from the folder that it runs in, the root."""
    local = place.removeprefix("file://").removeprefix("file:")
    if local == place and not place.startswith((".", "/")) and "/" not in place:
        return None
    if "://" in local or " " in local or "@" in local:
        return None
    path = Path(root, local.partition("#")[0]).resolve()
    return path if path.exists() else None
