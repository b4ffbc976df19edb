"""What a factor is. A new factor is one file in this package (and one in `triage_levels` if it acts inside the target)."""

from __future__ import annotations

from collections.abc import Generator
from enum import Enum
from pathlib import Path
from random import Random
from typing import ClassVar

import msgspec
from msgspec import Struct

from triage.model.arm import Arm, Depth, Level
from triage.model.invocation import Invocation
from triage.model.observation import Observation, Request
from triage.model.project import Interpreter, Item, Project

Search = Generator[Request, Observation, Level]
"""A sub-experiment: yields the trials it wants, is sent what came of them, returns the level it found."""


class Forks(Enum):
    """How a forked trial is brought to a level."""

    CHILD = "child"
    """By itself: its siblings may be at others, at the price of a fork."""
    SERVER = "server"
    """With all its siblings: each level costs the start of a process that is then forked."""


class Context(Struct, frozen=True, kw_only=True):
    """What a factor may know of the target before any trial of an arm."""

    project: Project
    target: Item
    orders: str
    """Folder, relative to the root folder, for files that hold long orders."""
    test_seconds: float = 0.0
    """How long the target took in the scout trial: setup, call and teardown."""

    @property
    def interpreter(self) -> Interpreter:
        """The project's own interpreter, that of the baseline."""
        return self.project.interpreters[0]

    def has_plugin(self, name: str) -> bool:
        """Whether a plugin of that distribution is active."""
        return any(plugin.distribution.lower() == name for plugin in self.project.collection.plugins)


class Factor:
    """One thing that can vary between runs, bound to a target.

    The planner uses `name`, `home`, `levels`, `fresh`, `event`, `refine`; the session uses `apply` and `reason`.
    """

    name: ClassVar[str]
    rank: ClassVar[int] = 50
    """Position in listings and among arms of equal merit, smallest first."""
    many_chances: ClassVar[bool] = False
    """Whether a trial gives the target more than one chance to fail, so that its failures are not to be compared as they are."""

    every_round: ClassVar[bool] = False
    """Whether each of its levels is screened in every round, because the user named them one by one."""
    one_sided: ClassVar[bool] = False
    """Whether only a level away from home can be a trigger, because the comparison means nothing the other way round."""
    forks: ClassVar[Forks] = Forks.SERVER

    def __init__(self, context: Context) -> None:
        self.context = context

    def reason(self) -> str | None:
        """Say why this factor cannot vary here, or None if it can."""
        return None

    @property
    def home(self) -> Level | None:
        """The level that the baseline is at, or None if the baseline does not hold this factor still."""
        return None

    def levels(self) -> tuple[Level, ...]:
        """Levels to be screened first, without `home`."""
        return ()

    @property
    def starts(self) -> tuple[Level, ...]:
        """The levels of this factor that the user's own command names, to be listed by `levels` first."""
        return tuple(level for level in self.context.project.starts if level.factor == self.name)

    def fresh(self, rng: Random) -> Level | None:
        """Draw another level, if there are more than `levels` lists; such a level repeats itself exactly when replayed."""
        del rng
        return None

    def event(self, level: Level | None, seen: Observation, signature: str) -> bool | None:
        """Whether an observation at `level` (None: the baseline) is a failure with `signature`; None if it does not count."""
        del level
        if not seen.evidence:
            return None
        return seen.signature == signature

    def screening_counts(self, level: Level | None, seen: Observation, signature: str) -> tuple[int, int]:
        """Return failures and chances to fail of an observation, for choosing what to look at more closely.

        May be broader than what is claimed (`event`), and count more than one chance.
        """
        happened = self.event(level, seen, signature)
        return (0, 0) if happened is None else (int(happened), 1)

    def refine(
        self, trigger: Level | None, counter: Level | None, signature: str, rate: float, background: float
    ) -> Search | None:
        """Search for a smaller level that still triggers the failure; None if there is nothing to do.

        `rate` and `background` are the failure rates of `trigger` and `counter`, as far as they are known.

        None for `trigger` or `counter` stands for the baseline. The search returns the level that replaces the one of
        the two that is not the baseline; it may be one of another factor (see `owner`).
        """
        del trigger, counter, signature, rate, background
        return None

    def owner(self, level: Level) -> Factor:
        """Return the factor that a level found by `refine` belongs to."""
        del level
        return self

    def apply(self, level: Level, invocation: Invocation) -> Invocation:
        """Return the invocation with this factor at `level`."""
        raise NotImplementedError

    def level(self, value: object, ids: tuple[str, ...] = ()) -> Level:
        """Make a level of this factor."""
        return Level(factor=self.name, value=str(value), ids=ids)


def arm_of(level: Level | None, depth: Depth = Depth.COLD) -> Arm:
    """Return the arm that differs from the baseline by `level` alone."""
    return Arm((), depth) if level is None else Arm((level,), depth)


def draw_seed(rng: Random) -> int:
    """Draw a seed that is short enough to be typed."""
    return rng.randrange(1, 10_000)


def write_order(root: str, folder: str, name: str, ids: tuple[str, ...]) -> str:
    """Keep a long order in a file below the root folder and return its relative path."""
    path = Path(root, folder, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(ids)) + b"\n")
    return str(Path(folder, name))
