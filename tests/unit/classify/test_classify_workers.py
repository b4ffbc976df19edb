"""What workers of xdist add to a report."""

from triage.classify.case import Case, Facts
from triage.classify.ranking import hypotheses
from triage.classify.roles import Roles
from triage.classify.wording import at_level
from triage.classify.workers import collection_evidence, hidden_by_xdist, left_open, replays
from triage.model.arm import BASELINE, Arm, Level
from triage.model.claim import ArmCount, Claim, Study
from triage.model.outcome import Outcome
from triage.model.signature import Signature
from triage.model.trial import Failure, Stage, Trial, Worker
from triage.model.verdict import Verdict

TARGET = "test_b.py::test_it"
BEFORE = ("test_a.py::test_one", "test_a.py::test_two")
ON_WORKERS = Arm((Level(factor="workers", value="2 load"),))


def death(phase="exit", outcome=Outcome.CRASHED):
    return Signature(outcome=outcome, phase=phase, exception="SIGSEGV", message="")


def trial(arm, outcome=Outcome.FAILED, **more):
    return Trial(arm=arm, stage=Stage.FOCUS, outcome=outcome, **more)


def case(failures, message="", factor="workers"):
    arm = Arm((Level(factor=factor, value="2 load"),))
    claim = Claim(
        factor=factor,
        trigger=ArmCount(arm, 20, 20),
        counter=ArmCount(BASELINE, 0, 20),
        p_value=1e-9,
        alpha=0.04,
        confirmed=True,
        planned=20,
    )
    text = Failure(phase="call", exception="OSError", message=message)
    failures = tuple(failures) or (trial(ON_WORKERS, failure=text),)
    signature = Signature(outcome=Outcome.FAILED, phase="call", exception="OSError", message=message)
    return Case(
        target=TARGET, signature=signature, failures=failures, claims=(claim,), facts=Facts(), roles=Roles("/r", ())
    )


def test_levels_in_words():
    assert at_level("workers", "2 load") == "on 2 xdist workers (`--dist load`)"
    assert at_level("workers", "1 load") == "on 1 xdist worker (`--dist load`)"
    assert at_level("workers", "none") == "alone in one process without xdist"


def test_a_death_after_the_last_test_is_hidden_from_who_uses_xdist():
    (said,) = hidden_by_xdist(death(), Study(target=TARGET, split="4 loadfile"))
    assert "the user's own command runs on 4 xdist workers (`--dist loadfile`), which hides this" in said.statement
    assert hidden_by_xdist(death(), Study(target=TARGET)) == []
    assert hidden_by_xdist(death("call"), Study(target=TARGET, split="4 load")) == []


def test_replays_of_a_workers_sequence_are_counted():
    workers = (Worker(id="gw0", sequence=(*BEFORE, TARGET)),)
    failed = trial(ON_WORKERS, sequence=(*BEFORE, TARGET), workers=workers)
    again = Arm((Level(factor="order", value="after 2 tests", ids=BEFORE),))
    other = Arm((Level(factor="order", value="scope", ids=BEFORE[:1]),))
    passed = [trial(again, Outcome.PASSED), trial(again, Outcome.PASSED), trial(other, Outcome.PASSED)]
    (said,) = replays(case([failed]), [failed, *passed])
    assert said.data == {"failed": 0, "trials": 2}
    assert replays(case([failed]), [failed]) == []


def test_workers_alone_decide_nothing():
    for message in ("", "[Errno 98] Address already in use"):
        both = {one.verdict: one for one in hypotheses(case([], message))}
        assert set(both) == {Verdict.REAL_BUG, Verdict.WRONG_TEST}
        assert "from two processes at once" in both[Verdict.REAL_BUG].missing
    assert hypotheses(case([], "[Errno 98] Address already in use"))[0].cause == "shared_resource"
    assert "the load that they make" in left_open(case([]))[0]
    assert left_open(case([], factor="order")) == []


def test_tests_that_are_collected_differently_are_named():
    (said,) = collection_evidence(Study(target=TARGET, unsteady=("the parameters of `t` differ",)))
    assert said.statement.startswith("the parameters of `t` differ; pytest-xdist runs nothing")
