"""How an experiment writes its history: forked trials wait a little, and nothing is lost or out of order."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from triage.model.arm import BASELINE
from triage.model.events import Event, Noted
from triage.model.outcome import Outcome
from triage.model.project import Collection, Item, Project
from triage.model.trial import Stage, Trial
from triage.session import record as module
from triage.session.record import WRITE_EVERY, Record
from triage.store.errors import HistoryError

PROJECT = Project(
    root="/project", interpreters=(), collection=Collection(root="/project", inifile=None, items=(), plugins=())
)
TARGET = Item(id="t.py::test_it", file="t.py")


class FakeHistory:
    """Keeps what it is given, call by call; `full` lets every write fail."""

    def __init__(self) -> None:
        self.added: list[list[int]] = []
        self.finished: list[object] = []
        self.full = False

    def start(self, target: str, root: str, **_: Any) -> str:
        return "id"

    def add(self, experiment: str, *trials: Trial) -> None:
        if self.full:
            raise HistoryError("no space left", "free some")
        assert experiment == "id"
        self.added.append([trial.number for trial in trials])

    def finish(self, experiment: str, report: object) -> None:
        self.finished.append((report, [number for batch in self.added for number in batch]))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    now = SimpleNamespace(seconds=1000.0)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now.seconds))
    return now


@pytest.fixture
def events() -> list[Event]:
    return []


@pytest.fixture
def history() -> FakeHistory:
    return FakeHistory()


@pytest.fixture
def record(history: FakeHistory, events: list[Event], clock: SimpleNamespace) -> Record:
    made = Record(history, events.append)  # type: ignore[arg-type]
    assert made.start(TARGET, PROJECT) == "id"
    made.add(trial(0))
    history.added.clear()
    return made


def trial(number: int, *, forked: bool = False) -> Trial:
    return Trial(arm=BASELINE.forked if forked else BASELINE, stage=Stage.SCREEN, outcome=Outcome.PASSED, number=number)


def test_a_cold_trial_is_written_at_once(record: Record, history: FakeHistory) -> None:
    record.add(trial(1))
    record.add(trial(2))
    assert history.added == [[1], [2]]


def test_forked_trials_wait_and_are_written_together(
    record: Record, history: FakeHistory, clock: SimpleNamespace
) -> None:
    for number in range(1, 5):
        record.add(trial(number, forked=True))
        clock.seconds += WRITE_EVERY / 4
    assert history.added == []
    clock.seconds += 0.01
    record.add(trial(5, forked=True))
    assert history.added == [[1, 2, 3, 4, 5]]
    record.add(trial(6, forked=True))
    assert history.added == [[1, 2, 3, 4, 5]], "the waiting begins anew"


def test_a_cold_trial_takes_those_with_it_that_wait_before_it(record: Record, history: FakeHistory) -> None:
    for number in (1, 2):
        record.add(trial(number, forked=True))
    record.add(trial(3))
    assert history.added == [[1, 2, 3]]


def test_nothing_waits_when_the_report_is_written(record: Record, history: FakeHistory) -> None:
    for number in (1, 2, 3):
        record.add(trial(number, forked=True))
    report: Any = object()
    record.finish(report)
    assert history.finished == [(report, [1, 2, 3])]
    record.finish(report)
    assert history.added == [[1, 2, 3]], "each is written once"


def test_nothing_is_written_where_nothing_waits(record: Record, history: FakeHistory) -> None:
    record.flush()
    assert history.added == []


def test_a_history_that_cannot_be_written_is_said_once_and_left_alone(
    record: Record, history: FakeHistory, events: list[Event]
) -> None:
    history.full = True
    record.add(trial(1, forked=True))
    assert events == [], "nothing has been written yet"
    record.add(trial(2))
    record.add(trial(3))
    report: Any = object()
    record.finish(report)
    assert events == [Noted("this experiment is not recorded any further: no space left (free some)")]
    assert record.lost
    assert history.finished == [], "a report without its trials would be no record"


def test_an_experiment_without_a_history_has_a_name_all_the_same(
    history: FakeHistory, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> str:
        raise HistoryError("cannot open")

    monkeypatch.setattr(history, "start", broken)
    made = Record(history, events.append)  # type: ignore[arg-type]
    name = made.start(TARGET, PROJECT)
    assert name.startswith("unrecorded-")
    assert made.lost
    assert len(events) == 1


def test_it_writes_what_a_history_reads(tmp_path: Any, events: list[Event]) -> None:
    from triage.store.history import History

    with History(tmp_path / "history.db") as history:
        made = Record(history, events.append)
        made.start(TARGET, PROJECT)
        for number in range(1, 40):
            made.add(trial(number, forked=number % 10 != 0))
        made.flush()
        _, trials = history.load("latest")
    assert [one.number for one in trials] == list(range(1, 40))
    assert events == []
