"""Every way to end, one test each: the target was never reached, was not alone, or ran without the probe."""

import signal

import pytest
from judging import (
    BEGIN,
    COLLECTED,
    CONFIGURED,
    CRASH,
    HELLO,
    LIMIT,
    OTHER,
    SEGV,
    TARGET,
    Event,
    run,
    say,
    session,
    start,
)

from triage.model.outcome import Outcome
from triage.model.trial import Frame
from triage.runner.outcome import judge
from triage.runner.process import ProcessEnd

# Before the target


def test_never_collected():
    said = say([*BEGIN, *run(test=OTHER), *session()])
    assert said.outcome is Outcome.NOT_COLLECTED
    assert said.reason == f"the session ended after `{OTHER}`, before the target had started"
    said = say([*BEGIN, *session(5)], 5)
    assert (said.outcome, said.reason) == (Outcome.NOT_COLLECTED, "not among the 2 collected tests")


def test_not_found():
    end = ProcessEnd(exit_status=4, stderr="ERROR: not found: /p/test_a.py::test\n")
    said = say([HELLO, CONFIGURED, *session(4)], end)
    assert said.outcome is Outcome.NOT_COLLECTED
    assert said.reason is not None
    assert "not found: /p/test_a.py::test" in said.reason


def test_deselected():
    said = say([HELLO, CONFIGURED, COLLECTED | {"selected": 0}, *session(5)], 5)
    assert said.outcome is Outcome.NOT_COLLECTED
    assert said.reason == "deselected: 0 of 2 collected tests were kept"


@pytest.mark.parametrize(
    ("end", "words"),
    [(SEGV, "died by SIGSEGV"), (LIMIT, "reached the time limit"), (ProcessEnd(exit_status=1), "exited with status 1")],
)
def test_an_earlier_test_that_ended_the_process_is_named(end: ProcessEnd, words: str):
    said = say([*BEGIN, start(OTHER)], end, crash=CRASH)
    assert (said.outcome, said.index, said.failure) == (Outcome.NOT_COLLECTED, None, None)
    assert said.reason == f"the process {words} in `{OTHER}`, before the target had started"
    said = say([*BEGIN, *run(test=OTHER)], end, crash=CRASH)
    assert said.reason == f"the process {words} after `{OTHER}`, before the target had started"


def test_killed_before_the_target():
    assert say([*BEGIN, start(OTHER)], ProcessEnd(signal=signal.SIGTERM)).outcome is Outcome.KILLED


@pytest.mark.parametrize(("end", "outcome"), [(SEGV, Outcome.CRASHED), (LIMIT, Outcome.HUNG)])
def test_a_death_in_collection_is_told_as_one(end: ProcessEnd, outcome: Outcome):
    said = say([HELLO, CONFIGURED], end, crash=CRASH)
    assert said.outcome is outcome
    assert said.failure is not None
    assert said.failure.phase == "collect"


def test_a_collection_error_of_the_targets_file_comes_first():
    errors: list[Event] = [
        {"e": "collect_error", "id": "test_b.py", "text": "E   NameError: b"},
        {"e": "collect_error", "id": "test_a.py", "text": "importing failed\nE   ImportError: no lib\nE   more"},
    ]
    said = say([HELLO, CONFIGURED, *errors, COLLECTED, *session(2)], 2)
    assert said.outcome is Outcome.NOT_COLLECTED
    assert said.reason == "collection of `test_a.py` failed: ImportError: no lib"


def test_a_conftest_that_cannot_be_imported_is_a_collection_error():
    end = ProcessEnd(exit_status=4, stderr="ImportError while loading conftest '/p/conftest.py'.\nE   no lib\n")
    said = say([HELLO], end)
    assert said.outcome is Outcome.NOT_COLLECTED
    assert said.reason is not None
    assert "no lib" in said.reason


def test_a_usage_error_is_the_instruments():
    end = ProcessEnd(exit_status=4, stderr="ERROR: usage: pytest\nunrecognized arguments: --x\n")
    said = say([HELLO], end)
    assert said.outcome is Outcome.BROKEN
    assert said.reason is not None
    assert "unrecognized arguments: --x" in said.reason


@pytest.mark.parametrize(
    ("events", "outcome"), [([HELLO, CONFIGURED], Outcome.NOT_COLLECTED), (BEGIN, Outcome.BROKEN)], ids=["in", "after"]
)
def test_an_internal_error_in_or_after_collection(events: list[Event], outcome: Outcome):
    said = say([*events, {"e": "internal_error", "text": "SystemExit: 1"}, *session(3)], 3)
    assert said.outcome is outcome
    assert said.reason == "pytest had an internal error: SystemExit: 1"


# The instrument


def test_a_probe_that_did_not_load():
    said = say([], ProcessEnd(exit_status=1, stderr="a\nb\nImportError: No module named triage_probe\n"))
    assert said.outcome is Outcome.BROKEN
    assert said.reason == "the probe did not load: a | b | ImportError: No module named triage_probe"


def test_a_supervisor_that_failed():
    said = say([*BEGIN, *run(), *session()], ProcessEnd(error="the supervisor ended"))
    assert (said.outcome, said.reason) == (Outcome.BROKEN, "the supervisor ended")


# No single target


@pytest.mark.parametrize(
    ("status", "outcome"), [(0, Outcome.PASSED), (1, Outcome.FAILED), (3, Outcome.BROKEN), (5, Outcome.NOT_COLLECTED)]
)
def test_a_whole_session(status: int, outcome: Outcome):
    assert say([*BEGIN, *session(status)], status, target=None).outcome is outcome


def test_a_collection_with_errors():
    error: Event = {"e": "collect_error", "id": "test_b.py", "text": "E   NameError: b"}
    said = say([HELLO, CONFIGURED, error, COLLECTED, *session(2)], 2, target=None)
    assert (said.outcome, said.reason) == (Outcome.NOT_COLLECTED, "collection of `test_b.py` failed: NameError: b")


# Without the probe


@pytest.mark.parametrize(
    ("end", "outcome"),
    [
        (ProcessEnd(exit_status=0), Outcome.PASSED),
        (ProcessEnd(exit_status=1), Outcome.FAILED),
        (ProcessEnd(exit_status=2), Outcome.NOT_COLLECTED),
        (ProcessEnd(exit_status=3), Outcome.BROKEN),
        (ProcessEnd(exit_status=4), Outcome.BROKEN),
        (ProcessEnd(exit_status=5), Outcome.NOT_COLLECTED),
        (ProcessEnd(exit_status=9), Outcome.CRASHED),
        (SEGV, Outcome.CRASHED),
        (LIMIT, Outcome.HUNG),
        (ProcessEnd(signal=signal.SIGKILL), Outcome.KILLED),
        (ProcessEnd(error="no such file"), Outcome.BROKEN),
    ],
)
def test_a_plain_trial_is_judged_by_its_end(end: ProcessEnd, outcome: Outcome):
    said = judge(None, end, target=TARGET)
    assert said.outcome is outcome
    assert said.sequence == ()


def test_the_output_of_a_plain_trial_is_not_read():
    end = ProcessEnd(exit_status=0, stdout="FAILED test_a.py::test - ValueError\n1 failed in 0.1s\n")
    assert judge(None, end, target=TARGET).outcome is Outcome.PASSED


def test_a_plain_crash_has_the_stack_from_standard_error():
    said = judge(None, ProcessEnd(signal=signal.SIGSEGV, stderr=f"noise\n{CRASH}"), target=TARGET)
    assert said.failure is not None
    assert said.failure.frames[-1] == Frame("native.py", 2, "call")
