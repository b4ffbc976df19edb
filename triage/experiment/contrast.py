"""Which two levels of a factor to compare, and when looking at them longer is of no use."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from triage.experiment.ledger import CHOOSING, Ledger
from triage.factors.base import Factor, arm_of
from triage.model.arm import Arm, Level
from triage.model.claim import ArmCount
from triage.model.trial import Stage
from triage.stats.exact import fisher_greater

GRADUATES = 0.02
"""Exact p on the focus trials at which a contrast is worth a claim. A choice, not a conclusion: confirm trials are fresh."""
HOPELESS = 0.35
EARLY, FEWEST = 2, 4
"""Focus trials an arm after which a replay that shows nothing is given up, and after which anything else is judged."""
LOW_RATE = 0.2
ENOUGH, ENOUGH_AT_LOW_RATE = 8, 100
"""Focus trials an arm after which a contrast with p over HOPELESS is given up."""
EXPLAINS = 0.9
"""Difference of rates of a contrast that leaves nothing to be explained."""
SETTLED, SETTLED_AT_LOW_RATE = 10, 25
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
    state: State = State.OPEN
    tried: list[Level | None] = field(default_factory=list)
    refined: bool = False

    @property
    def arms(self) -> tuple[Arm, Arm]:
        """The trigger's arm and the counter level's."""
        return arm_of(self.trigger), arm_of(self.counter)

    def counts(self, ledger: Ledger) -> tuple[ArmCount, ArmCount]:
        """Count what may choose: focus trials alone where the level was picked because it had failed."""
        stages = {Stage.FOCUS} if self.factor.home is None else CHOOSING
        screening = not self.refined
        first = ledger.count(self.factor, self.trigger, self.signature, stages, screening=screening)
        return first, ledger.count(self.factor, self.counter, self.signature, stages, screening=screening)

    def p_value(self, ledger: Ledger) -> float:
        """Exact one-sided p of what may choose."""
        first, second = self.counts(ledger)
        return fisher_greater(first.failed, first.trials, second.failed, second.trials)

    def judge(self, ledger: Ledger) -> State:
        """Decide whether to go on looking."""
        first, second = self.counts(ledger)
        fewest = min(first.trials, second.trials)
        if self.factor.home is None and fewest >= EARLY and first.rate <= second.rate:
            return State.DROPPED
        if fewest < FEWEST:
            return State.OPEN
        p_value = self.p_value(ledger)
        if p_value <= GRADUATES:
            return State.WORTH_A_CLAIM if fewest >= _settled(first.rate, second.rate) else State.OPEN
        if self.factor.home is None and first.rate - second.rate < REPLAY_EFFECT:
            return State.DROPPED
        enough = ENOUGH if max(first.rate, second.rate) >= LOW_RATE else ENOUGH_AT_LOW_RATE
        return State.DROPPED if fewest >= enough and p_value > HOPELESS else State.OPEN


def _settled(rate: float, background: float) -> int:
    """Trials an arm from which on its rate is known well enough to fix the number of confirm trials by it."""
    if rate - background >= EXPLAINS:
        return FEWEST
    return SETTLED if rate >= 0.5 else SETTLED_AT_LOW_RATE


def choose(factor: Factor, signature: str, ledger: Ledger, tried: list[Level | None]) -> Contrast | None:
    """Pick the level that fails most and the one that fails least; None if nothing stands out or nothing is left to try.

    `tried` are triggers that were looked at before. A baseline that does not hold the factor still is no level of it.
    """
    levels: list[Level | None] = list(ledger.levels(factor))
    if factor.home is not None:
        levels.insert(0, None)
    counts = {
        level: count
        for level in levels
        if (count := ledger.count(factor, level, signature, CHOOSING, screening=True)).trials
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
    return Contrast(factor, signature, trigger, counter, tried=[*tried, trigger])


def _guess(count: ArmCount) -> float:
    """Rate with half a failure and half a pass added, so that one trial is not taken for certainty."""
    return (count.failed + 0.5) / (count.trials + 1)


def _length(level: Level | None) -> int:
    return 0 if level is None else len(level.ids)
