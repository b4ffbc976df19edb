"""What goes into the history comes out of it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from triage.errors import UsageError
from triage.model.arm import BASELINE
from triage.model.entry import State
from triage.model.outcome import Outcome
from triage.model.project import Interpreter
from triage.model.trial import Stage, Trial
from triage.model.verdict import Report, Strength, Verdict
from triage.store.history import History
from triage.store.ids import LENGTH, SHORTEST

Make = Callable[..., Trial]
MakeReport = Callable[..., Report]


def query(path: Path, sql: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


def test_report_and_trials_come_back_equal_in_order(
    history: History, make_trial: Make, make_report: MakeReport
) -> None:
    experiment = history.start("t.py::test_b", "/project")
    trials = (
        make_trial(),
        make_trial(number=2, arm=BASELINE, outcome=Outcome.PASSED, failure=None, sequence=(), stdout="", stderr=""),
        make_trial(number=3, outcome=Outcome.CRASHED, signal="SIGSEGV", failure=None, test_seconds=0.1, index=4),
    )
    for trial in trials:
        history.add(experiment, trial)
    report = make_report(experiment)
    history.finish(experiment, report)
    assert history.load(experiment) == (report, trials)


def test_another_process_reads_what_this_one_wrote_without_closing(
    history: History, path: Path, make_trial: Make
) -> None:
    experiment = history.start("t.py::test_b", "/project")
    history.add(experiment, make_trial())
    with History(path) as other:
        assert other.load("latest")[1] == (make_trial(),)


def test_columns_for_queries(history: History, path: Path, make_trial: Make, make_report: MakeReport) -> None:
    experiment = history.start("t.py::test_b", "/project")
    history.add(experiment, make_trial(outcome=Outcome.CRASHED, signal="SIGSEGV", number=7))
    history.finish(experiment, make_report(experiment))
    row = "SELECT number, label, stage, outcome, signal, wall_seconds, length(signature) FROM trial"
    assert query(path, row) == [(7, "order=after test_a", "screen", "crashed", "SIGSEGV", 0.5, 12)]
    assert query(path, "SELECT position, verdict, cause, factor, level FROM finding ORDER BY position") == [
        (0, "real_bug", "crash", "allocator", "debug"),
        (1, "real_bug", "crash", "allocator", "debug"),
    ]


def test_second_report_replaces_the_first(
    history: History, path: Path, make_trial: Make, make_report: MakeReport
) -> None:
    experiment = history.start("t.py::test_b", "/project")
    history.finish(experiment, make_report(experiment))
    final = make_report(experiment, verdict=Verdict.WRONG_TEST, cause="clock")
    history.finish(experiment, final)
    assert history.load(experiment)[0] == final
    assert query(path, "SELECT verdict FROM finding") == [("wrong_test",), ("wrong_test",)]


def test_equal_texts_are_stored_once(history: History, path: Path, make_trial: Make) -> None:
    experiment = history.start("t.py::test_b", "/project")
    for number in range(1, 51):
        history.add(experiment, make_trial(number=number, stdout="x" * 10_000, stderr="x" * 10_000))
    # arm, sequence, traceback, and one for both streams
    assert query(path, "SELECT count(*) FROM text") == [(4,)]
    assert history.load("latest")[1][49].stdout == "x" * 10_000


def test_more_different_texts_than_fit_into_one_query(history: History, make_trial: Make) -> None:
    experiment = history.start("t.py::test_b", "/project")
    for number in range(1, 521):
        history.add(experiment, make_trial(number=number, stdout=f"line {number}"))
    assert [trial.stdout for trial in history.load(experiment)[1]] == [f"line {number}" for number in range(1, 521)]


@pytest.mark.parametrize("text", ["\x00", "\x1b[31mred", "'; DROP TABLE trial; --", "ünïcode \U0001f600", "\r\n"])
def test_any_text_comes_back(history: History, make_trial: Make, text: str) -> None:
    experiment = history.start(f"t.py::test[{text}]", "/project")
    trial = make_trial(stdout=text, stderr=text, reason=text, sequence=(text,))
    history.add(experiment, trial)
    report, trials = history.load(experiment)
    assert trials == (trial,)
    assert report.target == f"t.py::test[{text}]"


def test_text_that_utf8_cannot_carry_is_kept_as_escapes(history: History, make_trial: Make) -> None:
    experiment = history.start("t.py::test[\udc80]", "/project")
    history.add(experiment, make_trial(stdout="a\udc80", reason="b\ud800"))
    report, (trial,) = history.load(experiment)
    assert (report.target, trial.stdout, trial.reason) == ("t.py::test[\\udc80]", "a\\udc80", "b\\ud800")


def test_unfinished_experiment_of_this_process_is_running(history: History) -> None:
    experiment = history.start("t.py::test_b", "/project")
    report, _ = history.load(experiment)
    assert "still running" in report.summary
    assert history.list()[0].state is State.RUNNING


def test_unfinished_report_counts_and_concludes_nothing(history: History, make_trial: Make) -> None:
    python = Interpreter(path="/p", version="3.11.7", pytest="9.2.0", origin=".venv")
    experiment = history.start("t.py::test_b", "/project", interpreters=(python,))
    for trial in (
        make_trial(stage=Stage.CONTROL),
        make_trial(arm=BASELINE, outcome=Outcome.PASSED, failure=None),
        make_trial(arm=BASELINE, outcome=Outcome.BROKEN, failure=None),
        make_trial(arm=BASELINE),
        make_trial(started=200.0),
    ):
        history.add(experiment, trial)
    report, trials = history.load(experiment)
    assert len(trials) == 5
    assert (report.verdict, report.strength, report.complete) == (Verdict.UNDETERMINED, Strength.SUGGESTED, False)
    assert (report.cause, report.trigger, report.reproduction) == (None, None, None)
    assert [(rate.arm, rate.failed, rate.trials) for rate in report.rates] == [
        ("baseline", 1, 2),
        ("order=after test_a", 1, 1),
    ]
    assert report.trials == 4
    assert report.findings[0].rates == report.rates
    assert (report.environment.python, report.environment.pytest) == (("3.11.7",), "9.2.0")


def test_list_shows_the_latest_first(history: History, make_trial: Make, make_report: MakeReport) -> None:
    first = history.start("t.py::test_a", "/project")
    second = history.start("t.py::test_b", "/project")
    history.add(second, make_trial())
    history.add(second, make_trial(outcome=Outcome.PASSED, failure=None))
    history.add(second, make_trial(outcome=Outcome.SKIPPED, failure=None))
    history.add(second, make_trial(stage=Stage.CONTROL))
    history.finish(second, make_report(second))
    entries = history.list()
    assert [entry.experiment for entry in entries] == [second, first]
    entry = entries[0]
    assert (entry.state, entry.verdict, entry.cause) == (State.FINISHED, Verdict.REAL_BUG, "crash")
    assert (entry.trials, entry.counted, entry.failed) == (3, 2, 1)
    assert [entry.experiment for entry in history.list(limit=1)] == [second]
    assert all(
        history.resolve(entry.short) == entry.experiment == history.resolve(entry.experiment) for entry in entries
    )
    assert [history.short(entry.experiment) for entry in entries] == [entry.short for entry in entries]


@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        ("tests/t_1.py::test_a", 3),  # itself, and two of its parameters
        ("tests/t_1.py::test_a[1]", 1),
        ("tests/t_1.py", 4),
        ("tests/t_1", 0),  # the underscore is no wildcard, and a name is not its beginning
        ("tests/", 5),
        ("other", 0),
    ],
)
def test_list_of_what_a_target_stands_for(history: History, wanted: str, count: int) -> None:
    for target in (
        "tests/t_1.py::test_a",
        "tests/t_1.py::test_a[1]",
        "tests/t_1.py::test_a[2]",
        "tests/t_1.py::test_ab",
        "tests/tx1.py::test_a",
    ):
        history.start(target, "/project")
    assert len(history.list(wanted)) == count


def test_ids_ascend_even_within_a_millisecond(history: History) -> None:
    ids = [history.start("t.py::test_b", "/project") for _ in range(20)]
    assert ids == sorted(ids)
    assert {len(identity) for identity in ids} == {LENGTH}


def test_ids_ascend_when_the_clock_goes_back(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    first = history.start("t.py::test_b", "/project")
    monkeypatch.setattr("triage.store.history.time.time", lambda: 0.0)
    assert history.start("t.py::test_b", "/project") > first


def test_unknown_id_offers_the_closest(history: History) -> None:
    experiment = history.start("t.py::test_b", "/project")
    # No digit is `u`, so a wrong last letter is never right.
    with pytest.raises(UsageError, match="no experiment `") as caught:
        history.load(experiment[:-1] + "u")
    assert caught.value.hint == f"there is `{history.short(experiment)}` (t.py::test_b)"
    with pytest.raises(UsageError, match="no experiment `zzz`") as caught:
        history.load("zzz")
    assert "t.py::test_b" in (caught.value.hint or "")


def test_ambiguous_prefix_lists_the_candidates(history: History, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triage.store.history.time.time", lambda: 1.8e9)
    ids = [history.start(f"t.py::test_{number}", "/project") for number in range(7)]
    with pytest.raises(UsageError, match="is the beginning of 7 experiments") as caught:
        history.load(ids[0][: SHORTEST - 1])
    hint = caught.value.hint or ""
    assert "test_6" in hint
    assert "test_1)" not in hint
    assert hint.endswith("and 2 more; see `triage history`")


@pytest.mark.parametrize("name", ["", " "])
def test_empty_name_is_no_experiment(history: History, name: str) -> None:
    history.start("t.py::test_b", "/project")
    with pytest.raises(UsageError, match="no experiment"):
        history.load(name)


def test_reading_makes_no_file(history: History, path: Path) -> None:
    assert history.list() == ()
    with pytest.raises(UsageError, match="no experiment in"):
        history.load("latest")
    assert not path.parent.exists()


@pytest.mark.parametrize("action", ["add", "finish"])
def test_nothing_is_written_for_an_experiment_that_is_not_there(
    history: History, path: Path, make_trial: Make, make_report: MakeReport, action: str
) -> None:
    history.start("t.py::test_b", "/project")
    with pytest.raises(UsageError, match="no experiment `nope`"):
        history.add("nope", make_trial()) if action == "add" else history.finish("nope", make_report("nope"))
    assert query(path, "SELECT count(*) FROM trial") == [(0,)]
