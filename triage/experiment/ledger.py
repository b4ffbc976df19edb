"""What has been seen so far in one experiment: observations by arm and stage, and counts of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from triage.factors.base import Factor, arm_of
from triage.model.arm import BASELINE, Arm, Depth, Level
from triage.model.claim import ArmCount
from triage.model.observation import ANY, Observation
from triage.model.trial import Stage
from triage.stats.clusters import alike

CHOOSING = frozenset({Stage.SCREEN, Stage.FOCUS})
"""Stages whose trials may choose a claim."""
COUNTED = CHOOSING | {Stage.CONFIRM, Stage.SCOUT}
LARGE = 10
"""Forked trials from which on those of one process say something about it."""


class Ledger:
    """Observations in the order in which they came."""

    def __init__(self) -> None:
        self.seen: dict[Arm, list[tuple[Stage, Observation]]] = {}
        self.trials = 0
        self.evidence: Counter[Depth] = Counter()
        """Trials that count, by depth, plain ones left out."""
        self.failed: Counter[Depth] = Counter()
        """Those of them that failed."""
        self.failures: Counter[str] = Counter()
        """Failures by signature."""
        self.cold_failures: Counter[str] = Counter()
        """Those in fresh processes."""
        self.spent: defaultdict[str, float] = defaultdict(float)
        """Seconds of cold trials by factor; the baseline's under an empty name."""
        self.starts: list[float] = []
        """What it took to start each process that was forked, in seconds."""

    def add(self, arm: Arm, stage: Stage, observation: Observation) -> None:
        """Write down one finished trial."""
        self.seen.setdefault(arm, []).append((stage, observation))
        self.trials += 1
        if observation.start_seconds:
            self.starts.append(observation.start_seconds)
        if arm.depth is Depth.COLD:
            self.spent[arm.levels[0].factor if arm.levels else ""] += observation.seconds
        if observation.evidence and stage in COUNTED:
            self.evidence[arm.depth] += 1
            if observation.signature is not None:
                self.failed[arm.depth] += 1
                self.failures[observation.signature] += 1
                if arm.depth is Depth.COLD:
                    self.cold_failures[observation.signature] += 1

    @property
    def passes(self) -> int:
        """Trials that count and did not fail."""
        return self.evidence.total() - self.failed.total()

    def arms(self) -> Iterator[Arm]:
        """Every arm that had a trial."""
        return iter(self.seen)

    def levels(self, factor: Factor) -> list[Level]:
        """The levels of `factor` that were tried by themselves, in the order of their first trial."""
        single = (arm.levels[0] for arm in self.seen if len(arm.levels) == 1 and arm.levels[0].factor == factor.name)
        return list(dict.fromkeys(single))

    def count(
        self,
        factor: Factor,
        level: Level | None,
        signature: str,
        stages: Collection[Stage],
        *,
        screening: bool = False,
        depth: Depth = Depth.COLD,
    ) -> ArmCount:
        """Count the events of a factor at a level (None: the baseline), in the sense of that factor."""
        arm = arm_of(level, depth)
        clusters: defaultdict[int | None, list[int]] = defaultdict(lambda: [0, 0])
        for stage, observation in self.seen.get(arm, ()):
            if stage in stages:
                if screening:
                    failed, chances = factor.screening_counts(level, observation, signature)
                else:
                    happened = factor.event(level, observation, signature)
                    failed, chances = (0, 0) if happened is None else (int(happened), 1)
                if chances:
                    clusters[observation.cluster][0] += failed
                    clusters[observation.cluster][1] += chances
        return counted(arm, clusters)

    def tally(self, arm: Arm, signature: str, stages: Collection[Stage]) -> ArmCount:
        """Count plain failures of an arm; `ANY` counts every signature."""
        clusters: defaultdict[int | None, list[int]] = defaultdict(lambda: [0, 0])
        for stage, seen in self.seen.get(arm, ()):
            if stage in stages and seen.evidence:
                clusters[seen.cluster][0] += seen.signature is not None and signature in {ANY, seen.signature}
                clusters[seen.cluster][1] += 1
        return counted(arm, clusters)

    def price(self, arm: Arm) -> float:
        """Mean seconds of a trial of this arm, without the start of a process that is forked.

        Of an arm that was never tried: that of the dearest one of the same depth; 0 before any trial.
        """
        return self._mean_seconds(arm) or max(
            (self._mean_seconds(other) for other in self.seen if other.depth is arm.depth), default=0.0
        )

    def _mean_seconds(self, arm: Arm) -> float:
        seconds = [seen.seconds - seen.start_seconds for _, seen in self.seen.get(arm, ()) if not seen.refused]
        return sum(seconds) / len(seconds) if seconds else 0.0

    def start_price(self) -> float:
        """Mean seconds of the start of a process to be forked; 0 before any."""
        return sum(self.starts) / len(self.starts) if self.starts else 0.0

    def baseline_trials(self) -> int:
        """Cold trials of the baseline that count."""
        return self.tally(BASELINE, ANY, COUNTED).trials

    def rounds(self) -> int:
        """Rounds of the screen so far: each has a cold trial of the baseline."""
        return sum(stage is Stage.SCREEN for stage, _ in self.seen.get(BASELINE, ()))

    def varies_within(self) -> bool:
        """Whether forks of one process, all at the baseline, both passed and failed: its start alone does not decide."""
        clusters = self.tally(BASELINE.forked, ANY, COUNTED).clusters
        return any(0 < failed < trials for failed, trials in clusters)

    def starts_alike(self) -> bool:
        """Whether forks of several processes fail about as often: what is fixed at a start hardly matters."""
        clusters = [pair for pair in self.tally(BASELINE.forked, ANY, COUNTED).clusters if pair[1] >= LARGE]
        return any(failed for failed, _ in clusters) and alike(clusters)


def counted(arm: Arm, clusters: Mapping[int | None, Sequence[int]]) -> ArmCount:
    """Add clusters up; those of cold trials, each a process of its own, are not kept apart."""
    pairs = tuple((failed, trials) for failed, trials in clusters.values())
    failed, trials = sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)
    forked = arm.depth is Depth.FORKED
    return ArmCount(arm, failed, trials, pairs if forked else (), tuple(clusters) if forked else ())
