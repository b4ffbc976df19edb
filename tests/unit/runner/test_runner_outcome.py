"""Every way to end, one test each: what pytest recorded and how the process ended, and what that says."""

import json
import signal
from typing import Any

import pytest

from triage.model.outcome import Outcome
from triage.model.trial import Frame
from triage.runner.outcome import Judgement, judge
from triage.runner.process import ProcessEnd
from triage.runner.wire import read_wire

TARGET = "test_a.py::test"
OTHER = "test_a.py::test_other"
Event = dict[str, Any]

HELLO: Event = {"e": "hello", "v": 1, "pid": 7, "python": "3.11.7"}
CONFIGURED: Event = {"e": "configured", "root": "/p", "inifile": None, "plugins": []}
COLLECTED: Event = {"e": "collected", "count": 2, "selected": 2, "digest": ""}
BEGIN = [HELLO, CONFIGURED, COLLECTED]
CRASH = (
    "Fatal Python error: Segmentation fault\n\n"
    'Thread 0x2 (most recent call first):\n  File "worker.py", line 1 in work\n\n'
    'Current thread 0x1 (most recent call first):\n  File "native.py", line 2 in call\n  File "test_a.py", line 3 in test\n'
)
SEGV = ProcessEnd(signal=signal.SIGSEGV)
LIMIT = ProcessEnd(signal=signal.SIGABRT, limit_hit=True)
OUTSIDE = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


def start(test: str = TARGET, index: int = 1) -> Event:
    return {"e": "start", "id": test, "index": index}


def phase(when: str, outcome: str = "passed", *, test: str = TARGET, index: int = 1, **more: Any) -> Event:
    failure = (
        {"exception": "ValueError", "message": f"in {when}", "text": "E"} if outcome in {"failed", "rerun"} else None
    )
    return {
        "e": "phase",
        "id": test,
        "index": index,
        "when": when,
        "outcome": outcome,
        "seconds": 0.5,
        "failure": failure,
        **more,
    }


def run(call: str = "passed", *, test: str = TARGET, index: int = 1, **more: Any) -> list[Event]:
    return [
        start(test, index),
        phase("setup", test=test, index=index),
        phase("call", call, test=test, index=index, **more),
        phase("teardown", test=test, index=index),
        {"e": "finish", "id": test, "index": index},
    ]


def session(status: int = 0) -> list[Event]:
    return [{"e": "session_end", "status": status}, {"e": "end"}]


def say(
    events: list[Event], end: ProcessEnd | int = 0, *, target: str | None = TARGET, repeat: int = 1, crash: str = ""
) -> Judgement:
    data = b"".join(json.dumps({"t": float(number), **event}).encode() + b"\n" for number, event in enumerate(events))
    process = ProcessEnd(exit_status=end) if isinstance(end, int) else end
    return judge(read_wire(data), process, target=target, repeat=repeat, crash=crash)


# What pytest itself records


def test_passed():
    said = say([*BEGIN, *run(), *session()])
    assert (said.outcome, said.index, said.reason, said.failure) == (Outcome.PASSED, None, None, None)
    assert said.test_seconds == 1.5
    assert said.sequence == (TARGET,)


def test_failed_in_the_call():
    said = say([*BEGIN, *run("failed"), *session(1)], 1)
    assert (said.outcome, said.index) == (Outcome.FAILED, 1)
    assert said.failure is not None
    assert (said.failure.phase, said.failure.exception) == ("call", "ValueError")


@pytest.mark.parametrize("when", ["setup", "teardown"])
def test_error_around_the_call(when: str):
    phases = [phase("setup", "failed" if when == "setup" else "passed")]
    phases += [] if when == "setup" else [phase("call")]
    phases += [phase("teardown", "failed" if when == "teardown" else "passed")]
    said = say([*BEGIN, start(), *phases, {"e": "finish", "id": TARGET, "index": 1}, *session(1)], 1)
    assert said.outcome is Outcome.ERROR
    assert said.failure is not None
    assert said.failure.phase == when


def test_a_failure_counts_before_the_error_that_follows_it():
    said = say([*BEGIN, start(), phase("setup"), phase("call", "failed"), phase("teardown", "failed"), *session(1)], 1)
    assert said.outcome is Outcome.FAILED


@pytest.mark.parametrize("when", ["setup", "call"])
def test_skipped(when: str):
    before = [phase("setup")] if when == "call" else []
    skip = phase(when, "skipped", reason="not here")
    said = say([*BEGIN, start(), *before, skip, phase("teardown"), *session()])
    assert (said.outcome, said.reason) == (Outcome.SKIPPED, "not here")


def test_xfailed():
    said = say([*BEGIN, *run("skipped", xfail=True, reason="known"), *session()])
    assert (said.outcome, said.reason) == (Outcome.XFAILED, "known")


def test_xpassed():
    assert say([*BEGIN, *run("passed", xfail=True), *session()]).outcome is Outcome.XPASSED


def test_a_strict_xpass_is_a_failure_that_says_so():
    said = say([*BEGIN, *run("failed", failure={"text": "[XPASS(strict)] known"}), *session(1)], 1)
    assert (said.outcome, said.reason) == (Outcome.FAILED, "[XPASS(strict)] known")


def test_a_teardown_error_outweighs_an_expected_failure():
    events = [start(), phase("setup"), phase("call", "skipped", xfail=True), phase("teardown", "failed")]
    assert say([*BEGIN, *events, *session(1)], 1).outcome is Outcome.ERROR


def test_a_worker_of_xdist_that_died_is_a_crash():
    died = phase("???", "failed", failure={"text": "worker 'gw0' crashed while running 'test_a.py::test'"})
    said = say([*BEGIN, start(), died, *session(1)], 1)
    assert said.outcome is Outcome.CRASHED
    assert said.reason is not None
    assert said.reason.startswith("worker 'gw0' crashed")


def test_reruns_do_not_hide_the_first_failure():
    hidden = [phase("setup"), phase("call", "rerun"), phase("teardown")]
    again = [phase("setup"), phase("call"), phase("teardown")]
    said = say([*BEGIN, start(), *hidden, *again, {"e": "finish", "id": TARGET, "index": 1}, *session()])
    assert (said.outcome, said.index, said.reruns) == (Outcome.FAILED, 1, 1)
    assert said.failure is not None
    assert said.failure.message == "in call"
    assert said.test_seconds == 1.5


def test_a_rerun_setup_is_an_error():
    hidden = [phase("setup", "rerun"), phase("teardown")]
    said = say([*BEGIN, start(), *hidden, phase("setup"), phase("call"), phase("teardown"), *session()])
    assert (said.outcome, said.reruns) == (Outcome.ERROR, 1)


def test_what_happens_later_does_not_replace_a_failure():
    said = say([*BEGIN, *run("failed"), *session(1)], SEGV, crash=CRASH)
    assert (said.outcome, said.signal) == (Outcome.FAILED, "SIGSEGV")
    assert said.reason == "later the process died by SIGSEGV"
    said = say([*BEGIN, start(), phase("setup"), phase("call", "failed")], LIMIT, crash=CRASH)
    assert (said.outcome, said.reason) == (Outcome.FAILED, "later the process reached the time limit")


# Several executions


def test_the_first_execution_that_does_not_pass_decides():
    said = say([*BEGIN, *run(), *run("failed", index=2), *run("failed", index=3), *session(1)], 1, repeat=3)
    assert (said.outcome, said.index) == (Outcome.FAILED, 2)


def test_all_executions_pass():
    said = say([*BEGIN, *run(), *run(index=2), *session()], repeat=2)
    assert (said.outcome, said.sequence) == (Outcome.PASSED, (TARGET, TARGET))


def test_fewer_executions_than_asked_for_are_the_instruments_fault():
    said = say([*BEGIN, *run(), *session()], repeat=2)
    assert (said.outcome, said.reason) == (Outcome.BROKEN, "the target ran 1 of 2 times")


def test_a_death_in_an_execution_has_its_index():
    said = say([*BEGIN, *run(), *run(index=2), start(index=3), phase("setup", index=3)], SEGV, repeat=5, crash=CRASH)
    assert (said.outcome, said.index) == (Outcome.CRASHED, 3)


# Death in the middle of the target


@pytest.mark.parametrize(
    ("phases", "where"),
    [([], "setup"), ([phase("setup")], "call"), ([phase("setup"), phase("call")], "teardown")],
    ids=["setup", "call", "teardown"],
)
def test_a_signal_in_the_target_is_a_crash(phases: list[Event], where: str):
    said = say([*BEGIN, start(), *phases], SEGV, crash=CRASH)
    assert (said.outcome, said.signal, said.index) == (Outcome.CRASHED, "SIGSEGV", 1)
    assert said.failure is not None
    assert (said.failure.phase, said.failure.exception) == (where, "SIGSEGV")
    assert said.failure.message == "Segmentation fault"
    assert said.failure.frames == (Frame("test_a.py", 3, "test"), Frame("native.py", 2, "call"))
    assert said.failure.text == CRASH


def test_a_crash_without_a_stack_is_still_one():
    said = say([*BEGIN, start()], ProcessEnd(signal=signal.SIGABRT))
    assert said.outcome is Outcome.CRASHED
    assert said.failure is not None
    assert (said.failure.exception, said.failure.frames) == ("SIGABRT", ())


def test_a_signal_without_a_name():
    said = say([*BEGIN, start()], ProcessEnd(signal=40))
    assert (said.outcome, said.signal) == (Outcome.CRASHED, "signal 40")


@pytest.mark.parametrize("number", [signal.SIGABRT, signal.SIGKILL])
def test_our_own_limit_is_a_hang_whichever_signal_it_took(number: int):
    crash = CRASH.replace("Current thread 0x1", "Thread 0x1").replace("Thread 0x2", "Current thread 0x2")
    end = ProcessEnd(signal=number, limit_hit=True)
    said = say([*BEGIN, start(), phase("setup")], end, crash=crash)
    assert (said.outcome, said.index) == (Outcome.HUNG, 1)
    assert said.failure is not None
    assert said.failure.phase == "call"
    assert said.failure.exception is None
    assert said.failure.frames[0] == Frame("test_a.py", 3, "test")
    assert "worker.py" in said.failure.text


@pytest.mark.parametrize("number", OUTSIDE)
def test_a_signal_from_outside_is_killed(number: int):
    said = say([*BEGIN, start()], ProcessEnd(signal=number, oom=False))
    assert (said.outcome, said.failure) == (Outcome.KILLED, None)
    assert said.reason is not None
    assert signal.Signals(number).name in said.reason


def test_out_of_memory_is_said_only_with_the_kernels_word():
    said = say([*BEGIN, start()], ProcessEnd(signal=signal.SIGKILL, oom=True))
    assert (said.outcome, said.reason) == (Outcome.KILLED, "the process was killed by the kernel: out of memory")
    assert "memory" not in str(say([*BEGIN, start()], ProcessEnd(signal=signal.SIGKILL, oom=None)).reason)


def test_a_supervisor_that_was_told_to_stop_is_killed():
    said = say([*BEGIN, start()], ProcessEnd(signal=signal.SIGKILL, stopped="signal"))
    assert said.outcome is Outcome.KILLED


@pytest.mark.parametrize("status", [0, 1, 3, 7])
def test_a_process_that_leaves_in_the_middle_of_the_target(status: int):
    said = say([*BEGIN, start(), phase("setup")], status)
    assert said.outcome is Outcome.CRASHED
    assert said.reason == f"the process exited with status {status} in the middle of the test"
    assert said.failure is not None
    assert said.failure.phase == "call"


def test_a_keyboard_interrupt_in_the_target():
    said = say([*BEGIN, start(), phase("setup"), *session(2)], 2)
    assert said.outcome is Outcome.CRASHED
    assert said.reason is not None
    assert "end the whole session (status 2)" in said.reason


def test_an_internal_error_in_the_target_is_the_instruments():
    error: Event = {"e": "internal_error", "text": "Traceback\n  File\nValueError: plugin\n"}
    said = say([*BEGIN, start(), phase("setup"), error, *session(3)], 3)
    assert (said.outcome, said.reason) == (Outcome.BROKEN, "pytest had an internal error: ValueError: plugin")


@pytest.mark.parametrize("before", [[], [start(), phase("setup")], run()], ids=["before", "in", "after the target"])
@pytest.mark.parametrize("evidence", [[{"e": "internal_error", "text": "boom"}, *session(1)], session(3)])
def test_an_internal_error_is_known_by_its_text_or_its_status(before: list[Event], evidence: list[Event]):
    assert say([*BEGIN, *before, *evidence], 3).outcome is Outcome.BROKEN


# After the target


@pytest.mark.parametrize("ended", [[], session()], ids=["before", "after the session"])
def test_a_crash_at_exit(ended: list[Event]):
    said = say([*BEGIN, *run(test=OTHER), *run(), *ended], SEGV, crash=CRASH)
    assert (said.outcome, said.index) == (Outcome.CRASHED, 1)
    assert said.failure is not None
    assert said.failure.phase == "exit"


@pytest.mark.parametrize("ended", [[], session()], ids=["before", "after the session"])
def test_a_hang_at_exit(ended: list[Event]):
    said = say([*BEGIN, *run(), *ended], LIMIT, crash=CRASH)
    assert said.outcome is Outcome.HUNG
    assert said.failure is not None
    assert said.failure.phase == "exit"


@pytest.mark.parametrize("status", [0, 9])
def test_a_process_that_leaves_after_the_target(status: int):
    said = say([*BEGIN, *run()], status)
    assert said.outcome is Outcome.CRASHED
    assert said.failure is not None
    assert said.failure.phase == "exit"
    assert said.reason == f"the process exited with status {status} after the test, before the session had ended"


def test_an_expected_failure_does_not_cover_a_crash_at_exit():
    said = say([*BEGIN, *run("skipped", xfail=True), *session()], SEGV, crash=CRASH)
    assert said.outcome is Outcome.CRASHED


def test_a_skipped_target_has_no_part_in_a_crash_at_exit():
    said = say([*BEGIN, *run("skipped"), *session()], SEGV, crash=CRASH)
    assert (said.outcome, said.reason) == (Outcome.SKIPPED, "later the process died by SIGSEGV")


@pytest.mark.parametrize("end", [SEGV, LIMIT, ProcessEnd(exit_status=9)], ids=["crash", "hang", "exit"])
@pytest.mark.parametrize("later", [[start(OTHER)], run(test=OTHER)], ids=["in another test", "after another test"])
def test_what_other_tests_do_later_is_not_the_targets(end: ProcessEnd, later: list[Event]):
    said = say([*BEGIN, *run(), *later], end, crash=CRASH)
    assert (said.outcome, said.failure) == (Outcome.PASSED, None)
    assert said.reason is not None
    assert OTHER in said.reason


def test_killed_after_the_target():
    assert say([*BEGIN, *run(), *session()], ProcessEnd(signal=signal.SIGKILL)).outcome is Outcome.KILLED


def test_a_session_that_fails_without_a_test():
    """The user's own run is red then, whatever the tests say."""
    said = say([*BEGIN, *run(), *session(1)], 1)
    assert (said.outcome, said.reason) == (Outcome.ERROR, "pytest ended with status 1 although no test had failed")
    assert said.failure is not None
    assert said.failure.phase == "exit"


def test_a_process_that_gives_itself_another_status_at_exit():
    said = say([*BEGIN, *run(), *session(0)], 3)
    assert (said.outcome, said.signal) == (Outcome.CRASHED, None)
    assert said.reason == "the process exited with status 3 after the test, after the session"


def test_a_red_session_with_other_tests_in_it_is_not_the_targets():
    said = say([*BEGIN, *run(test=OTHER), *run(), *session(1)], 1)
    assert said.outcome is Outcome.PASSED
    assert said.reason is not None


def test_a_session_that_fails_by_another_test():
    said = say([*BEGIN, *run("failed", test=OTHER), *run(), *session(1)], 1)
    assert (said.outcome, said.reason) == (Outcome.PASSED, None)


@pytest.mark.parametrize("ended", [[], session(3)])
def test_an_internal_error_after_the_target(ended: list[Event]):
    said = say([*BEGIN, *run(), {"e": "internal_error", "text": "boom"}, *ended], 3)
    assert (said.outcome, said.reason) == (Outcome.BROKEN, "pytest had an internal error: boom")


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
