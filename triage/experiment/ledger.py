"""What has been seen so far in one experiment: observations by arm and stage, and counts of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator

from triage.factors.base import Factor, arm_of
from triage.model.arm import BASELINE, Arm, Level
from triage.model.claim import ArmCount
from triage.model.observation import ANY, Observation
from triage.model.trial import Stage

CHOOSING = frozenset({Stage.SCREEN, Stage.FOCUS})
"""Stages whose trials may choose a claim."""
COUNTED = CHOOSING | {Stage.CONFIRM}


class Ledger:
    """Observations in the order in which they came."""

    def __init__(self) -> None:
        self.seen: dict[Arm, list[tuple[Stage, Observation]]] = {}
        self.trials = 0
        self.evidence = 0
        self.failures: Counter[str] = Counter()
        """Failures by signature, plain trials left out."""
        self.spent: defaultdict[str, float] = defaultdict(float)
        """Seconds by factor; the baseline's under an empty name."""

    def add(self, arm: Arm, stage: Stage, observation: Observation) -> None:
        """Write down one finished trial."""
        self.seen.setdefault(arm, []).append((stage, observation))
        self.trials += 1
        self.spent[arm.levels[0].factor if arm.levels else ""] += observation.seconds
        if observation.evidence and stage in COUNTED:
            self.evidence += 1
            if observation.signature is not None:
                self.failures[observation.signature] += 1

    @property
    def passes(self) -> int:
        """Trials that count and did not fail."""
        return self.evidence - self.failures.total()

    def arms(self) -> Iterator[Arm]:
        """Every arm that had a trial."""
        return iter(self.seen)

    def levels(self, factor: Factor) -> list[Level]:
        """The levels of `factor` that were tried by themselves, in the order of their first trial."""
        return [arm.levels[0] for arm in self.seen if len(arm.levels) == 1 and arm.levels[0].factor == factor.name]

    def count(
        self,
        factor: Factor,
        level: Level | None,
        signature: str,
        stages: Collection[Stage],
        *,
        screening: bool = False,
    ) -> ArmCount:
        """Count the events of a factor at a level (None: the baseline), in the sense of that factor."""
        event = factor.screening_event if screening else factor.event
        failed = trials = 0
        for stage, observation in self.seen.get(arm_of(level), ()):
            if stage in stages:
                happened = event(level, observation, signature)
                if happened is not None:
                    trials += 1
                    failed += happened
        return ArmCount(arm_of(level), failed, trials)

    def tally(self, arm: Arm, signature: str, stages: Collection[Stage]) -> ArmCount:
        """Count plain failures of an arm; `ANY` counts every signature."""
        outcomes = [seen for stage, seen in self.seen.get(arm, ()) if stage in stages and seen.evidence]
        failed = sum(1 for seen in outcomes if seen.signature is not None and signature in {ANY, seen.signature})
        return ArmCount(arm, failed, len(outcomes))

    def price(self, arm: Arm) -> float:
        """Mean seconds of a trial of this arm; of the dearest arm if it was never tried; 0 before any trial."""
        seconds = [seen.seconds for _, seen in self.seen.get(arm, ())]
        if seconds:
            return sum(seconds) / len(seconds)
        return max((self.price(other) for other in self.seen), default=0.0)

    def baseline_trials(self) -> int:
        """Trials of the baseline that count."""
        return self.tally(BASELINE, ANY, COUNTED).trials
