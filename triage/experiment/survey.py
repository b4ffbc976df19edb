"""Survey: forked trials beside the screen's cold ones, so many that rare failures show and rates are known early.

The baseline and every factor that a forked child can set for itself share the processes that are forked, in equal parts and in
random order, so that what such a process drew at its start favours none. A factor whose levels need a process each gets one a
level.
"""

from __future__ import annotations

from collections.abc import Callable

from triage.experiment.bench import Bench, Trials
from triage.factors.base import Factor, Forks, arm_of
from triage.model.arm import BASELINE, Arm, Depth, Level
from triage.model.trial import Stage

BASELINES, SEEDS, LEVELS = 4, 2, 1
"""Trials of the baseline, fresh seeds of a factor without a home, and trials of another factor's level, in one round."""
MOST_OF_A_SLICE = 0.25
"""A trial that takes more than this part of a slice has no place in it."""


class Survey:
    """Forked trials in slices of time."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._turn = 0

    def run(self, seconds: float, enough: Callable[[], bool]) -> Trials:
        """Yield forked trials for about so long, of processes of their own, or until there are `enough`."""
        own = [factor for factor in self.bench.factors if factor.forks is Forks.SERVER and factor.every_round]
        levels = [level for factor in own for level in factor.levels()]
        self.bench.renew()
        yield from self._shared(seconds / 2 if levels else seconds, enough)
        for level in levels:
            yield from self._single(arm_of(level, Depth.FORKED), seconds / 2 / len(levels))

    def _shared(self, seconds: float, enough: Callable[[], bool]) -> Trials:
        end = None
        while end is None or (self.bench.clock() < end and not enough()):
            arms = [arm for arm in self._round() if self._fits(arm, seconds)]
            self.bench.rng.shuffle(arms)
            for arm in arms:
                if not self.bench.can_fork(BASELINE.forked) or (end is not None and self.bench.clock() >= end):
                    return
                if self.bench.can_fork(arm):
                    self.bench.doing = f"surveying {arm.label}"
                    yield from self.bench.trial(arm, Stage.SCREEN)
                # A slice begins when there is a process to be forked.
                end = end or self.bench.clock() + seconds

    def _single(self, arm: Arm, seconds: float) -> Trials:
        end = None
        while self.bench.can_fork(arm) and (end is None or self.bench.clock() < end):
            self.bench.doing = f"surveying {arm.label}"
            yield from self.bench.trial(arm, Stage.SCREEN)
            end = end or self.bench.clock() + seconds

    def _round(self) -> list[Arm]:
        arms = [BASELINE.forked] * BASELINES
        self._turn += 1
        for factor in self.bench.factors:
            if factor.forks is Forks.CHILD:
                arms += [arm_of(level, Depth.FORKED) for level in self._levels(factor)]
        return arms

    def _levels(self, factor: Factor) -> list[Level]:
        """Fresh seeds; of other factors one of the listed levels in turn, now and then a fresh one."""
        if factor.home is None:
            return [level for level in (factor.fresh(self.bench.rng) for _ in range(SEEDS)) if level is not None]
        listed = factor.levels()
        turn = self._turn % (len(listed) + 1)
        level = listed[turn] if turn < len(listed) else factor.fresh(self.bench.rng)
        return [level] * LEVELS if level is not None else []

    def _fits(self, arm: Arm, seconds: float) -> bool:
        return arm not in self.bench.ledger.seen or self.bench.ledger.price(arm) <= MOST_OF_A_SLICE * seconds
