"""Every way to end, one test each: what pytest recorded, and what that says."""

import pytest
from judging import BEGIN, CRASH, LIMIT, SEGV, TARGET, phase, run, say, session, start

from triage.model.outcome import Outcome

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
