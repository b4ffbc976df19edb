"""`race`: two threads, tasks or processes meet in an order that nobody took care of."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import FACT, TRIGGER, Cause, Suspicion
from triage.model.outcome import Outcome
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="race",
    verdicts=(Verdict.REAL_BUG, Verdict.WRONG_TEST),
    meaning="""Two threads, tasks or processes use the same state, and the result depends on which of them is faster.
        It is the product's if a correct test that waits for what the product promises can still see a wrong
        result; it is the test's if the test's own threads or variables are the ones that collide.""",
    evidence=(
        "delays put into one place of project code raise the failure rate; they bracket a read and a write that belong together",
        "with everything quiet the value is still wrong: an update was lost, not late",
        "the window is in product code (`real_bug`) or in the test's own (`wrong_test`)",
    ),
    refuted_by=(
        "waiting by the product's own join, drain or event makes the failure go away: the test looked too early (`async_wait`)",
        "it fails as often with a single thread",
    ),
    fixes=(
        "hold one lock over the whole read-modify-write",
        "hand results over through a queue or a future instead of a shared variable",
        "make the check and the act one atomic operation (`setdefault`, `O_EXCL`, a database constraint)",
    ),
    example="""
        def add(self, amount):
            balance = self.balance        # another thread may run here
            self.balance = balance + amount
    """,
)

MISSING = (
    "evaluate the failing check again when all threads and tasks are quiet, and delay threads inside the product's own "
    "read-modify-write: a value that stays wrong was lost by the product"
)

BESIDE = (
    "make the product's calls of this test from two processes at once, each with files, ports and names of its own: what still "
    "fails is the product's, what stops was shared by the tests"
)


def suspect(case: Case) -> Iterator[Suspicion]:
    """Where things run side by side; never for a crash or a hang, which have causes of their own."""
    if case.outcome in {Outcome.CRASHED, Outcome.HUNG}:
        return
    if case.factor in {"schedule", "workers", "cpu_load", "cores"}:
        yield Suspicion(Verdict.REAL_BUG, TRIGGER, BESIDE if case.factor == "workers" else MISSING)
    elif case.factor == "python" and case.facts.concurrent:
        yield Suspicion(Verdict.REAL_BUG, TRIGGER - 5, MISSING)
    elif case.factor is None and case.facts.concurrent:
        yield Suspicion(Verdict.REAL_BUG, FACT + 5, MISSING)
