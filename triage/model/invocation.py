"""How pytest is started: one value from which both the trial and the printed command are made."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

from msgspec import Struct

PLUGINS_FOLDER = ".triage/plugins"
"""Where, below the root folder, the pytest plugin lies that applies levels inside the target."""
LEVELS_PLUGIN = "triage_levels"
LEVELS_VARIABLE = "TRIAGE_LEVELS"
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


class Invocation(Struct, frozen=True, kw_only=True):
    """`env python -m pytest options node_ids`, run in `root`.

    Everything that changes what the target does is in here and so in the command that the report prints; the probe,
    which only records, is added to a trial through the environment and is no part of it.
    """

    root: str
    python: str
    node_ids: tuple[str, ...]
    options: tuple[str, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    levels: tuple[str, ...] = ()
    """What the levels plugin applies inside the target, each `name=value`; the plugin is loaded only if there is any."""

    @property
    def argv(self) -> tuple[str, ...]:
        """The command without its environment."""
        plugin = ("-p", LEVELS_PLUGIN) if self.levels else ()
        return (self.python, "-m", "pytest", *plugin, *self.options, *self.node_ids)

    def environment(self, base: dict[str, str]) -> dict[str, str]:
        """Return the whole environment of the process, from that in which `triage` was started."""
        result = {**base, **dict(self.env)}
        if self.levels:
            result[LEVELS_VARIABLE] = " ".join(self.levels)
            result["PYTHONPATH"] = join_path(str(Path(self.root, PLUGINS_FOLDER)), base.get("PYTHONPATH"))
        return result

    def command(self, base: dict[str, str] | None = None) -> str:
        """Return one shell line that does the same from `root`, with paths below it relative."""
        settings = dict(self.env)
        if self.levels:
            settings[LEVELS_VARIABLE] = " ".join(self.levels)
        words = [f"{name}={shlex.quote(value)}" for name, value in settings.items()]
        if self.levels:
            inherited = "${PYTHONPATH:+:$PYTHONPATH}" if (base or {}).get("PYTHONPATH") else ""
            words.append(f"PYTHONPATH={PLUGINS_FOLDER}{inherited}")
        argv = [relative_to(self.root, self.python), *self.argv[1:]]
        return " ".join([*words, *(shlex.quote(word) for word in argv)])


def parse(command: str, root: str) -> Invocation:
    """Return the invocation whose `command` this is: what a report printed is what is run again.

    Options and node ids are not told apart, which makes no difference to the process. Raises ValueError for another command.
    """
    words = shlex.split(command)
    env: list[tuple[str, str]] = []
    while words and ASSIGNMENT.match(words[0]):
        name, _, value = words.pop(0).partition("=")
        env.append((name, value))
    levels = tuple(dict(env).get(LEVELS_VARIABLE, "").split())
    if levels:
        env = [(name, value) for name, value in env if name not in {LEVELS_VARIABLE, "PYTHONPATH"}]
    plugin = ["-p", LEVELS_PLUGIN] if levels else []
    start = ["-m", "pytest", *plugin]
    if not words or words[1 : 1 + len(start)] != start:
        raise ValueError(f"not a command of pytest: {command}")
    return Invocation(
        root=root,
        python=str(Path(root, words[0])),
        node_ids=(),
        options=tuple(words[1 + len(start) :]),
        env=tuple(env),
        levels=levels,
    )


def join_path(first: str, rest: str | None) -> str:
    """Put `first` before the entries of a search path that may be unset or empty."""
    return first + os.pathsep + rest if rest else first


def relative_to(root: str, path: str) -> str:
    """Return `path` relative to `root` if it lies below, else as it is; links are not followed (a venv's python is one)."""
    try:
        return str(Path(path).relative_to(root))
    except ValueError:
        return path
