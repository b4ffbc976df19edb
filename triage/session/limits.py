"""The time limit of each trial, from what trials of its kind took when they passed."""

from __future__ import annotations

from collections import defaultdict

from triage.model.arm import BASELINE, Arm, Depth
from triage.model.trial import Trial
from triage.runner.limit import FORKED_FLOOR, time_limit

KEPT = 50
"""Passing durations remembered for an arm: enough to know the longest, recent enough to follow the machine."""


class Limits:
    """Remembers how long passing trials took, by arm."""

    def __init__(self) -> None:
        self._passing: defaultdict[Arm, list[float]] = defaultdict(list)
        self._test_seconds = 0.0

    def learn(self, trial: Trial) -> None:
        """Take in a finished trial."""
        if not trial.is_evidence or trial.is_failure:
            return
        seconds = self._passing[trial.arm]
        seconds.append(trial.wall_seconds)
        del seconds[:-KEPT]
        if trial.arm == BASELINE and trial.test_seconds is not None:
            self._test_seconds = max(self._test_seconds, trial.test_seconds)

    def knows(self, arm: Arm) -> bool:
        """Whether a trial of `arm` has passed."""
        return bool(self._passing[arm])

    def of(self, arm: Arm) -> float:
        """Return the limit in seconds for a trial of `arm`.

        An arm that other tests run in is a mystery until it has passed once; every other one is expected to take what the
        baseline takes.
        """
        repeat = arm.level("repeat")
        own = self._passing[arm]
        if arm.depth is Depth.FORKED and not own and repeat is None and not arm.with_others:
            # Without the start of a process, it is expected to take what the test itself took.
            known = self._passing[BASELINE.forked] or ([self._test_seconds] if self._test_seconds else [])
            return time_limit(known, floor=FORKED_FLOOR)
        if arm.depth is Depth.FORKED and own:
            return time_limit(own, floor=FORKED_FLOOR)
        if repeat is not None and not own:
            return time_limit(self._passing[BASELINE], test_seconds=self._test_seconds, repeat=int(repeat.value))
        if own or arm.with_others:
            return time_limit(own)
        return time_limit(self._passing[BASELINE])
