"""What the stages of an experiment share: the ledger, the limits, the notes, and the running of one trial."""

from __future__ import annotations

from collections.abc import Callable, Generator
from random import Random

from msgspec import Struct

from triage.experiment.ledger import Ledger
from triage.factors.base import Factor
from triage.model.arm import Arm
from triage.model.observation import Observation, Request
from triage.model.trial import Stage

Trials = Generator[Request, Observation, None]


class Limits(Struct, frozen=True):
    """What one target may cost in all."""

    seconds: float
    trials: int | None = None


class Exhausted(Exception):  # noqa: N818 - it ends a stage, it is no error
    """The limits leave no room for another trial."""


class Bench:
    """The state of one experiment; `doing` says in words what the next trial is for."""

    def __init__(
        self, factors: list[Factor], limits: Limits, rng: Random, clock: Callable[[], float], *, forking: bool
    ) -> None:
        self.factors = factors
        self.forking = forking
        """Whether trials can be forked at all."""
        self.generation = 0
        self._refused: set[Arm] = set()
        self.limits = limits
        self.rng = rng
        self.clock = clock
        self.began = clock()
        self.seconds = max(0.0, limits.seconds - self.began)
        """What the trials may take in all."""
        self.ledger = Ledger()
        self.notes: dict[str, str] = {}
        self.doing = "starting"

    def trial(self, arm: Arm, stage: Stage) -> Generator[Request, Observation, Observation]:
        """Ask for one trial and write it down; raises `Exhausted` if there is no room for it."""
        if self.seconds_left() <= 0 or self.trials_left() < 1:
            raise Exhausted
        seen = yield Request(arm, stage, self.generation)
        if seen.refused:
            self._refused.add(arm)
            if not arm.levels:
                self.forking = False
        self.ledger.add(arm, stage, seen)
        return seen

    def can_fork(self, arm: Arm) -> bool:
        """Whether forked trials of this arm may be asked for."""
        return self.forking and arm not in self._refused

    def renew(self) -> None:
        """Let later forked trials be forks of other processes than those before."""
        self.generation += 1

    def seconds_left(self) -> float:
        """Seconds before the limit."""
        return self.limits.seconds - self.clock()

    def trials_left(self) -> float:
        """Trials before the limit, infinite without one."""
        return float("inf") if self.limits.trials is None else self.limits.trials - self.ledger.trials

    def over(self, share: float) -> bool:
        """Whether more than this share of one of the limits is used up; what was spent before the first trial is not in it."""
        if self.clock() - self.began > share * self.seconds:
            return True
        return self.limits.trials is not None and self.ledger.trials > share * self.limits.trials

    def note(self, signature: str, text: str) -> None:
        """Add a sentence to what is said about a signature."""
        before = self.notes.get(signature)
        self.notes[signature] = f"{before}; {text}" if before else text
