"""Simulated experiments: the planner of `triage run`, driven by trials that a formula decides."""

from __future__ import annotations

import math
from collections.abc import Callable
from random import Random
from typing import ClassVar

from triage.experiment.bench import Limits
from triage.experiment.planner import Planner
from triage.factors.base import Factor, Forks, Search, arm_of
from triage.factors.repeat import Repeat
from triage.model.arm import Arm, Depth, Level
from triage.model.observation import ANY, Observation, Request
from triage.model.trial import Stage

SECONDS, FORKED_SECONDS = 0.35, 0.012
"""Price of a simulated cold trial, or of a process that is then forked, and of a forked trial."""
BUDGET = 120.0
KEY = "simulated"

Rate = Callable[[Arm, float, int, float], float]
"""Failure probability of an execution: arm, seconds since the start, index in the process, and a number in [0, 1) drawn
once for each process, which stands for all that a process draws at its start."""


class Seeds(Factor):
    """A factor with unlimited replayable levels and no home, such as a seed."""

    def fresh(self, rng: Random) -> Level:
        return self.level(rng.randrange(1, 10_000))


class HashSeed(Seeds):
    name: ClassVar[str] = "hash_seed"


class RngSeed(Seeds):
    name: ClassVar[str] = "rng_seed"
    forks: ClassVar[Forks] = Forks.CHILD


class Order(Factor):
    name: ClassVar[str] = "order"
    forks: ClassVar[Forks] = Forks.CHILD

    @property
    def home(self) -> Level:
        return self.level("isolated")

    def levels(self) -> tuple[Level, ...]:
        return tuple(self.level(value, ("a", "b")) for value in ("scope", "reversed", "file"))

    def fresh(self, rng: Random) -> Level:
        return self.level(f"shuffled:{rng.randrange(1, 10_000)}", ("b", "a"))

    def refine(
        self, trigger: Level | None, counter: Level | None, signature: str, rate: float, background: float
    ) -> Search | None:
        return self._smaller(trigger, signature) if trigger is not None and counter is None else None

    def _smaller(self, trigger: Level, signature: str) -> Search:
        for _ in range(2):
            seen = yield Request(arm_of(self.level("after a", ("a",))), Stage.FOCUS)
            if seen.signature == signature:
                return self.level("after a", ("a",))
        return trigger


class Python(Factor):
    name: ClassVar[str] = "python"
    every_round: ClassVar[bool] = True

    @property
    def home(self) -> Level:
        return self.level("3.11")

    def levels(self) -> tuple[Level, ...]:
        return self.level("3.12"), self.level("3.13")


class SimulatedRepeat(Repeat):
    def __init__(self) -> None:
        """Needs no target."""

    def levels(self) -> tuple[Level, ...]:
        return (self.level(20),)


def simulate(
    rate: Rate,
    seed: int,
    budget: float = BUDGET,
    trials: int | None = None,
    watch: Callable[[Request], None] = lambda _: None,
    *,
    forking: bool = False,
    cold: float = SECONDS,
    forked: float = FORKED_SECONDS,
    results: Callable[[Observation], None] = lambda _: None,
    refused: Callable[[Arm], bool] = lambda _: False,
) -> Planner:
    """Run one experiment and return its planner.

    `watch` sees every request, `results` every observation; `cold` and `forked` are the prices of a trial in seconds.
    `refused` says of which arms no trial can be forked.
    """
    rng = Random(seed)
    now = 0.0
    nothing: object = None
    factors: list[Factor] = [Order(nothing), SimulatedRepeat(), HashSeed(nothing), RngSeed(nothing), Python(nothing)]  # type: ignore[arg-type]
    planner = Planner(factors, Limits(budget, trials), Random(seed + 1), lambda: now, forking=forking)
    servers: dict[tuple[int, str], tuple[int, float]] = {}
    plan = planner.run()
    observation: Observation | None = None
    while True:
        try:
            request = next(plan) if observation is None else plan.send(observation)
        except StopIteration:
            return planner
        seconds, start, cluster, process = cold, 0.0, None, rng.random()
        if request.arm.depth is Depth.FORKED and refused(request.arm):
            now += cold
            watch(request)
            observation = Observation(evidence=False, refused=True, seconds=cold)
            continue
        if request.arm.depth is Depth.FORKED:
            level = request.arm.level("python")
            server = (request.generation, level.value if level else "")
            start = 0.0 if server in servers else cold
            cluster, process = servers.setdefault(server, (len(servers), process))
            seconds = start + forked
        now += seconds
        watch(request)
        repeat = request.arm.level("repeat")
        failed_at = None
        for index in range(1, (int(repeat.value) if repeat else 1) + 1):
            if rng.random() < rate(request.arm, now, index, process):
                failed_at = index
                break
        key = ANY if request.stage is Stage.PLAIN else KEY
        observation = Observation(
            signature=key if failed_at else None,
            index=failed_at,
            seconds=seconds,
            start_seconds=start,
            cluster=cluster,
        )
        results(observation)


def constant(p: float) -> Rate:
    return lambda arm, now, index, process: p


def ramp(low: float, high: float) -> Rate:
    return lambda arm, now, index, process: low + (high - low) * min(now / BUDGET, 1.0)


def step(low: float, high: float, at: float) -> Rate:
    return lambda arm, now, index, process: low if now < at * BUDGET else high


def wave(low: float, high: float, period: float) -> Rate:
    return lambda arm, now, index, process: low + (high - low) * (0.5 + 0.5 * math.sin(2 * math.pi * now / period))


def decided_at_start(share: float) -> Rate:
    """Every process decides at its start, by nothing that is a factor, whether the target fails in it."""
    return lambda arm, now, index, process: 1.0 if process < share else 0.0


def seeded(share: float, hit: float, miss: float, name: str) -> Rate:
    """Make a factor's seed decide: a `share` of all seeds fails with `hit`, the others, and nothing else pinned, accordingly."""

    def rate(arm: Arm, now: float, index: int, process: float) -> float:
        level = arm.level(name)
        if level is None:
            return hit if process < share else miss
        return hit if Random(f"{name}{level.value}").random() < share else miss

    return rate


def at(name: str, values: set[str] | None, hit: float, miss: float) -> Rate:
    """Make the target fail with `hit` at some levels of a factor (None: all that are not home), else with `miss`."""

    def rate(arm: Arm, now: float, index: int, process: float) -> float:
        level = arm.level(name)
        return hit if level is not None and (values is None or level.value in values) else miss

    return rate


def second(hit: float, miss: float) -> Rate:
    return lambda arm, now, index, process: hit if index > 1 else miss


EFFECTS: dict[str, tuple[Rate, str]] = {
    "hash_seed": (seeded(0.5, 1.0, 0.0, "hash_seed"), "hash_seed"),
    "rng_seed": (seeded(0.3, 1.0, 0.0, "rng_seed"), "rng_seed"),
    "order": (at("order", None, 1.0, 0.0), "order"),
    "repeat": (second(1.0, 0.0), "repeat"),
    "python": (at("python", {"3.13"}, 1.0, 0.0), "python"),
    "python at 30%": (at("python", {"3.13"}, 0.3, 0.0), "python"),
}
"""Effects that two minutes are enough for, each with its factor."""


def blamed(planner: Planner) -> set[str]:
    """Return the factors that the experiment blames."""
    return {claim.factor for claims in planner.claims.values() for claim in claims if claim.confirmed}
