"""What decides which tests run and how, so far as it can be looked at beforehand; two of them can be compared."""

from __future__ import annotations

from msgspec import Struct

SHOWN = 3


class Surface(Struct, frozen=True, kw_only=True):
    """Names and values by kind: digests of files and of collected ids, versions, options."""

    files: dict[str, str] = {}
    """Digests of sources and configuration files, by path relative to the root folder."""
    packages: dict[str, str] = {}
    """Versions of what is installed for the project's own interpreter."""
    interpreters: dict[str, str] = {}
    """Path to version, with that of pytest."""
    tests: dict[str, str] = {}
    """What pytest collects: the number of tests, and the digest of their ids in order."""
    options: dict[str, str] = {}
    """What was asked of pytest and of `triage`, without the limits of time and number."""
    environment: dict[str, str] = {}
    """Harmless variables that change outcomes; nothing that may be a secret."""
    tool: dict[str, str] = {}
    """`triage` and the machine."""


NAMES = {
    "files": "",
    "packages": "package ",
    "interpreters": "interpreter ",
    "tests": "collected tests: ",
    "options": "",
    "environment": "variable ",
    "tool": "",
}


def differences(before: Surface, now: Surface) -> tuple[str, ...]:
    """Return what differs, one phrase each, in the order of importance; empty if nothing does."""
    found: list[str] = []
    for kind, prefix in NAMES.items():
        one, other = getattr(before, kind), getattr(now, kind)
        for name in sorted(one.keys() | other.keys()):
            old, new = one.get(name), other.get(name)
            if old != new:
                found.append(prefix + _phrase(kind, name, old, new))
    return tuple(found)


def listed(changes: tuple[str, ...]) -> str:
    """Return the first few changes as one phrase."""
    more = len(changes) - SHOWN
    return ", ".join(changes[:SHOWN]) + (f" and {more} more" if more > 0 else "")


def _phrase(kind: str, name: str, old: str | None, new: str | None) -> str:
    if old is None:
        return f"`{name}` (new)"
    if new is None:
        return f"`{name}` (gone)"
    if kind == "files" or name.endswith("digest"):
        return f"`{name}`"
    return f"`{name}` ({old or 'none'}, now {new or 'none'})"
