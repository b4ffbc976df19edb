"""Chooses every trial of one experiment: screen, focus, refine, confirm, agreement. Sans-IO: yields requests, is sent observations.

Choosing and concluding are kept apart. Screen and focus trials, which may be stopped early, reordered and reused at will,
decide only *which* contrasts are confirmed. A contrast is confirmed on fresh trials whose number is fixed before the first of them,
by one exact test at `ALPHA` split over the claims that were taken to that stage; so whatever the choosing did, the chance of
blaming any factor without an effect is at most `ALPHA`. The two arms of a claim alternate in random order, so a rate that drifts
in time moves both alike.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from triage.experiment.agreement import Agreement
from triage.experiment.bench import Bench, Exhausted, Limits, Trials
from triage.experiment.confirm import Confirm
from triage.experiment.contrast import Contrast, State
from triage.experiment.focus import Focus
from triage.experiment.ledger import CHOOSING, Ledger
from triage.experiment.screen import Screen
from triage.factors.base import Factor
from triage.model.claim import Claim


class Planner:
    """One experiment's plan. Read `claims`, `ledger`, `notes` at any moment, also if the run was cut short."""

    def __init__(
        self,
        factors: list[Factor],
        limits: Limits,
        rng: Random,
        clock: Callable[[], float],
        gravity: Callable[[str], int] = lambda _: 0,
        *,
        forking: bool = False,
    ) -> None:
        """`clock` tells the seconds since the experiment began; `gravity` how grave a signature is, larger is graver.

        `forking` says whether forked trials may be asked for; they choose and never conclude.
        """
        self.bench = Bench(factors, limits, rng, clock, forking=forking)
        self.screen = Screen(self.bench)
        contrasts: list[Contrast] = []
        self.confirm = Confirm(self.bench, contrasts, gravity)
        self.focus = Focus(self.bench, gravity, contrasts, self.confirm.needed)
        self.agreement = Agreement(self.bench)
        self.complete = False

    @property
    def ledger(self) -> Ledger:
        """Everything seen so far."""
        return self.bench.ledger

    @property
    def claims(self) -> dict[str, list[Claim]]:
        """The claims that were tested, by signature."""
        return self.confirm.claims

    @property
    def contrasts(self) -> list[Contrast]:
        """What was looked at."""
        return self.focus.contrasts

    @property
    def notes(self) -> dict[str, str]:
        """What is to be said beside the claims, by signature."""
        return self.bench.notes

    @property
    def doing(self) -> str:
        """What the trial that was asked for last is for."""
        return self.bench.doing

    def run(self) -> Trials:
        """Yield the trials to run, one at a time."""
        try:
            yield from self.screen.run()
            if self.ledger.passes and self.ledger.failures:
                yield from self.focus.run()
                yield from self.confirm.run()
            explained = any(claim.confirmed for claims in self.claims.values() for claim in claims)
            yield from self.agreement.run(explained=explained)
            self.complete = not self._cut_short()
        except Exhausted:
            self._cut_short()

    def _cut_short(self) -> bool:
        """Note the contrasts that the limits kept from being looked at long enough, and return whether there are any."""
        claimed = {(key, claim.factor) for key, claims in self.claims.items() for claim in claims}
        left = [c for c in self.contrasts if c.state is State.OPEN and (c.signature, c.factor.name) not in claimed]
        for contrast in left:
            counts = [
                self.ledger.count(
                    contrast.factor, level, contrast.signature, CHOOSING, screening=True, depth=contrast.depth
                )
                for level in (contrast.trigger, contrast.counter)
            ]
            seen = ", ".join(f"{one.arm.label} failed {one.failed} of {one.trials}" for one in counts)
            self.bench.note(
                contrast.signature, f"the limits ended the search before `{contrast.factor.name}` was settled: {seen}"
            )
        return bool(left)
