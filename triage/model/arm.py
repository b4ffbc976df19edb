"""Factors' settings: levels, and the arms that they make up."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Depth(StrEnum):
    """How much of a process' life a trial has for itself."""

    COLD = "cold"
    """All of it, from the interpreter's start to its end."""
    FORKED = "forked"
    """From the end of collection to that of the last test: a fork of a process that has collected."""


class Level(Struct, frozen=True, kw_only=True):
    """One setting of one factor.

    `value` is what the user reads and, for most factors, all there is; `ids` carries node ids where the setting is a
    sequence of tests (they run before the target, in this order).
    """

    factor: str
    value: str
    ids: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """`factor=value`."""
        return f"{self.factor}={self.value}"


class Arm(Struct, frozen=True):
    """A set of levels under which trials run; without any it is the baseline, the user's own command.

    Trials of two depths are never of one arm: what they share and lack differs, and so may their rates.
    """

    levels: tuple[Level, ...] = ()
    depth: Depth = Depth.COLD

    @property
    def label(self) -> str:
        """`baseline`, or the levels joined by `+`; forked trials say so."""
        name = " + ".join(level.label for level in self.levels) or "baseline"
        return name if self.depth is Depth.COLD else f"{name} ({self.depth})"

    @property
    def forked(self) -> Arm:
        """The same levels in forked trials."""
        return Arm(self.levels, Depth.FORKED)

    @property
    def with_others(self) -> bool:
        """Whether other tests than the target run in its trials, before it or beside it."""
        return any(level.ids or level.factor == "workers" for level in self.levels)

    def level(self, factor: str) -> Level | None:
        """Return this arm's level of `factor`, if it sets one."""
        return next((level for level in self.levels if level.factor == factor), None)


BASELINE = Arm()
