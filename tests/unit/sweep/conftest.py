"""Sweeps to compare."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from triage.model.sweep import Result, Selection, Start, State, Sweep
from triage.model.verdict import Environment, Rate, Strength, Verdict
from triage.stats.intervals import clopper_pearson

HERE = Environment(python=("3.11.7",), pytest="9.2.0", platform="Linux")


@pytest.fixture
def make_result() -> Callable[..., Result]:
    def make(
        target: str, verdict: Verdict = Verdict.UNDETERMINED, counts: tuple[int, int] = (0, 20), **changes: Any
    ) -> Result:
        low, high = clopper_pearson(*counts)
        values: dict[str, Any] = {
            "state": State.EXAMINED,
            "verdict": verdict,
            "strength": Strength.SUPPORTED,
            "rate": Rate(arm="baseline", failed=counts[0], trials=counts[1], low=low, high=high),
            "experiment": "2vq8z41k7m3c",
        }
        return Result(target=target, **{**values, **changes})

    return make


@pytest.fixture
def make_sweep() -> Callable[..., Sweep]:
    def make(
        name: str,
        *results: Result,
        started: float = 1000.0,
        complete: bool = True,
        selected: tuple[str, ...] | None = None,
        selection: Selection | None = None,
        **changes: Any,
    ) -> Sweep:
        start = Start(
            sweep=name,
            started=started,
            root="/project",
            selection=selection or Selection(),
            command="triage sweep",
            environment=HERE,
            selected=tuple(result.target for result in results) if selected is None else selected,
            **changes,
        )
        return Sweep(start=start, results=results, ended=started + 60, complete=complete)

    return make
