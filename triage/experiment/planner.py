"""Chooses every trial of one experiment: screen, focus, refine, confirm. Sans-IO: yields requests, is sent observations.

Choosing and concluding are kept apart. Screen and focus trials, which may be stopped early, reordered and reused at will,
decide only *which* contrasts are confirmed. A contrast is confirmed on fresh trials whose number is fixed before the first of them,
by one exact test at `ALPHA` split over the claims that were taken to that stage; so whatever the choosing did, the chance of
blaming any factor without an effect is at most `ALPHA`. The two arms of a claim alternate in random order, so a rate that drifts
in time moves both alike.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from triage.experiment.contrast import Contrast, State, choose
from triage.experiment.ledger import CHOOSING, Ledger
from triage.factors.base import Factor, arm_of
from triage.model.arm import BASELINE, Arm, Level
from triage.model.claim import ArmCount, Claim
from triage.model.observation import ANY, Observation, Request
from triage.model.trial import Stage
from triage.stats.allocation import split_alpha
from triage.stats.exact import confirm_size, fisher_greater, power_fisher
from triage.stats.intervals import clopper_pearson, trials_to_see

ALPHA = 0.04
"""Chance of blaming any factor when none has an effect. Under 5%, so that a simulation can show it with its own error."""
POWER = 0.9
QUIET_TRIALS, QUIET_BASELINE = 200, 100
"""A target that never failed in so many trials, so many of them of the baseline, is left alone: a rate of 3% is excluded."""
SOLID_FAILURES = 24
"""Trials after which a target that never passed is called so."""
ROUNDS = 8
"""Rounds of the screen, at least; each has one trial of the baseline and one of each factor."""
FAILURES_TO_FOCUS = 3
SCREEN_SHARE, FOCUS_SHARE, REFINE_SHARE = 0.40, 0.62, 0.72
"""Parts of the budget by whose end the screen, the focus and the refining stop; the rest is for confirming."""
FACTOR_SHARE = 0.2
"""Part of the budget that one factor may use in the screen."""
STUDIED = 2
"""Signatures that claims are made about."""
PAIRS = 3
"""Levels of one factor that are tried as its trigger, one after the other."""
CONFIRM_FLOOR, CONFIRM_CAP = 20, 400
"""Fewest and most trials an arm in a claim."""
WEAK_POWER = 0.5
"""A claim that cannot have this much power within the budget is not tested."""
CAUTION = 0.5
"""Confidence of the interval whose lower end is planned with: a rate that was picked for being high is lower than it looked."""
SEEN = 0.95
"""Chance with which enough seeds are screened to meet one that fails, if seeds decide."""
MOST_PLAIN, FEWEST_PLAIN = 40, 3

REPLAY_LOSS = 0.3
"""A minimised level that separates the arms by less than this has lost the effect; the level before it is taken."""

Trials = Generator[Request, Observation, None]


class Limits(Struct, frozen=True):
    """What one target may cost in all."""

    seconds: float
    trials: int | None = None


class Exhausted(Exception):  # noqa: N818 - it ends a stage, it is no error
    """The limits leave no room for another trial."""


class Planner:
    """One experiment's plan. Read `claims`, `ledger`, `notes` at any moment, also if the run was cut short."""

    def __init__(
        self,
        factors: list[Factor],
        limits: Limits,
        rng: Random,
        clock: Callable[[], float],
        gravity: Callable[[str], int] = lambda _: 0,
    ) -> None:
        """`clock` tells the seconds since the experiment began; `gravity` how grave a signature is, larger is graver."""
        self.factors = factors
        self.limits = limits
        self.rng = rng
        self.clock = clock
        self.gravity = gravity
        self.ledger = Ledger()
        self.claims: dict[str, list[Claim]] = {}
        self.notes: dict[str, str] = {}
        self.contrasts: list[Contrast] = []
        self.complete = False
        self.stage = Stage.SCREEN
        self.doing = "starting"
        self._upcoming: dict[str, list[Level]] = {factor.name: list(factor.levels()) for factor in factors}

    def run(self) -> Trials:
        """Yield the trials to run, one at a time."""
        try:
            yield from self._screen()
            if self.ledger.passes and self.ledger.failures:
                yield from self._focus()
                yield from self._refine()
                yield from self._confirm()
            self.complete = not self._cut_short()
        except Exhausted:
            self._cut_short()

    def _cut_short(self) -> bool:
        """Note the contrasts that the limits kept from being looked at long enough, and return whether there are any."""
        claimed = {(key, claim.factor) for key, claims in self.claims.items() for claim in claims}
        left = [c for c in self.contrasts if c.state is State.OPEN and (c.signature, c.factor.name) not in claimed]
        for contrast in left:
            first, second = contrast.counts(self.ledger)
            seen = ", ".join(f"{one.arm.label} failed {one.failed} of {one.trials}" for one in (first, second))
            before = self.notes.get(contrast.signature)
            text = f"the limits ended the search before `{contrast.factor.name}` was settled: {seen}"
            self.notes[contrast.signature] = f"{before}; {text}" if before else text
        return bool(left)

    # -- screen ---------------------------------------------------------------------------------------------------

    def _screen(self) -> Trials:
        self.stage = Stage.SCREEN
        rounds = 0
        while not self._screened(rounds):
            arms = [BASELINE]
            for factor in self.factors:
                level = self._next_level(factor)
                if level is not None:
                    arms += [arm_of(level)] if self.ledger.failures or rounds < ROUNDS else [BASELINE, arm_of(level)]
            self.rng.shuffle(arms)
            for arm in arms:
                if rounds and self._screened(rounds):
                    return
                self.doing = f"screening {arm.label}"
                yield from self._trial(arm, Stage.SCREEN)
            rounds += 1

    def _screened(self, rounds: int) -> bool:
        ledger = self.ledger
        if not ledger.failures:
            return ledger.evidence >= QUIET_TRIALS and ledger.baseline_trials() >= QUIET_BASELINE
        if not ledger.passes:
            return ledger.evidence >= SOLID_FAILURES and rounds >= FAILURES_TO_FOCUS
        if self._over(SCREEN_SHARE):
            return True
        if rounds < ROUNDS:
            return False
        if self._concentrated():
            return True
        return max(ledger.failures.values()) >= FAILURES_TO_FOCUS and all(map(self._seeded_enough, self.factors))

    def _concentrated(self) -> bool:
        """Whether all failures, two at least, came under one factor alone, away from its home."""
        failing = [arm for arm in self.ledger.arms() if self.ledger.tally(arm, ANY, CHOOSING).failed]
        names = {arm.levels[0].factor if arm.levels else "" for arm in failing}
        alike = {factor.name for factor in self.factors if not factor.many_chances}
        return self.ledger.failures.total() > 1 and len(names) == 1 and names <= alike

    def _seeded_enough(self, factor: Factor) -> bool:
        """Whether a factor without a home, such as a seed, showed a failing level, or so many that pass that none is likely."""
        if factor.home is not None:
            return True
        counts = [self.ledger.tally(arm_of(level), ANY, CHOOSING) for level in self.ledger.levels(factor)]
        if any(count.failed for count in counts):
            return True
        unpinned = self.ledger.tally(BASELINE, ANY, CHOOSING)
        failed = unpinned.failed + sum(count.failed for count in counts)
        rate = (failed + 0.5) / (unpinned.trials + sum(count.trials for count in counts) + 1)
        return len(counts) >= trials_to_see(min(rate, 0.99), SEEN)

    def _next_level(self, factor: Factor) -> Level | None:
        """The listed levels first; then they and fresh ones in turn."""
        if self.ledger.spent[factor.name] > FACTOR_SHARE * self.limits.seconds:
            return None
        waiting = self._upcoming[factor.name]
        if not waiting:
            fresh = factor.fresh(self.rng)
            waiting += [*factor.levels(), *([fresh] if fresh else [])]
            self.rng.shuffle(waiting)
        return waiting.pop(0) if waiting else None

    # -- focus ----------------------------------------------------------------------------------------------------

    def _focus(self) -> Trials:
        self.stage = Stage.FOCUS
        signatures = sorted(self.ledger.failures, key=lambda key: (-self.gravity(key), -self.ledger.failures[key], key))
        for signature in signatures[:STUDIED]:
            for factor in self.factors:
                contrast = choose(factor, signature, self.ledger, [])
                if contrast:
                    self.contrasts.append(contrast)
        while not self._over(FOCUS_SHARE):
            open_ = [contrast for contrast in self.contrasts if contrast.state is State.OPEN]
            if not open_:
                return
            arms = list(dict.fromkeys(arm for contrast in open_ for arm in contrast.arms))
            self.rng.shuffle(arms)
            for arm in arms:
                if self._over(FOCUS_SHARE):
                    return
                self.doing = f"looking closer at {arm.label}"
                yield from self._trial(arm, Stage.FOCUS)
            self._judge(open_)

    def _judge(self, contrasts: list[Contrast]) -> None:
        for contrast in contrasts:
            contrast.state = contrast.judge(self.ledger)
            if contrast.state is State.DROPPED and len(contrast.tried) < PAIRS:
                again = choose(contrast.factor, contrast.signature, self.ledger, contrast.tried)
                if again and again.trigger != contrast.trigger:
                    self.contrasts[self.contrasts.index(contrast)] = again

    def _refine(self) -> Trials:
        """Replace a level by the smallest one that does the same, then look whether it does."""
        for contrast in self.contrasts:
            if contrast.state is not State.WORTH_A_CLAIM:
                continue
            rates = [count.rate for count in contrast.counts(self.ledger)]
            search = contrast.factor.refine(contrast.trigger, contrast.counter, contrast.signature, rates[0], rates[1])
            if search is None:
                contrast.refined = True
                continue
            self.doing = f"minimising {arm_of(contrast.trigger or contrast.counter).label}"
            found = yield from self._search(search)
            if found is None:
                self.notes[contrast.signature] = f"the budget ended while {contrast.factor.name} was being minimised"
                contrast.refined = True
                continue
            before = (contrast.trigger, contrast.counter)
            if contrast.trigger is not None:
                contrast.trigger = found
            else:
                contrast.counter = found
            contrast.refined = True
            for _ in range(4):
                for arm in contrast.arms:
                    yield from self._trial(arm, Stage.FOCUS)
            first, second = contrast.counts(self.ledger)
            if first.rate - second.rate < REPLAY_LOSS:
                contrast.trigger, contrast.counter = before

    def _search(self, search: Generator[Request, Observation, Level]) -> Generator[Request, Observation, Level | None]:
        try:
            request = next(search)
            while True:
                if self._over(REFINE_SHARE):
                    search.close()
                    return None
                seen = yield from self._trial(request.arm, request.stage)
                request = search.send(seen)
        except StopIteration as stop:
            level: Level = stop.value
            return level

    # -- confirm --------------------------------------------------------------------------------------------------

    def _confirm(self) -> Trials:
        self.stage = Stage.CONFIRM
        planned = self._affordable(self._worth())
        alpha = split_alpha(ALPHA, len(planned)) if planned else ALPHA
        left = dict(enumerate(size for _, size in planned))
        try:
            while any(left.values()):
                for number in self.rng.sample(sorted(left), len(left)):
                    if not left[number]:
                        continue
                    left[number] -= 1
                    contrast = planned[number][0]
                    for arm in self.rng.sample(contrast.arms, 2):
                        self.doing = f"confirming {arm.label}, {left[number] + 1} to go"
                        yield from self._trial(arm, Stage.CONFIRM)
        finally:
            # The number of trials was fixed beforehand: a claim that did not get all of them is not tested.
            for number, (contrast, size) in enumerate(planned):
                self._settle(contrast, size, alpha, finished=not left[number])
        yield from self._plain(planned)

    def _worth(self) -> list[Contrast]:
        """Contrasts to be claimed, the strongest first; those still open count if they may yet be something."""
        worth = [c for c in self.contrasts if c.state is State.WORTH_A_CLAIM]
        worth += [c for c in self.contrasts if c.state is State.OPEN and c.p_value(self.ledger) <= 0.1]

        def strength(contrast: Contrast) -> tuple[int, float, float]:
            first, second = contrast.counts(self.ledger)
            return -self.gravity(contrast.signature), second.rate - first.rate, contrast.p_value(self.ledger)

        return sorted(worth, key=strength)

    def _affordable(self, contrasts: list[Contrast]) -> list[tuple[Contrast, int]]:
        """Fix the number of trials an arm for each claim, leaving out from the end what the limits cannot pay for."""
        while contrasts:
            alpha = split_alpha(ALPHA, len(contrasts))
            sizes = [self._size(contrast, alpha) for contrast in contrasts]
            prices = [sum(map(self.ledger.price, contrast.arms)) for contrast in contrasts]
            seconds = sum(size * price for size, price in zip(sizes, prices, strict=True))
            enough_time = seconds <= self._seconds_left()
            enough_trials = 2 * sum(sizes) <= self._trials_left()
            if enough_time and enough_trials:
                return list(zip(contrasts, sizes, strict=True))
            if len(contrasts) == 1:
                return self._squeezed(contrasts[0], sizes[0], prices[0])
            dropped = contrasts[-1]
            self.notes.setdefault(dropped.signature, f"the budget does not allow to confirm {dropped.factor.name}")
            contrasts = contrasts[:-1]
        return []

    def _squeezed(self, contrast: Contrast, wanted: int, price: float) -> list[tuple[Contrast, int]]:
        size = int(min(self._seconds_left() / max(price, 1e-6), self._trials_left() / 2, wanted))
        trigger, counter = self._expected(contrast)
        if size < 1 or power_fisher(trigger, counter, size, ALPHA) < WEAK_POWER:
            self.notes[contrast.signature] = (
                f"to confirm {contrast.factor.name} takes {wanted} trials of each of two arms; "
                f"the budget leaves {max(size, 0)}"
            )
            return []
        return [(contrast, size)]

    def _expected(self, contrast: Contrast) -> tuple[float, float]:
        first, second = contrast.counts(self.ledger)
        low, _ = clopper_pearson(first.failed, first.trials, CAUTION)
        return max(min(low, 0.95), second.rate + 0.01), second.rate

    def _size(self, contrast: Contrast, alpha: float) -> int:
        trigger, counter = self._expected(contrast)
        return confirm_size(trigger, counter, alpha, power=POWER, floor=CONFIRM_FLOOR, cap=CONFIRM_CAP) or CONFIRM_CAP

    def _settle(self, contrast: Contrast, size: int, alpha: float, *, finished: bool) -> None:
        counts = [
            self.ledger.count(contrast.factor, level, contrast.signature, {Stage.CONFIRM})
            for level in (contrast.trigger, contrast.counter)
        ]
        first, second = counts
        p_value = fisher_greater(first.failed, first.trials, second.failed, second.trials)
        claim = Claim(
            factor=contrast.factor.name,
            trigger=first,
            counter=second,
            p_value=p_value,
            alpha=alpha,
            confirmed=finished and p_value <= alpha,
            planned=size,
        )
        if not finished:
            self.notes[contrast.signature] = (
                f"confirming {contrast.factor.name} was cut short: {min(first.trials, second.trials)} of {size} trials an arm"
            )
        self.claims.setdefault(contrast.signature, []).append(claim)

    def _plain(self, planned: list[tuple[Contrast, int]]) -> Trials:
        """Run the printed commands without the probe, so that the probe itself cannot be the trigger."""
        for contrast, _ in planned:
            claims = self.claims[contrast.signature]
            position = next(i for i, claim in enumerate(claims) if claim.factor == contrast.factor.name)
            claim = claims[position]
            if not claim.confirmed:
                continue
            price = sum(map(self.ledger.price, contrast.arms))
            runs = min(MOST_PLAIN, max(FEWEST_PLAIN, trials_to_see(claim.trigger.rate, 0.95)))
            runs = int(min(runs, self._seconds_left() / max(price, 1e-6), self._trials_left() / 2))
            for _ in range(runs):
                for arm in self.rng.sample(contrast.arms, 2):
                    self.doing = f"running {arm.label} without the probe"
                    yield from self._trial(arm, Stage.PLAIN)
            plain = [self._plain_count(arm) for arm in contrast.arms]
            claims[position] = replace(claim, plain_trigger=plain[0], plain_counter=plain[1])

    def _plain_count(self, arm: Arm) -> ArmCount | None:
        count = self.ledger.tally(arm, ANY, {Stage.PLAIN})
        return count if count.trials else None

    # -- limits ---------------------------------------------------------------------------------------------------

    def _trial(self, arm: Arm, stage: Stage) -> Generator[Request, Observation, Observation]:
        if self._seconds_left() <= 0 or self._trials_left() < 1:
            raise Exhausted
        seen = yield Request(arm, stage)
        self.ledger.add(arm, stage, seen)
        return seen

    def _seconds_left(self) -> float:
        return self.limits.seconds - self.clock()

    def _trials_left(self) -> float:
        return float("inf") if self.limits.trials is None else self.limits.trials - self.ledger.trials

    def _over(self, share: float) -> bool:
        if self.clock() > share * self.limits.seconds:
            return True
        return self.limits.trials is not None and self.ledger.trials > share * self.limits.trials
