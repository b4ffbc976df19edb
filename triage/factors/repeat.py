"""`repeat`: the target several times in one process, where what it leaves behind meets itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from msgspec.structs import replace

from triage.factors.base import Factor, Forks, Search, arm_of
from triage.model.arm import Level
from triage.model.invocation import Invocation
from triage.model.observation import Observation, Request
from triage.model.trial import Stage

SECONDS_A_TRIAL = 4.0
"""A repeat trial may take about so long; slow tests are repeated less often."""
MOST, LEAST = 20, 3
PROBES = 4
"""Trials with which the index of the failure is found."""


class Repeat(Factor):
    """The factor blamed here is "it ran before in this process", not "it had more chances to fail".

    A test that fails with probability p at each execution fails k executions with 1 - (1 - p)^k, so plain failure rates of k
    and of one execution differ without any effect. What is compared is the *hazard*: among trials that reach execution k,
    how many fail at k, against how many fail at their first execution. Without an effect both are p. Where each process decides at
    its start whether the test fails in it (a hash seed, say), those that reach k are the ones that pass, and the hazard falls;
    so only a hazard that rises blames the repetition, never one that falls.
    """

    name: ClassVar[str] = "repeat"
    rank: ClassVar[int] = 15
    forks: ClassVar[Forks] = Forks.CHILD
    many_chances: ClassVar[bool] = True
    one_sided: ClassVar[bool] = True

    @property
    def home(self) -> Level:
        """Once, as pytest does."""
        return self.level(1)

    def levels(self) -> tuple[Level, ...]:
        """One level, as high as the price of the test allows."""
        affordable = int(SECONDS_A_TRIAL / max(self.context.test_seconds, 1e-3))
        return (self.level(max(LEAST, min(MOST, affordable))),)

    def event(self, level: Level | None, seen: Observation, signature: str) -> bool | None:
        """Failed exactly at the last of the executions asked for; a failure before that says nothing of that one.

        While screening (see `screening_counts`) every later execution counts.
        """
        failed = super().event(level, seen, signature)
        last = 1 if level is None else int(level.value)
        if not failed:
            return failed
        return True if (seen.index or 1) == last else None

    def screening_counts(self, level: Level | None, seen: Observation, signature: str) -> tuple[int, int]:
        """Count every execution after the first as a chance, up to the one that failed: the hazard over all of them."""
        failed = super().event(level, seen, signature)
        if failed is None:
            return 0, 0
        if level is None:
            return int(failed), 1
        if seen.signature is None:
            return 0, int(level.value) - 1
        later = (seen.index or 1) - 1
        return (1, later) if failed and later else (0, max(0, later - 1))

    def refine(
        self, trigger: Level | None, counter: Level | None, signature: str, rate: float, background: float
    ) -> Search | None:
        """Find the execution at which it fails most."""
        del counter, rate, background
        return None if trigger is None else self._search(trigger, signature)

    def _search(self, trigger: Level, signature: str) -> Search:
        seen: list[int] = []
        for _ in range(PROBES):
            observation = yield Request(arm_of(trigger), Stage.FOCUS)
            if observation.evidence and observation.signature == signature and (observation.index or 1) > 1:
                seen.append(observation.index or 1)
        return self.level(_mode(seen) or int(trigger.value))

    def apply(self, level: Level, invocation: Invocation) -> Invocation:
        """Repeat inside the process."""
        if level.value == "1":
            return invocation
        return replace(invocation, levels=(*invocation.levels, f"repeat={level.value}"))


def _mode(values: Iterable[int]) -> int | None:
    counted = sorted(values)
    return max(counted, key=counted.count, default=None)
