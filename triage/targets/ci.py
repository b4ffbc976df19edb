"""What the seed of a random-ordering plugin stands for: an order and seeds of random numbers that failed elsewhere, say in CI.

The plugin itself works the order out: it is left on in one collection under that seed. Its rules differ from version to version,
and depend on what is collected.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from triage.model.arm import Level
from triage.model.project import Collection, Plugin
from triage.targets.configuration import Configured
from triage.targets.takeover import Taken

WITHOUT = "without="


class Seeded(Struct, frozen=True, kw_only=True):
    """A plugin with a seed of its own."""

    plugin: str
    """Under which name it is registered."""
    option: str
    """With the seed, as the user gave it."""
    orders: bool = True
    seeds: bool = False
    """Whether it also seeds random numbers before each test."""

    @property
    def name(self) -> str:
        """As its levels are called."""
        return f"ci {self.option.removeprefix('--')}"


class _Known(Struct, frozen=True):
    distribution: str
    option: str
    keeps_order: str = ""
    """The option with which it leaves the order alone."""
    keeps_random: str = ""
    """The option with which it leaves random numbers alone; empty: it always does."""


KNOWN = (
    _Known("pytest-randomly", "--randomly-seed", "--randomly-dont-reorganize", "--randomly-dont-reset-seed"),
    _Known("pytest-random-order", "--random-order-seed"),
)


def seeded(plugins: Sequence[Plugin], configured: Configured) -> tuple[Seeded, ...]:
    """Return the active plugins that were given a seed, on the command line, by the configuration or by the environment."""
    found = []
    for known in KNOWN:
        names = [plugin.name for plugin in plugins if plugin.distribution.lower() == known.distribution]
        value = _value(known.option, configured.words)
        if names and value is not None and value.lstrip("-").isdigit():
            found.append(
                Seeded(
                    plugin=names[0],
                    option=f"{known.option}={value}",
                    orders=not (known.keeps_order and configured.has_option(known.keeps_order)),
                    seeds=bool(known.keeps_random) and not configured.has_option(known.keeps_random),
                )
            )
    return tuple(found)


def starts(found: Sequence[Seeded], taken: Taken, collect: Callable[[Taken], Collection]) -> tuple[Level, ...]:
    """Return the levels that the seeds stand for; `collect` collects the whole scope under other takeovers."""
    levels = []
    for one in found:
        if one.orders:
            items = collect(replace(taken, levels=leaving(taken.levels, one.plugin))).items
            levels.append(Level(factor="order", value=one.name, ids=tuple(item.id for item in items)))
        if one.seeds:
            levels.append(Level(factor="rng_seed", value=one.name))
    return tuple(levels)


def leaving(levels: Sequence[str], plugin: str) -> tuple[str, ...]:
    """Return settings of the levels plugin under which `plugin` stays registered."""
    result = []
    for level in levels:
        if level.startswith(WITHOUT):
            names = [name for name in level.removeprefix(WITHOUT).split(",") if name != plugin]
            if names:
                result.append(WITHOUT + ",".join(names))
        else:
            result.append(level)
    return tuple(result)


def _value(option: str, words: Sequence[str]) -> str | None:
    """Return the value that an option was given last; None if it was not given."""
    value = None
    for at, word in enumerate(words):
        if word.startswith(f"{option}="):
            value = word.partition("=")[2]
        elif word == option:
            value = words[at + 1] if at + 1 < len(words) else None
    return value
