"""A table on which single stages of the planner are played: a bench with a clock, and answers to its requests."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from simulation import HashSeed, Order, Python, RngSeed, SimulatedRepeat

from triage.experiment.bench import Bench, Exhausted, Limits, Trials
from triage.factors.base import Factor
from triage.model.arm import Arm, Depth
from triage.model.observation import Observation, Request

Answer = Callable[[Request], Observation]
START, FORKED, COLD = 0.3, 0.01, 0.35


class Table:
    """`fails` says whether a trial fails; each process is named by its generation and interpreter."""

    def __init__(
        self, *, seconds: float = 1000.0, trials: int | None = None, factors: list[Factor] | None = None
    ) -> None:
        self.now = 0.0
        nothing: object = None
        every = [kind(nothing) for kind in (Order, HashSeed, RngSeed, Python)]  # type: ignore[arg-type]
        self.bench = Bench(
            [*every, SimulatedRepeat()] if factors is None else factors,
            Limits(seconds, trials),
            Random(1),
            lambda: self.now,
            forking=True,
        )
        self.requests: list[Request] = []
        self.forked = FORKED
        self.refused: Callable[[Arm], bool] = lambda _: False
        self._processes: dict[tuple[int, str], int] = {}

    def process(self, request: Request) -> int:
        """Return which process a forked trial is forked from."""
        level = request.arm.level("python")
        return self._processes.setdefault((request.generation, level.value if level else ""), len(self._processes))

    def answer(self, request: Request, fails: Callable[[Request], bool]) -> Observation:
        """Say what came of a trial, and let its time pass."""
        self.requests.append(request)
        if request.arm.depth is Depth.COLD:
            self.now += COLD
            return Observation(signature="s" if fails(request) else None, index=1, seconds=COLD)
        if self.refused(request.arm):
            self.now += START
            return Observation(evidence=False, refused=True, seconds=START)
        known = len(self._processes)
        cluster = self.process(request)
        start = START if len(self._processes) > known else 0.0
        self.now += start + self.forked
        return Observation(
            signature="s" if fails(request) else None,
            index=1,
            seconds=start + self.forked,
            start_seconds=start,
            cluster=cluster,
        )

    def play(self, stage: Trials, fails: Callable[[Request], bool] = lambda _: False) -> list[Request]:
        """Run a stage to its end and return what it asked for."""
        first = len(self.requests)
        seen: Observation | None = None
        try:
            while True:
                request = next(stage) if seen is None else stage.send(seen)
                seen = self.answer(request, fails)
        except (StopIteration, Exhausted):
            return self.requests[first:]


@pytest.fixture
def make_table() -> type[Table]:
    return Table


@pytest.fixture
def table() -> Table:
    return Table()
