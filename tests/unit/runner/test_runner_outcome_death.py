"""Every way to end, one test each: a process that ended in the middle of the target or after it."""

import signal

import pytest
from judging import BEGIN, CRASH, LIMIT, OTHER, OUTSIDE, SEGV, Event, phase, run, say, session, start

from triage.model.outcome import Outcome
from triage.model.trial import Frame
from triage.runner.process import ProcessEnd

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
