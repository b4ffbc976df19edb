"""`deadlock`: threads, tasks or processes wait for each other for ever."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import KIND, Cause, Suspicion
from triage.model.outcome import Outcome
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="deadlock",
    verdicts=(Verdict.REAL_BUG, Verdict.WRONG_TEST),
    meaning="""The test never ends because two or more parties wait for each other, or one waits for something that
        nobody will do any more. It is the product's if its own locks form the cycle or its promise to finish is
        broken; it is the test's if the test holds a lock, never sends what it promised, or waits for something
        that nobody promised.""",
    evidence=(
        "the stacks of all threads at the time limit, the same in several hangs",
        "which thread holds which lock: a cycle, or a wait that nobody can end",
        "whose code took the locks of the cycle",
    ),
    refuted_by=(
        "the process still uses processor time: it is slow or loops, it does not wait",
        "with a longer limit it ends",
    ),
    fixes=(
        "take locks in one order everywhere",
        "never call foreign code (callbacks, logging, `__del__`) while holding a lock",
        "give every wait a limit and say what it waited for",
    ),
    example="""
        def transfer(source, target, amount):
            with source.lock, target.lock:     # the other way round for transfer(target, source)
                ...
    """,
)

MISSING = "read the stacks of all threads of several hangs, with the locks they hold: a cycle of product locks is the product's"
MISSING_TEST = "find what the test waits for: nobody promised it, or the test itself should have sent it "


def suspect(case: Case) -> Iterator[Suspicion]:
    """For every hang, both ways."""
    if case.outcome is Outcome.HUNG:
        yield Suspicion(Verdict.REAL_BUG, KIND, MISSING)
        yield Suspicion(Verdict.WRONG_TEST, KIND - 5, MISSING_TEST)
