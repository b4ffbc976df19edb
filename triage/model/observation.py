"""What the planner asks for, and what it gets to see of a finished trial: no process, no database, no clock."""

from __future__ import annotations

from msgspec import Struct

from triage.model.arm import Arm
from triage.model.trial import Stage


class Request(Struct, frozen=True):
    """One trial that the planner wants."""

    arm: Arm
    stage: Stage
    generation: int = 0
    """Of a forked trial: trials of one generation are forks of one process, those of another are not."""


class Observation(Struct, frozen=True):
    """The part of a trial that decisions are made from."""

    evidence: bool = True
    """False if the trial counts in no rate (broken, skipped, not collected, killed)."""
    signature: str | None = None
    """Key of the failure's signature; None if the target did not fail. A plain trial knows only that it failed: `ANY`."""
    index: int | None = None
    """Which execution in the process decided the outcome, from 1."""
    seconds: float = 0.0
    """Wall time that the trial took, with the start of a process to be forked if it needed one."""
    start_seconds: float = 0.0
    """The part of it that this start took."""
    cluster: int | None = None
    """Of a forked trial: which process it was forked from."""
    before: tuple[str, ...] = ()
    """With workers: the tests that ran before the target in its own worker, in order."""
    refused: bool = False
    """Whether it could not be forked, nor can others of its arm."""


ANY = "*"
"""Stands for every signature: the failure of a trial without the probe, of which only the exit status is known."""
