from triage.model.outcome import Outcome
from triage.runner.execution import executions
from triage.runner.wire import Finish, Phase, Start

TEST = "test_a.py::test"


def phase(when: str, outcome: str = "passed") -> Phase:
    return Phase(id=TEST, index=1, when=when, outcome=outcome, seconds=0.25)


START = Start(id=TEST, index=1, t=0.0)
FINISH = Finish(id=TEST, index=1)


def test_an_execution_without_an_end_has_no_outcome():
    (run,) = executions([START, phase("setup"), phase("call")], TEST)
    assert (run.outcome, run.done, run.phase, run.seconds) == (None, False, "teardown", 0.5)


def test_an_execution_ends_with_its_teardown():
    for events in ([phase("teardown")], [FINISH], [phase("teardown"), FINISH]):
        (run,) = executions([START, phase("setup"), phase("call"), *events], TEST)
        assert (run.outcome, run.done) == (Outcome.PASSED, True)


def test_other_tests_are_left_out():
    other = Start(id="test_a.py::test_other", index=1, t=0.0)
    assert executions([other, START], "test_a.py::missing") == ()
    assert len(executions([other, START], TEST)) == 1


def test_a_rerun_is_an_execution_of_its_own():
    events = [START, phase("setup"), phase("call", "rerun"), phase("setup"), phase("call"), phase("teardown"), FINISH]
    first, second = executions(events, TEST)
    assert (first.outcome, first.done, first.seconds) == (Outcome.FAILED, True, 0.5)
    assert (second.outcome, second.done, second.index) == (Outcome.PASSED, True, 1)


def test_an_execution_whose_start_was_not_seen_still_counts():
    (run,) = executions([phase("setup", "failed"), FINISH], TEST)
    assert run.outcome is Outcome.ERROR
