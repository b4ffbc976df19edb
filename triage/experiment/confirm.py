"""Confirm: fresh trials, their number fixed beforehand, one exact test a claim; then some without the probe."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from triage.experiment.bench import Bench, Trials
from triage.experiment.contrast import STANDS_OUT, Contrast, State
from triage.model.arm import Arm
from triage.model.claim import ArmCount, Claim
from triage.model.observation import ANY
from triage.model.trial import Stage
from triage.stats.allocation import split_alpha
from triage.stats.exact import confirm_size, fisher_greater, power_fisher
from triage.stats.intervals import clopper_pearson, trials_to_see

ALPHA = 0.04
"""Chance of blaming any factor when none has an effect. Under 5%, so that a simulation can show it with its own error."""
POWER = 0.9
CONFIRM_FLOOR, CONFIRM_CAP = 20, 400
"""Fewest and most trials an arm in a claim."""
WEAK_POWER = 0.5
"""A claim that cannot have this much power within the budget is not tested."""
CAUTION = 0.5
"""Confidence of the interval whose lower end is planned with: a rate that was picked for being high is lower than it looked."""
RESERVE = 1.3
"""A machine that slows down meanwhile must not keep a claim from its trials, all of which it needs: so much more time is left."""
MOST_PLAIN, FEWEST_PLAIN = 40, 3


class Confirm:
    """The third stage; `claims` is what it leaves."""

    def __init__(self, bench: Bench, contrasts: list[Contrast], gravity: Callable[[str], int]) -> None:
        self.bench = bench
        self.contrasts = contrasts
        self.gravity = gravity
        self.claims: dict[str, list[Claim]] = {}

    def run(self) -> Trials:
        """Yield the trials of this stage."""
        planned = self._affordable(self._worth())
        alpha = split_alpha(ALPHA, len(planned)) if planned else ALPHA
        left = dict(enumerate(size for _, size in planned))
        try:
            while any(left.values()):
                for number in self.bench.rng.sample(sorted(left), len(left)):
                    if not left[number]:
                        continue
                    left[number] -= 1
                    contrast = planned[number][0]
                    for arm in self.bench.rng.sample(contrast.arms, 2):
                        self.bench.doing = f"confirming {arm.label}, {left[number] + 1} to go"
                        yield from self.bench.trial(arm, Stage.CONFIRM)
        finally:
            # The number of trials was fixed beforehand: a claim that did not get all of them is not tested.
            for number, (contrast, size) in enumerate(planned):
                self._settle(contrast, size, alpha, finished=not left[number])
        yield from self._plain(planned)

    def needed(self) -> float:
        """Return the seconds that it takes to confirm the strongest contrast that is worth a claim; 0 without one."""
        worth = [contrast for contrast in self._worth() if contrast.state is State.WORTH_A_CLAIM]
        if not worth:
            return 0.0
        size = self._size(worth[0], split_alpha(ALPHA, len(worth)))
        return size * sum(map(self.bench.ledger.price, worth[0].arms)) * RESERVE

    def _worth(self) -> list[Contrast]:
        """Contrasts to be claimed, the strongest first; those still open count if they may yet be something."""
        worth = [c for c in self.contrasts if c.state is State.WORTH_A_CLAIM]
        worth += [c for c in self.contrasts if c.state is State.OPEN and c.p_value(self.bench.ledger) <= STANDS_OUT]
        worth = [c for c in worth if c.refined or not c.factor.many_chances]
        first: dict[tuple[str, str], Contrast] = {}
        for contrast in worth:  # looked at in two kinds of trials, a factor is still claimed once
            first.setdefault((contrast.signature, contrast.factor.name), contrast)
        worth = list(first.values())

        def strength(contrast: Contrast) -> tuple[int, float, float]:
            one, other = contrast.counts(self.bench.ledger)
            return -self.gravity(contrast.signature), other.rate - one.rate, contrast.p_value(self.bench.ledger)

        return sorted(worth, key=strength)

    def _affordable(self, contrasts: list[Contrast]) -> list[tuple[Contrast, int]]:
        """Fix the number of trials an arm for each claim, leaving out from the end what the limits cannot pay for."""
        while contrasts:
            alpha = split_alpha(ALPHA, len(contrasts))
            sizes = [self._size(contrast, alpha) for contrast in contrasts]
            prices = [sum(map(self.bench.ledger.price, contrast.arms)) for contrast in contrasts]
            seconds = sum(size * price for size, price in zip(sizes, prices, strict=True))
            enough_time = seconds * RESERVE <= self.bench.seconds_left()
            enough_trials = 2 * sum(sizes) <= self.bench.trials_left()
            if enough_time and enough_trials:
                return list(zip(contrasts, sizes, strict=True))
            if len(contrasts) == 1:
                return self._squeezed(contrasts[0], sizes[0], prices[0])
            dropped = contrasts[-1]
            self.bench.note(dropped.signature, f"the limits did not allow to confirm `{dropped.factor.name}`")
            contrasts = contrasts[:-1]
        return []

    def _squeezed(self, contrast: Contrast, wanted: int, price: float) -> list[tuple[Contrast, int]]:
        size = int(min(self.bench.seconds_left() / RESERVE / max(price, 1e-6), self.bench.trials_left() / 2, wanted))
        trigger, counter = self._expected(contrast)
        if size < 1 or power_fisher(trigger, counter, size, ALPHA) < WEAK_POWER:
            self.bench.note(
                contrast.signature,
                f"to confirm `{contrast.factor.name}` takes {wanted} trials of each of two arms; "
                f"the limits leave {max(size, 0)}",
            )
            return []
        return [(contrast, size)]

    def _expected(self, contrast: Contrast) -> tuple[float, float]:
        first, second = contrast.counts(self.bench.ledger)
        low, _ = clopper_pearson(*contrast.worth(first), CAUTION)
        return max(min(low, 0.95), second.rate + 0.01), second.rate

    def _size(self, contrast: Contrast, alpha: float) -> int:
        trigger, counter = self._expected(contrast)
        return confirm_size(trigger, counter, alpha, power=POWER, floor=CONFIRM_FLOOR, cap=CONFIRM_CAP) or CONFIRM_CAP

    def _settle(self, contrast: Contrast, size: int, alpha: float, *, finished: bool) -> None:
        counts = [
            self.bench.ledger.count(contrast.factor, level, contrast.signature, {Stage.CONFIRM})
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
            done = min(first.trials, second.trials)
            self.bench.note(
                contrast.signature, f"confirming `{contrast.factor.name}` was cut short: {done} of {size} trials an arm"
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
            price = sum(map(self.bench.ledger.price, contrast.arms))
            runs = min(MOST_PLAIN, max(FEWEST_PLAIN, trials_to_see(claim.trigger.rate, 0.95)))
            runs = int(min(runs, self.bench.seconds_left() / max(price, 1e-6), self.bench.trials_left() / 2))
            for _ in range(runs):
                for arm in self.bench.rng.sample(contrast.arms, 2):
                    self.bench.doing = f"running {arm.label} without the probe"
                    yield from self.bench.trial(arm, Stage.PLAIN)
            plain = [self._plain_count(arm) for arm in contrast.arms]
            claims[position] = replace(claim, plain_trigger=plain[0], plain_counter=plain[1])

    def _plain_count(self, arm: Arm) -> ArmCount | None:
        count = self.bench.ledger.tally(arm, ANY, {Stage.PLAIN})
        return count if count.trials else None
