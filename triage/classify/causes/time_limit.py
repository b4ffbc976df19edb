"""`time_limit`: the test demands a speed that this machine does not always have."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import KIND, TRIGGER, Cause, Suspicion
from triage.model.outcome import Outcome
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="time_limit",
    verdicts=(Verdict.WRONG_TEST,),
    meaning="""The test fails when something takes longer than a limit that is tight for a busy machine: an assertion
        on a duration, a short timeout of a wait, a limit of a plugin.""",
    evidence=(
        "the durations over runs: one hump whose tail crosses the limit",
        "load on the processor raises the failure rate, and the result is right when it comes",
    ),
    refuted_by=(
        "the operation never ends, whatever the limit (`deadlock`)",
        "a second hump of much slower runs: the product takes another path",
    ),
    fixes=(
        "assert the result, not the duration; measure speed in benchmarks",
        "make the limit ten times what a quiet machine needs",
    ),
    example="""
        assert elapsed < 0.1
    """,
)

MISSING = "run it with ten times the limit: a right result that comes later is the test's limit, none at all is not"


def suspect(case: Case) -> Iterator[Suspicion]:
    """Time limits that fired, and load that decides."""
    fired = case.exception in {"TimeoutError", "Timeout", "TimeoutExpired", "Empty"} or case.says(
        "timed out", "timeout >"
    )
    if case.outcome is Outcome.HUNG or case.outcome is Outcome.CRASHED:
        return
    if case.factor == "cpu_load":
        yield Suspicion(Verdict.WRONG_TEST, TRIGGER + 2 if fired else KIND, MISSING)
    elif fired:
        yield Suspicion(Verdict.WRONG_TEST, KIND, MISSING)
