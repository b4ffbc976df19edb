"""Trials and reports to keep, and an empty history."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from triage.model.arm import Arm, Level
from triage.model.outcome import Outcome
from triage.model.trial import Failure, Frame, Stage, Trial
from triage.model.verdict import Environment, Finding, Report, Strength, Trigger, Verdict
from triage.store.history import History

ROOT = "/project"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / ".triage" / "history.db"


@pytest.fixture
def history(path: Path) -> Iterator[History]:
    with History(path) as opened:
        yield opened


@pytest.fixture
def make_trial() -> Callable[..., Trial]:
    def make(**changes: Any) -> Trial:
        values: dict[str, Any] = {
            "arm": Arm((Level(factor="order", value="after test_a", ids=("t.py::test_a",)),)),
            "stage": Stage.SCREEN,
            "outcome": Outcome.FAILED,
            "number": 1,
            "failure": Failure(
                phase="call",
                exception="ValueError",
                message="bad",
                frames=(Frame(f"{ROOT}/shop/cart.py", 12, "total"),),
                text="Traceback ...",
            ),
            "sequence": ("t.py::test_a", "t.py::test_b"),
            "stdout": "out",
            "stderr": "err",
            "python": "3.11.7",
            "started": 100.0,
            "wall_seconds": 0.5,
        }
        return Trial(**{**values, **changes})

    return make


@pytest.fixture
def make_report() -> Callable[..., Report]:
    def make(experiment: str, **changes: Any) -> Report:
        values: dict[str, Any] = {
            "verdict": Verdict.REAL_BUG,
            "cause": "crash",
            "strength": Strength.ESTABLISHED,
            "summary": "It dies.",
            "trigger": Trigger(factor="allocator", level="debug"),
        }
        values |= changes
        finding = Finding(**values)
        return Report(
            **values,
            findings=(finding, finding),
            experiment=experiment,
            target="t.py::test_b",
            environment=Environment(python=("3.11.7",), pytest="9.2.0", platform="Linux"),
            trials=2,
            wall_seconds=1.5,
        )

    return make
