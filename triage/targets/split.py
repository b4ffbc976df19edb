"""How the user's own command splits its tests over workers of pytest-xdist, if it does."""

from __future__ import annotations

import re
from collections.abc import Iterator

from triage.model.arm import Level
from triage.targets.configuration import Configured, short_options

COUNTS = ("auto", "logical")
"""Numbers of workers that xdist finds out by itself."""
PLAIN_SPEC = re.compile(r"(?:(\d+)\*)?popen")
FACTOR = "workers"
TAKES_VALUE = frozenset({"--numprocesses", "--dist", "--maxprocesses", "--tx"})


def split_of(configured: Configured) -> str | None:
    """Return the split as a level of the factor `workers`: the number of workers and the mode (`4 loadfile`).

    None without workers, and for `--tx` specs that are more than processes on this machine: those are not made again here.
    """
    count: str | None = None
    mode = "no"
    specs: list[str] = []
    for name, value in _settings(configured.words):
        if name == "--numprocesses":
            count = value
        elif name == "--dist":
            mode = value
        elif name == "--tx":
            specs.append(value)
    if count is None and specs and mode != "no":
        found = [PLAIN_SPEC.fullmatch(spec) for spec in specs]
        if all(found):
            count = str(sum(int(match[1] or 1) for match in found if match))
    if count is None or not (count in COUNTS or (count.isdigit() and int(count) > 0)):
        return None
    return f"{count} {'load' if mode == 'no' else mode}"


def starts_of(configured: Configured) -> tuple[Level, ...]:
    """Return that split as the level that is to be screened before all others; nothing without one."""
    split = split_of(configured)
    return (Level(factor=FACTOR, value=split),) if split is not None else ()


def _settings(words: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield xdist's options by their long names, in their order; the last one of a name counts."""
    for word, following in zip(words, (*words, "")[1:], strict=True):
        name, equals, value = word.partition("=")
        if name in TAKES_VALUE:
            yield name, value if equals else following
        elif "-n" in short_options(word):
            yield "--numprocesses", word.partition("n")[2] or following
        elif "-d" in short_options(word):
            yield "--dist", "load"
