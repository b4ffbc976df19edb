"""Focus: the contrasts that stand out are looked at longer, and the levels of those that last are made as small as they go."""

from __future__ import annotations

from collections.abc import Callable, Generator

from triage.experiment.bench import Bench, Trials
from triage.experiment.contrast import EXPLAINS, FEWEST, STANDS_OUT, Contrast, State, choose
from triage.experiment.ledger import CHOOSING
from triage.factors.base import Factor, Forks, arm_of
from triage.model.arm import BASELINE, Arm, Depth, Level
from triage.model.observation import ANY, Observation, Request
from triage.model.trial import Stage

FOCUS_SHARE, REFINE_SHARE = 0.62, 0.72
"""Parts of the budget by whose end the looking and the minimising stop; the rest is for confirming."""
STUDIED = 2
"""Signatures that claims are made about."""
PAIRS = 3
"""Levels of one factor that are tried as its trigger, one after the other."""
REPLAY_LOSS = 0.3
"""A minimised level that separates the arms by less than this has lost the effect; the level before it is taken."""

CHECKS = {Depth.COLD: 4, Depth.FORKED: 20}
"""Trials an arm that check whether a minimised level still does it."""
STEP = {Depth.COLD: 1, Depth.FORKED: 10}
"""Trials an arm before contrasts are judged again."""
STEP_APART = 40
"""Forked trials an arm where each arm needs a process of its own: starting one costs about as much."""
SEEDS = {Depth.COLD: 1, Depth.FORKED: 5}
"""Further seeds that are drawn meanwhile."""
STARTS = 10
"""A process is forked for about as long as it would take to start so many."""


class Focus:
    """The second stage; `contrasts` is what it leaves."""

    def __init__(
        self,
        bench: Bench,
        gravity: Callable[[str], int],
        contrasts: list[Contrast],
        needed: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """`contrasts` is filled; `needed` tells the seconds that it takes to confirm the strongest of them."""
        self.bench = bench
        self.gravity = gravity
        self.needed = needed
        self.contrasts = contrasts

    def run(self) -> Trials:
        """Yield the trials of this stage."""
        by_weight = sorted(
            self.bench.ledger.failures, key=lambda key: (-self.gravity(key), -self.bench.ledger.failures[key], key)
        )
        signatures = by_weight[:STUDIED]
        self._find_contrasts(signatures)
        renewed = self.bench.clock()
        while not self.bench.over(FOCUS_SHARE):
            open_ = [contrast for contrast in self.contrasts if contrast.state is State.OPEN]
            if not open_ or self.bench.seconds_left() < self.needed():
                break
            wanted: dict[Arm, int] = {}
            for contrast in open_:
                apart = contrast.depth is Depth.FORKED and contrast.factor.forks is Forks.SERVER
                for arm in contrast.looked_at:
                    wanted[arm] = max(wanted.get(arm, 0), STEP_APART if apart else STEP[arm.depth])
            arms = [arm for arm, times in wanted.items() for _ in range(times)] + self._more_seeds()
            self.bench.rng.shuffle(arms)
            if self._worn_out(open_, renewed):
                self.bench.renew()
                renewed = self.bench.clock()
            for arm in arms:
                if self.bench.over(FOCUS_SHARE):
                    break
                if arm.depth is Depth.COLD or self.bench.can_fork(arm):
                    self.bench.doing = f"looking closer at {arm.label}"
                    yield from self.bench.trial(arm, Stage.FOCUS)
            self._judge(open_)
            self._find_contrasts(signatures)
        yield from self._refine()

    def _find_contrasts(self, signatures: list[str]) -> None:
        """Choose a contrast for every signature and factor that has none yet."""
        have = {(contrast.signature, contrast.factor.name, contrast.depth): contrast for contrast in self.contrasts}
        for signature in signatures:
            for factor in self.bench.factors:
                forked = have.get((signature, factor.name, Depth.FORKED))
                if forked is None and self.bench.forking:
                    forked = choose(factor, signature, self.bench.ledger, [], Depth.FORKED)
                    self.contrasts += [forked] if forked else []
                if (signature, factor.name, Depth.COLD) not in have:
                    cold = choose(factor, signature, self.bench.ledger, [])
                    if cold and (forked is None or self._stands_out(cold, forked)):
                        self.contrasts.append(cold)

    def _stands_out(self, cold: Contrast, forked: Contrast) -> bool:
        """Whether fresh processes show what forks of one did not, as where the level acts before the fork."""
        if forked.state is not State.DROPPED:
            return False
        return not self.bench.forking or cold.p_value(self.bench.ledger) <= STANDS_OUT

    def _worn_out(self, contrasts: list[Contrast], since: float) -> bool:
        """Whether it is time to fork other processes."""
        forked = [contrast for contrast in contrasts if contrast.depth is Depth.FORKED]
        if any(contrast.factor.forks is Forks.SERVER for contrast in forked):
            return True
        price = self.bench.ledger.start_price()
        return bool(forked and price and self.bench.clock() - since > STARTS * price)

    def _more_seeds(self) -> list[Arm]:
        """Draw further levels of factors without a home that have not shown a failing one, unless that is explained."""
        if any(contrast.state is State.WORTH_A_CLAIM for contrast in self.contrasts):
            return []
        ledger = self.bench.ledger
        if not any(ledger.tally(arm, ANY, CHOOSING).failed for arm in (BASELINE, BASELINE.forked)):
            return []
        have = {contrast.factor.name for contrast in self.contrasts}
        return [
            arm
            for factor in self.bench.factors
            if factor.home is None and factor.name not in have
            for arm in self._fresh(factor)
        ]

    def _fresh(self, factor: Factor) -> list[Arm]:
        if factor.forks is Forks.SERVER and self.bench.ledger.starts_alike():
            return []
        depth = Depth.FORKED if self.bench.forking and factor.forks is Forks.CHILD else Depth.COLD
        levels = [factor.fresh(self.bench.rng) for _ in range(SEEDS[depth])]
        return [arm_of(level, depth) for level in levels if level is not None]

    def _judge(self, contrasts: list[Contrast]) -> None:
        for contrast in contrasts:
            contrast.state = contrast.judge(self.bench.ledger)
            forked = contrast.depth is Depth.FORKED
            if contrast.state is State.OPEN and forked and not all(map(self.bench.can_fork, contrast.looked_at)):
                contrast.state = State.DROPPED
            if contrast.state is State.OPEN and self._explained(contrast):
                contrast.state = State.DROPPED
            elif contrast.state is State.DROPPED and len(contrast.tried) < PAIRS:
                again = choose(contrast.factor, contrast.signature, self.bench.ledger, contrast.tried, contrast.depth)
                if again and again.trigger != contrast.trigger:
                    self.contrasts[self.contrasts.index(contrast)] = again

    def _explained(self, contrast: Contrast) -> bool:
        """Whether another factor already explains the failure all but completely, and this one shows no sign of mattering."""
        first, second = contrast.counts(self.bench.ledger)
        if min(first.trials, second.trials) < FEWEST or contrast.p_value(self.bench.ledger) <= STANDS_OUT:
            return False
        for other in self.contrasts:
            if other.signature == contrast.signature and other.state is State.WORTH_A_CLAIM:
                high, low = other.counts(self.bench.ledger)
                if high.rate - low.rate >= EXPLAINS:
                    return True
        return False

    def _refine(self) -> Trials:
        """Replace a level by the smallest one that does the same, then look whether it does."""
        for contrast in self.contrasts:
            if contrast.state is not State.WORTH_A_CLAIM:
                continue
            rates = [count.rate for count in contrast.counts(self.bench.ledger)]
            search = contrast.factor.refine(contrast.trigger, contrast.counter, contrast.signature, rates[0], rates[1])
            if search is None:
                contrast.refined = True
                continue
            self.bench.doing = f"minimising {arm_of(contrast.trigger or contrast.counter).label}"
            found = yield from self._search(search, contrast.depth)
            if found is None:
                self.bench.note(
                    contrast.signature,
                    f"the limits ended the search while `{contrast.factor.name}` was being minimised",
                )
                contrast.refined = True
                if contrast.factor.many_chances:  # only its exact event can be claimed
                    contrast.state = State.DROPPED
                continue
            before = (contrast.factor, contrast.trigger, contrast.counter)
            contrast.factor = contrast.factor.owner(found)
            if contrast.trigger is not None:
                contrast.trigger = found
            else:
                contrast.counter = found
            contrast.refined = True
            yield from self._check(contrast)
            first, second = contrast.counts(self.bench.ledger)
            if first.rate - second.rate < REPLAY_LOSS or first.trials < FEWEST:
                if contrast.factor.many_chances:
                    contrast.state = State.DROPPED
                contrast.factor, contrast.trigger, contrast.counter = before

    def _check(self, contrast: Contrast) -> Trials:
        for _ in range(CHECKS[contrast.depth]):
            for arm in contrast.looked_at:
                if arm.depth is Depth.COLD or self.bench.can_fork(arm):
                    yield from self.bench.trial(arm, Stage.FOCUS)

    def _search(
        self, search: Generator[Request, Observation, Level], depth: Depth
    ) -> Generator[Request, Observation, Level | None]:
        try:
            request = next(search)
            while True:
                if self.bench.over(REFINE_SHARE):
                    search.close()
                    return None
                forked = depth is Depth.FORKED and self.bench.can_fork(request.arm.forked)
                seen = yield from self.bench.trial(request.arm.forked if forked else request.arm, request.stage)
                if seen.refused:
                    continue
                request = search.send(seen)
        except StopIteration as stop:
            level: Level = stop.value
            return level
