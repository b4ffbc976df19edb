"""Which interrupted experiment is gone on with, and what counts of it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from triage.model.arm import BASELINE, Arm, Level
from triage.model.outcome import Outcome
from triage.model.project import Collection, Interpreter, Item, Project
from triage.model.surface import Surface
from triage.model.trial import Stage, Trial
from triage.model.verdict import Environment, Finding, Report, Strength, Verdict
from triage.session import resume
from triage.session.options import RunOptions
from triage.store.history import History

TARGET = Item(id="t.py::test_a", file="t.py")
SURFACE = Surface(files={"t.py": "1"})
OPTIONS = RunOptions(node_ids=("t.py",))


def trial(number: int, stage: Stage = Stage.SCREEN, started: float = 0.0, seconds: float = 1.0) -> Trial:
    return Trial(
        arm=BASELINE, stage=stage, outcome=Outcome.PASSED, number=number, started=started, wall_seconds=seconds
    )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(
        root=str(tmp_path),
        interpreters=(Interpreter(path="/usr/bin/python3", version="3.11.7", pytest="9", origin=".venv"),),
        collection=Collection(root=str(tmp_path), inifile=None, items=(TARGET,), plugins=()),
        scope=(TARGET,),
    )


@pytest.fixture
def history(tmp_path: Path):
    with History(tmp_path / "history.db") as opened:
        yield opened


def begun(
    history: History, project: Project, *trials: Trial, surface: Surface | None = SURFACE, dead: bool = True
) -> str:
    """An experiment that a process has begun, and left by dying if it is to be `dead`."""
    identity = history.start(TARGET.id, project.root, surface=surface)
    history.add(identity, *trials)
    if dead:
        with sqlite3.connect(history.path) as connection:
            connection.execute("UPDATE experiment SET owner = ''")
        connection.close()
    return identity


def finished(history: History, identity: str, *, interrupted: bool) -> None:
    finding = Finding(verdict=Verdict.UNDETERMINED, strength=Strength.SUGGESTED, summary="x")
    history.finish(
        identity,
        Report(
            **{name: getattr(finding, name) for name in finding.__struct_fields__},
            experiment=identity,
            target=TARGET.id,
            environment=Environment(python=(), pytest=None, platform=""),
            trials=1,
            wall_seconds=1.0,
            interrupted=interrupted,
        ),
    )


def found(history, project, options=OPTIONS, surface=SURFACE):
    told = []
    kept = resume.find(history, project, TARGET, options, surface, lambda event: told.append(event.text))
    return kept, " ".join(told)


def test_an_experiment_of_a_dead_process_is_continued(history, project) -> None:
    identity = begun(history, project, trial(1), trial(2))
    kept, told = found(history, project)
    assert kept is not None
    assert (kept.experiment, len(kept.trials)) == (identity, 2)
    assert f"continues experiment {identity[:4]}" in told
    assert "2 trials kept" in told


def test_what_was_continued_is_owned_by_this_process(history, project) -> None:
    begun(history, project, trial(1))
    assert found(history, project)[0] is not None
    assert found(history, project) == (None, ""), "a living process runs it now"


def test_an_experiment_of_a_living_process_is_left_alone(history, project) -> None:
    begun(history, project, trial(1), dead=False)
    assert found(history, project) == (None, "")


@pytest.mark.parametrize("interrupted", [True, False])
def test_one_with_a_report_is_continued_only_if_it_was_interrupted(history, project, interrupted) -> None:
    finished(history, begun(history, project, trial(1)), interrupted=interrupted)
    assert (found(history, project)[0] is not None) is interrupted


def test_a_changed_file_starts_a_new_one_and_is_named(history, project) -> None:
    begun(history, project, trial(1))
    kept, told = found(history, project, surface=Surface(files={"t.py": "2"}))
    assert kept is None
    assert "starts a new experiment" in told
    assert "`t.py`" in told


def test_without_a_surface_nothing_is_continued(history, project) -> None:
    begun(history, project, trial(1), surface=None)
    kept, told = found(history, project)
    assert kept is None
    assert "is not known" in told


def test_fresh_starts_anew(history, project) -> None:
    begun(history, project, trial(1))
    assert found(history, project, RunOptions(node_ids=("t.py",), fresh=True)) == (None, "")


def test_a_budget_that_is_used_up_is_told(history, project) -> None:
    begun(history, project, trial(1, seconds=50.0))
    kept, told = found(history, project, RunOptions(node_ids=("t.py",), budget=20.0))
    assert kept is not None
    assert "--budget gives it more" in told


def test_a_confirmation_that_had_begun_confirms_nothing() -> None:
    arm = Arm((Level(factor="order", value="after a", ids=("a",)),))
    confirming = Trial(arm=arm, stage=Stage.CONFIRM, outcome=Outcome.FAILED, number=2)
    kept = resume.keep("x", [trial(1), confirming, trial(3, Stage.PLAIN)])
    assert [(one.number, one.stage) for one in kept.trials] == [(1, Stage.SCREEN), (2, Stage.FOCUS)]
    assert kept.confirming == 2
    assert "confirm nothing" in kept.evidence.statement


def test_time_in_which_nobody_was_there_is_not_spent() -> None:
    trials = [trial(1, started=100.0), trial(2, started=103.0), trial(3, started=9000.0)]
    assert resume.spent(trials) == 1 + 2 + 1 + 1
    assert resume.spent([]) == 0
