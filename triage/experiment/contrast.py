"""Which two levels of a factor to compare, in fresh processes or in forked ones, and when to stop looking.

Forked trials are cheap, so many more are asked for before anything is given up or taken to be confirmed. Where each level needs a
process of its own to be forked, whatever that process drew at its start is mixed up with the level: such trials count for no more
than their clusters are worth.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from msgspec import Struct

from triage.experiment.ledger import CHOOSING, LARGE, Ledger, counted
from triage.factors.base import Factor, Forks, arm_of
from triage.model.arm import Arm, Depth, Level
from triage.model.claim import ArmCount
from triage.model.trial import Stage
from triage.stats.clusters import effective
from triage.stats.exact import fisher_greater

HOPELESS = 0.35
LOW_RATE = 0.2
EXPLAINS = 0.9
"""Difference of rates of a contrast that leaves nothing to be explained."""


class Patience(Struct, frozen=True):
    """How many trials an arm it takes to decide, and how clear it must be."""

    graduates: float
    """Exact p on the focus trials at which a contrast is worth a claim. A choice, not a conclusion: confirm trials are fresh."""
    early: int
    """Trials after which a replay that shows nothing is given up."""
    fewest: int
    """Trials after which anything else is judged."""
    enough: int
    """Trials after which a contrast with p over HOPELESS is given up."""
    enough_at_low_rate: int
    settled: int
    """Trials from which on a rate is known well enough to fix the number of confirm trials by it."""
    settled_at_low_rate: int


PATIENCE = {
    Depth.COLD: Patience(0.02, 2, 4, 8, 100, 10, 25),
    Depth.FORKED: Patience(0.002, 4, 8, 60, 600, 30, 150),
}
FEWEST = PATIENCE[Depth.COLD].fewest
STANDS_OUT = 0.1
"""Exact p up to which a contrast may yet be something."""
REPLAY_EFFECT = 0.3
"""A seed that decides changes the rate by more than this when it is replayed."""
HOME_TIE = 0.15
"""How much worse than the best counter level the baseline may look and still be taken for it."""


class State(Enum):
    """Where a contrast stands."""

    OPEN = "open"
    WORTH_A_CLAIM = "worth a claim"
    DROPPED = "dropped"


@dataclass
class Contrast:
    """One factor at two levels (None: the baseline), looked at for one signature."""

    factor: Factor
    signature: str
    trigger: Level | None
    counter: Level | None
    depth: Depth = Depth.COLD
    """In which kind of trials it is looked at; it is confirmed in fresh processes alone."""
    state: State = State.OPEN
    tried: list[Level | None] = field(default_factory=list)
    refined: bool = False

    @property
    def arms(self) -> tuple[Arm, Arm]:
        """The trigger's arm and the counter level's, as they are confirmed."""
        return arm_of(self.trigger), arm_of(self.counter)

    @property
    def looked_at(self) -> tuple[Arm, Arm]:
        """The two arms at the depth at which they are looked at."""
        return arm_of(self.trigger, self.depth), arm_of(self.counter, self.depth)

    def counts(self, ledger: Ledger) -> tuple[ArmCount, ArmCount]:
        """Count what may choose: focus trials alone where the level was picked because it had failed."""
        stages = {Stage.FOCUS} if self.factor.home is None else CHOOSING
        screening = not self.refined
        counts = [
            ledger.count(self.factor, level, self.signature, stages, screening=screening, depth=self.depth)
            for level in (self.trigger, self.counter)
        ]
        if self.depth is Depth.FORKED and self.factor.forks is Forks.CHILD:
            # Only forks of the same processes can be compared: what these drew at their start may decide.
            shared = set(counts[0].processes) & set(counts[1].processes)
            return within(counts[0], shared), within(counts[1], shared)
        return counts[0], counts[1]

    def p_value(self, ledger: Ledger) -> float:
        """Exact one-sided p of what may choose."""
        counts = self.counts(ledger)
        pairs = [self.worth(count) for count in counts]
        p_value = fisher_greater(*pairs[0], *pairs[1])
        if self.depth is Depth.FORKED and self.factor.forks is Forks.SERVER:
            # A process as one trial, failed if any fork of it did: where nothing fails, effective numbers say little.
            large = [[failed for failed, trials in count.clusters if trials >= LARGE] for count in counts]
            first, second = ((sum(map(bool, failed)), len(failed)) for failed in large)
            p_value = min(p_value, fisher_greater(*first, *second))
        return p_value

    def worth(self, count: ArmCount) -> tuple[int, int]:
        """Return failures and trials, as independent ones."""
        if self.depth is Depth.COLD or self.factor.forks is Forks.CHILD or not count.clusters:
            return count.failed, count.trials
        failed, trials = effective(count.clusters)
        return round(failed), max(round(trials), round(failed))

    def judge(self, ledger: Ledger) -> State:
        """Decide whether to go on looking."""
        first, second = self.counts(ledger)
        patience = PATIENCE[self.depth]
        fewest = min(first.trials, second.trials)
        if self.factor.home is None and fewest >= patience.early and first.rate <= second.rate:
            return State.DROPPED
        if fewest < patience.fewest:
            return State.OPEN
        p_value = self.p_value(ledger)
        if p_value <= patience.graduates:
            return State.WORTH_A_CLAIM if fewest >= _settled(first.rate, second.rate, patience) else State.OPEN
        if self.factor.home is None and first.rate - second.rate < REPLAY_EFFECT:
            return State.DROPPED
        low = max(first.rate, second.rate) < LOW_RATE
        enough = patience.enough_at_low_rate if low else patience.enough
        return State.DROPPED if fewest >= enough and p_value > HOPELESS else State.OPEN


def within(count: ArmCount, processes: set[int | None]) -> ArmCount:
    """Return what of a count was forked from these processes."""
    pairs = zip(count.processes, count.clusters, strict=True)
    return counted(count.arm, {number: pair for number, pair in pairs if number in processes})


def _settled(rate: float, background: float, patience: Patience) -> int:
    """Trials an arm from which on its rate is known well enough to fix the number of confirm trials by it."""
    if rate - background >= EXPLAINS:
        return patience.fewest
    return patience.settled if rate >= 0.5 else patience.settled_at_low_rate


def choose(
    factor: Factor, signature: str, ledger: Ledger, tried: list[Level | None], depth: Depth = Depth.COLD
) -> Contrast | None:
    """Pick the level that fails most and the one that fails least; None if nothing stands out or nothing is left to try.

    `tried` are triggers that were looked at before. A baseline that does not hold the factor still is no level of it.
    """
    levels: list[Level | None] = list(ledger.levels(factor))
    if factor.home is not None:
        levels.insert(0, None)
    counts = {
        level: count
        for level in levels
        if (count := ledger.count(factor, level, signature, CHOOSING, screening=True, depth=depth)).trials
    }
    failing = [level for level, count in counts.items() if count.failed and level not in tried]
    if factor.one_sided:
        failing = [level for level in failing if level is not None]
    if not failing or len(counts) < 2:
        return None
    trigger = max(failing, key=lambda level: (_guess(counts[level]), -_length(level)))
    others = [level for level, count in counts.items() if level != trigger and count.failed < count.trials]
    if not others:
        return None
    counter = min(others, key=lambda level: (_guess(counts[level]), -counts[level].trials, _length(level)))
    if None in others and _guess(counts[None]) <= _guess(counts[counter]) + HOME_TIE:
        counter = None
    if _guess(counts[trigger]) <= _guess(counts[counter]):
        return None
    return Contrast(factor, signature, trigger, counter, depth, tried=[*tried, trigger])


def _guess(count: ArmCount) -> float:
    """Rate with half a failure and half a pass added, so that one trial is not taken for certainty."""
    return (count.failed + 0.5) / (count.trials + 1)


def _length(level: Level | None) -> int:
    return 0 if level is None else len(level.ids)
