"""One line of the history: an experiment as it is listed."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from triage.model.surface import Surface
from triage.model.trial import Trial
from triage.model.verdict import Rate, Strength, Verdict


class State(StrEnum):
    """How far an experiment got."""

    RUNNING = "running"
    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    """It was started, has no report, and the process that ran it is gone."""


class Entry(Struct, frozen=True, kw_only=True):
    """What the history says of an experiment without reading its trials."""

    experiment: str
    short: str
    """Shortest prefix of `experiment` that no other one in the history shares."""
    target: str
    state: State
    started: float
    """Seconds since the epoch."""
    verdict: Verdict | None = None
    cause: str | None = None
    strength: Strength | None = None
    summary: str = ""
    complete: bool = True
    trials: int = 0
    failed: int = 0
    """Failures among the trials that count in rates."""
    counted: int = 0
    """Trials that count in rates."""
    wall_seconds: float | None = None
    baseline: Rate | None = None
    """Of the user's own command; None if it was not tried."""
    worst: Rate | None = None
    """Of the arm whose interval has the highest lower bound, those that repeat the test left out; None if nothing was tried."""


class Unfinished(Struct, frozen=True, kw_only=True):
    """An experiment that was interrupted, with all that is needed to go on with it."""

    experiment: str
    started: float
    """Seconds since the epoch."""
    trials: tuple[Trial, ...]
    """In the order in which they were recorded."""
    surface: Surface | None
    """On what it was made; None if that is not known."""
