"""Agreement: rates of forked trials are made exact enough, and what only they showed is looked for in fresh processes."""

from __future__ import annotations

from triage.experiment.bench import Bench, Trials
from triage.experiment.ledger import COUNTED
from triage.model.arm import BASELINE, Arm, Depth
from triage.model.observation import ANY
from triage.model.trial import Stage
from triage.stats.intervals import trials_to_see

SURE = 0.95
"""Chance with which a failure would be seen, did it happen as often as in forked trials."""
FAILURES, MOST = 20, 600
"""Forked failures of the baseline that make a rate exact enough, and trials after which it is low enough."""
STARTS = 5
"""A process is forked so many times as long as it took to start before another one is."""
BASELINES = 20
"""Fresh processes of the baseline beside forked ones that failed."""
FRESH = 10
"""Fresh processes that are tried at least."""
SHARE = 0.97
"""Part of the budget by whose end the looking stops."""


class Agreement:
    """The last stage."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def run(self, *, explained: bool = False) -> Trials:
        """Yield the trials of this stage; an `explained` failure was seen in fresh processes often enough."""
        yield from self._measure()
        for signature in list(self.bench.ledger.failures):
            arm = self._best(signature)
            if arm is None:
                continue
            forked = self.bench.ledger.tally(arm.forked, signature, COUNTED)
            wanted = max(FRESH, trials_to_see(forked.rate, SURE))
            while not (self._settled(arm, signature, wanted) or self.bench.over(SHARE)):
                self.bench.doing = f"looking for it in fresh processes, {arm.label}"
                yield from self.bench.trial(arm, Stage.FOCUS)
        if not explained:
            yield from self._fresh()

    def _measure(self) -> Trials:
        """Yield forked trials of the baseline."""
        ledger, arm = self.bench.ledger, BASELINE.forked
        renewed = self.bench.clock()
        while ledger.failures and self.bench.can_fork(arm) and not self.bench.over(SHARE):
            known = ledger.tally(arm, ANY, COUNTED)
            if known.failed >= FAILURES or known.trials >= MOST:
                return
            if self.bench.clock() - renewed > STARTS * ledger.start_price():
                self.bench.renew()
                renewed = self.bench.clock()
            self.bench.doing = f"measuring the rate, {arm.label}"
            yield from self.bench.trial(arm, Stage.FOCUS)

    def _fresh(self) -> Trials:
        """Yield cold trials of the baseline, so that there is something to compare forked ones with."""
        ledger = self.bench.ledger
        while ledger.failures and ledger.failed[Depth.FORKED] and ledger.baseline_trials() < BASELINES:
            if self.bench.over(SHARE):
                return
            self.bench.doing = "comparing with fresh processes, baseline"
            yield from self.bench.trial(BASELINE, Stage.FOCUS)

    def _settled(self, arm: Arm, signature: str, wanted: int) -> bool:
        if self.bench.ledger.cold_failures[signature]:
            return True
        return self.bench.ledger.tally(arm, signature, COUNTED).trials >= wanted

    def _best(self, signature: str) -> Arm | None:
        """The arm whose forked trials fail most, the baseline if it fails as often; None if fresh processes failed too."""
        ledger = self.bench.ledger
        if ledger.cold_failures[signature]:
            return None
        counts = [ledger.tally(arm, signature, COUNTED) for arm in ledger.arms() if arm.depth is Depth.FORKED]
        failing = [count for count in counts if count.failed]
        if not failing:
            return None
        # Single failures of seeds that were tried once say less than a rate.
        best = max(failing, key=lambda count: ((count.failed + 0.5) / (count.trials + 10), not count.arm.levels))
        return Arm(best.arm.levels)
