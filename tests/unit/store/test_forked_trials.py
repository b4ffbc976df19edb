"""Forked trials in the history: they come by the hundred, and stay apart from those of fresh processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from triage.model.arm import BASELINE, Arm, Depth, Level
from triage.model.outcome import Outcome
from triage.model.trial import Trial
from triage.store.history import History

Make = Callable[..., Trial]
SEED = Arm((Level(factor="rng_seed", value="7"),))


def query(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(sql).fetchall()


def test_depth_and_cluster_come_back(history: History, make_trial: Make) -> None:
    experiment = history.start("t.py::test_b", "/project")
    trials = (
        make_trial(number=1, arm=BASELINE),
        make_trial(number=2, arm=BASELINE.forked, cluster=1),
        make_trial(number=3, arm=SEED),
        make_trial(number=4, arm=SEED.forked, cluster=12),
        make_trial(number=5, arm=BASELINE),
    )
    for trial in trials:
        history.add(experiment, trial)
    _, loaded = history.load(experiment)
    assert loaded == trials
    assert [trial.arm.depth for trial in loaded] == [Depth.COLD, Depth.FORKED] * 2 + [Depth.COLD]
    assert [trial.cluster for trial in loaded] == [None, 1, None, 12, None]


def test_the_label_tells_forked_trials_from_others(history: History, path: Path, make_trial: Make) -> None:
    experiment = history.start("t.py::test_b", "/project")
    history.add(experiment, make_trial(arm=BASELINE.forked), make_trial(arm=SEED.forked), make_trial(arm=SEED))
    assert query(path, "SELECT label FROM trial ORDER BY key") == [
        ("baseline (forked)",),
        ("rng_seed=7 (forked)",),
        ("rng_seed=7",),
    ]


def test_several_trials_are_added_at_once_in_their_order(history: History, make_trial: Make) -> None:
    experiment = history.start("t.py::test_b", "/project")
    trials = [make_trial(number=number, arm=BASELINE.forked, cluster=number % 3) for number in range(1, 301)]
    history.add(experiment, *trials[:100])
    history.add(experiment, trials[100])
    history.add(experiment, *trials[101:])
    assert history.load(experiment)[1] == tuple(trials)
    (entry,) = history.list()
    assert (entry.trials, entry.failed) == (300, 300)


def test_each_of_several_has_its_own_signature(history: History, path: Path, make_trial: Make) -> None:
    experiment = history.start("t.py::test_b", "/project")
    passed = make_trial(number=2, outcome=Outcome.PASSED, failure=None)
    history.add(experiment, make_trial(number=1), passed, make_trial(number=3))
    (first,), (second,), (third,) = query(path, "SELECT signature FROM trial ORDER BY number")
    assert first == third is not None
    assert second is None


def test_several_are_written_all_or_none(history: History, make_trial: Make) -> None:
    experiment = history.start("t.py::test_b", "/project")
    history.add(experiment, make_trial(number=1))
    with pytest.raises(AttributeError):
        history.add(experiment, make_trial(number=2), None)  # type: ignore[arg-type]
    history.add(experiment, make_trial(number=3))
    assert [trial.number for trial in history.load(experiment)[1]] == [1, 3]


def test_adding_none_is_nothing(history: History) -> None:
    experiment = history.start("t.py::test_b", "/project")
    history.add(experiment)
    assert history.load(experiment)[1] == ()
