"""When a sweep goes on with the one before: only with what would come out of the same question today."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from triage.model.surface import Surface
from triage.model.sweep import Result, Selection, Shard, State, Sweep
from triage.model.verdict import Environment, Report, Strength, Verdict
from triage.store.history import History
from triage.store.owner import owner
from triage.sweep.continuing import digest, unfinished

A, B = "t.py::a", "t.py::b"
HOUR = 3600.0


@pytest.fixture
def experiment(tmp_path: Path) -> str:
    """An experiment on A in the history, with its report."""
    with History(tmp_path / "history.db") as history:
        identity = history.start(A, "/project")
        report = Report(
            verdict=Verdict.STABLE_PASS,
            strength=Strength.SUPPORTED,
            summary="No failure.",
            experiment=identity,
            target=A,
            environment=Environment(python=(), pytest=None, platform=""),
            trials=20,
            wall_seconds=1.0,
        )
        history.finish(identity, report)
    return identity


@pytest.fixture
def interrupted(experiment: str, make_sweep: Callable[..., Sweep]) -> Sweep:
    result = Result(target=A, state=State.EXAMINED, verdict=Verdict.STABLE_PASS, experiment=experiment)
    return make_sweep("1", result, selected=(A, B), complete=False, budget_seconds=60.0, surface="x")


def test_results_of_today_are_kept_with_their_reports(tmp_path: Path, interrupted: Sweep) -> None:
    now = replace(interrupted.start, sweep="2", started=interrupted.start.started + HOUR)
    ((result, report),) = unfinished(tmp_path, now, [interrupted])
    assert (result, report.target) == (interrupted.results[0], A)


@pytest.mark.parametrize(
    "changes",
    [
        {"started": 1000.0 + 25 * HOUR},
        {"started": 1000.0 - HOUR},
        {"surface": "y"},
        {"budget_seconds": 120.0},
        {"selection": Selection(shard=Shard(1, 2))},
        {"root": "/elsewhere"},
        {"selected": (B,)},
    ],
)
def test_another_question_is_asked_anew(tmp_path: Path, interrupted: Sweep, changes: dict[str, object]) -> None:
    assert unfinished(tmp_path, replace(interrupted.start, sweep="2", **changes), [interrupted]) == []


def test_what_is_complete_at_work_or_not_the_latest_is_left_alone(tmp_path: Path, interrupted: Sweep) -> None:
    now = replace(interrupted.start, sweep="2")
    complete = replace(interrupted, complete=True)
    running = replace(interrupted, ended=None, start=replace(interrupted.start, owner=owner()))
    killed = replace(interrupted, ended=None, start=replace(interrupted.start, owner="1:1:1:another boot"))
    assert unfinished(tmp_path, now, []) == []
    assert unfinished(tmp_path, now, [complete]) == []
    assert unfinished(tmp_path, now, [complete, interrupted]) == []
    assert unfinished(tmp_path, now, [running]) == []
    assert len(unfinished(tmp_path, now, [killed])) == 1


def test_an_experiment_that_was_interrupted_or_is_not_in_the_history_is_made_again(
    tmp_path: Path, interrupted: Sweep
) -> None:
    (result,) = interrupted.results
    for other in (
        replace(result, interrupted=True),
        replace(result, experiment=None),
        replace(result, experiment="0000"),
    ):
        assert unfinished(tmp_path, interrupted.start, [replace(interrupted, results=(other,))]) == []


def test_equal_surfaces_have_one_digest() -> None:
    def surface(version: str) -> Surface:
        return Surface(packages={"a": version, "b": "2"}, files={"t\udc80.py": "x"})

    assert digest(surface("1")) == digest(surface("1"))
    assert digest(surface("1")) != digest(surface("2"))
