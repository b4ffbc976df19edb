"""What running a recorded command again came to. JSON: `triage.replay/1`; keys are only ever added."""

from __future__ import annotations

from msgspec import Struct

SCHEMA = "triage.replay/1"


class Seen(Struct, frozen=True, kw_only=True):
    """Failures of one kind."""

    failure: str
    times: int
    same: bool
    """Whether it is the recorded one."""


class Replay(Struct, frozen=True, kw_only=True):
    """Fresh processes, one at a time, of one command."""

    schema: str = SCHEMA
    experiment: str
    target: str
    what: str
    """What is replayed: `reproduction`, `counterfactual`, `trial 12`, `sequence of trial 12`."""
    command: str
    root: str
    """The folder in which it runs."""
    recorded_failed: int | None = None
    """Failures when it was recorded, as `recorded_trials`: of the report's command, or of all cold trials of the trial's arm."""
    recorded_trials: int | None = None
    failed: int
    """Trials that failed, in whatever way."""
    trials: int
    """Trials that count."""
    low: float
    high: float
    """Exact 95% interval of the rate."""
    left_out: int = 0
    """Trials that say nothing: broken, killed, skipped or not collected."""
    planned: int
    failures: tuple[Seen, ...] = ()
    differs: bool | None = None
    """Whether the two counts differ by more than chance does (exact two-sided p below 5%); None if nothing was recorded."""
    detectable: float | None = None
    """The difference of rates that would have been seen with 80% probability; None if none or if it is not known."""
    changed: tuple[str, ...] | None = None
    """What has changed since; None if that is not known."""
    not_held: tuple[str, ...] = ()
    """What the command leaves to chance."""
    interrupted: bool = False
