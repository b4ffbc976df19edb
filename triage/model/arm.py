"""Factors' settings: levels, and the arms that they make up."""

from __future__ import annotations

from msgspec import Struct


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
    """A set of levels under which trials run; without any it is the baseline, the user's own command."""

    levels: tuple[Level, ...] = ()

    @property
    def label(self) -> str:
        """`baseline`, or the levels joined by `+`."""
        return " + ".join(level.label for level in self.levels) or "baseline"

    def level(self, factor: str) -> Level | None:
        """Return this arm's level of `factor`, if it sets one."""
        return next((level for level in self.levels if level.factor == factor), None)


BASELINE = Arm()
