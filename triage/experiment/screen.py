"""Screen: a trial of the baseline and of each factor in turn, in random order, until something stands out or nothing does.

Where trials can be forked, a survey of them goes before each of these rounds and takes about as long.
"""

from __future__ import annotations

from triage.experiment.bench import Bench, Trials
from triage.experiment.contrast import EXPLAINS, STANDS_OUT, choose
from triage.experiment.ledger import CHOOSING, LARGE
from triage.experiment.survey import Survey
from triage.factors.base import Factor, Forks, arm_of
from triage.model.arm import BASELINE, Arm, Depth, Level
from triage.model.claim import ArmCount
from triage.model.observation import ANY
from triage.model.trial import Stage
from triage.stats.exact import fisher_greater
from triage.stats.intervals import trials_to_see

QUIET_TRIALS, QUIET_BASELINE = 200, 100
"""A target that never failed in so many trials, so many of them of the baseline, is left alone: a rate of 3% is excluded."""
QUIET_LEVEL = 60
"""The same for each level of a factor that is tried in every round; a rate of 5% is excluded."""
QUIET_FORKED = 1000
"""Forked trials, beside these, if trials can be forked; a rate of 0.3% is excluded where every trial decides anew."""
SURVEYED = 20
"""Failures and passes of forked trials of the baseline, or trials of one process, that are enough."""
PROCESSES = 4
"""Processes that were forked before the rate of forked trials is taken for known: what they draw at their start may matter."""
ALIKE = 3
"""Processes whose forked trials all ended alike, after which more of them are of no use."""
CLEAR = {Forks.CHILD: 1e-6, Forks.SERVER: 1e-3}
"""Exact p of forked trials at which the screen has nothing to add; where a level needs a process of its own, of their clusters."""
SOLID_FAILURES = 24
"""Cold trials after which a target that never passed is called so."""
ROUNDS, ROUNDS_WITH_FORKS = 8, 4
"""Rounds of the screen, at least; each has one trial of the baseline and one of each factor."""
FIRST_SLICE, LONGEST_SLICE = 2.0, 0.08
"""Seconds of the first survey, and the part of the budget that a later one may take."""
FAILURES_TO_FOCUS = 3
SHARE = 0.40
"""Part of the budget by whose end the screen stops."""
FACTOR_SHARE = 0.2
"""Part of the budget that one factor may use in the screen."""
SEEN = 0.95
"""Chance with which enough seeds are screened to meet one that fails, if seeds decide."""


class Screen:
    """The first stage."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self._survey = Survey(bench)
        self._upcoming: dict[str, list[Level]] = {factor.name: list(factor.levels()) for factor in bench.factors}

    def run(self) -> Trials:
        """Yield the trials of this stage."""
        rounds = self.bench.ledger.rounds()  # of an experiment that was interrupted
        slice_ = FIRST_SLICE
        while not (self._screened(rounds) or self._explained()):
            if self.bench.forking and not self._surveyed():
                yield from self._survey.run(slice_, lambda: self._measured() or self._surveyed())
            began = self.bench.clock()
            arms = self._quiet_round(rounds) if rounds >= ROUNDS and not self.bench.ledger.failures else self._round()
            self.bench.rng.shuffle(arms)
            for arm in arms:
                if rounds and self._screened(rounds):
                    return
                self.bench.doing = f"screening {arm.label}"
                yield from self.bench.trial(arm, Stage.SCREEN)
            slice_ = min(max(FIRST_SLICE, self.bench.clock() - began), LONGEST_SLICE * self.bench.seconds)
            rounds += 1

    def _surveyed(self) -> bool:
        """Whether more forked trials would tell nothing that is not known by now."""
        ledger = self.bench.ledger
        if not ledger.failures:
            return self._forked_enough()
        baseline = ledger.tally(BASELINE.forked, ANY, CHOOSING)
        clusters = [trials for _, trials in baseline.clusters if trials >= LARGE]
        if self._measured() and len(clusters) >= PROCESSES:
            return True
        # Every process fails always or never: what decides was fixed before the fork.
        large = [trials for _, trials in baseline.clusters if trials >= SURVEYED]
        alike = len(large) >= ALIKE and not ledger.varies_within()
        return alike and (bool(baseline.failed) or not ledger.failed[Depth.FORKED])

    def _measured(self) -> bool:
        """Whether the rate of forked trials is known well enough, and what the last process had to say."""
        baseline = self.bench.ledger.tally(BASELINE.forked, ANY, CHOOSING)
        known = min(baseline.failed, baseline.trials - baseline.failed) >= SURVEYED
        return known and baseline.clusters[-1][1] >= LARGE

    def _explained(self) -> bool:
        """Whether forked trials, of which there are many, show one factor to explain the failure all but completely.

        Either nearly all the difference is its, or the failure happens at one of its levels alone.
        """
        ledger = self.bench.ledger
        for signature, _ in ledger.failures.most_common(1):
            for factor in self.bench.factors:
                if factor.home is None:  # of a seed, only replays count
                    continue
                found = choose(factor, signature, ledger, [], Depth.FORKED)
                if found is None or found.p_value(ledger) > CLEAR[factor.forks]:
                    continue
                first, second = found.counts(ledger)
                alone = not ledger.tally(BASELINE.forked, ANY, CHOOSING).failed and factor.forks is Forks.SERVER
                if alone or first.rate - second.rate >= EXPLAINS:
                    return True
        return False

    def _forked_enough(self) -> bool:
        return not self.bench.forking or self.bench.ledger.evidence[Depth.FORKED] >= QUIET_FORKED

    def _round(self) -> list[Arm]:
        """The baseline and every factor."""
        return [BASELINE, *(arm_of(level) for factor in self.bench.factors for level in self._next_levels(factor))]

    def _quiet_round(self, number: int) -> list[Arm]:
        """Where nothing fails: mostly the baseline and the levels that the user asked for, whose bounds count."""
        asked = [factor for factor in self.bench.factors if factor.every_round]
        others = [factor for factor in self.bench.factors if not factor.every_round]
        chosen = [*asked, *([others[number % len(others)]] if others else [])]
        return [BASELINE, BASELINE, *(arm_of(level) for factor in chosen for level in self._next_levels(factor))]

    def _screened(self, rounds: int) -> bool:
        ledger = self.bench.ledger
        if not ledger.failures:
            enough = ledger.evidence[Depth.COLD] >= QUIET_TRIALS and ledger.baseline_trials() >= QUIET_BASELINE
            return enough and self._forked_enough() and all(map(self._quiet_enough, self.bench.factors))
        if not ledger.passes:
            return ledger.evidence[Depth.COLD] >= SOLID_FAILURES and rounds >= FAILURES_TO_FOCUS
        if self.bench.over(SHARE):
            return True
        if rounds < (ROUNDS_WITH_FORKS if self.bench.forking else ROUNDS):
            return False
        if self._concentrated():
            return True
        return max(ledger.failures.values()) >= FAILURES_TO_FOCUS and all(map(self._seeded_enough, self.bench.factors))

    def _concentrated(self) -> bool:
        """Whether all failures came under one level away from home, and hardly by chance."""
        tallies = self._comparable()
        failing = [tally for tally in tallies if tally.failed]
        if len(failing) != 1 or not failing[0].arm.levels:
            return False
        rest = sum(tally.trials for tally in tallies) - failing[0].trials
        return fisher_greater(failing[0].failed, failing[0].trials, 0, rest) <= STANDS_OUT / len(tallies)

    def _seeded_enough(self, factor: Factor) -> bool:
        """Whether a factor without a home, such as a seed, showed a failing level, or so many that pass that none is likely."""
        if factor.home is not None:
            return True
        depth = Depth.FORKED if self.bench.forking and factor.forks is Forks.CHILD else Depth.COLD
        arms = [arm_of(level, depth) for level in self.bench.ledger.levels(factor)]
        counts = [self.bench.ledger.tally(arm, ANY, CHOOSING) for arm in arms if arm in self.bench.ledger.seen]
        if any(count.failed for count in counts):
            return True
        if factor.forks is Forks.SERVER and self.bench.ledger.starts_alike():
            return len(counts) >= ROUNDS_WITH_FORKS  # what is fixed in a process does not matter
        everything = self._comparable()
        if not any(tally.failed for tally in everything):
            return len(counts) >= ROUNDS
        rate = (sum(t.failed for t in everything) + 0.5) / (sum(t.trials for t in everything) + 1)
        return len(counts) >= trials_to_see(min(rate, 0.99), SEEN)

    def _comparable(self) -> list[ArmCount]:
        """Count every arm of cold trials in which a trial is one chance to fail."""
        alike = {factor.name for factor in self.bench.factors if not factor.many_chances}
        cold = [arm for arm in self.bench.ledger.arms() if arm.depth is Depth.COLD]
        arms = [arm for arm in cold if not arm.levels or arm.levels[0].factor in alike]
        return [self.bench.ledger.tally(arm, ANY, CHOOSING) for arm in arms]

    def _quiet_enough(self, factor: Factor) -> bool:
        """Whether each level of a factor that the user asked for one by one had as many trials as a bound is worth."""
        if not factor.every_round:
            return True
        return all(
            self.bench.ledger.tally(arm_of(level), ANY, CHOOSING).trials >= QUIET_LEVEL for level in factor.levels()
        )

    def _next_levels(self, factor: Factor) -> list[Level]:
        """The listed levels first; then they and fresh ones in turn."""
        if self.bench.ledger.spent[factor.name] > FACTOR_SHARE * self.bench.seconds:
            return []
        if factor.every_round:
            return list(factor.levels())
        waiting = self._upcoming[factor.name]
        if not waiting:
            fresh = factor.fresh(self.bench.rng)
            waiting += [*factor.levels(), *([fresh] if fresh else [])]
            self.bench.rng.shuffle(waiting)
        return [waiting.pop(0)] if waiting else []
