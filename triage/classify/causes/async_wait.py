"""`async_wait`: the test looks before the product has promised to be done."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import FACT, TRIGGER, Cause, Suspicion
from triage.model.outcome import Outcome
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="async_wait",
    verdicts=(Verdict.WRONG_TEST,),
    meaning="""The test waits for a fixed time, or not at all, where the product offers something to wait for (join,
        event, future, drain), and looks before the result is there. Lateness alone proves nothing: if the call
        that promises completion had returned, the fault is the product's.""",
    evidence=(
        "the failing check, evaluated again in place when all is quiet, is true",
        "the test waited by time, or skipped a join, event or await that the product offers",
        "waiting that way makes the failure go away",
    ),
    refuted_by=(
        "the check is still false when all is quiet (`race`: the product lost it)",
        "a product call that promises completion had already returned",
    ),
    fixes=(
        "wait by the product's own means",
        "poll for the condition with a generous limit",
        "never make the sleep longer: it only makes the failure rarer",
    ),
    example="""
        worker.submit(job)
        time.sleep(0.05)                # worker.join() was there to be called
        assert worker.results == [1]
    """,
)

MISSING = (
    "wait by the product's own join, event or drain before the failing check: a failure that goes away, with no completed "
    "product call before it, was the test's"
)


def suspect(case: Case) -> Iterator[Suspicion]:
    """Where things run side by side, a little more if the test sleeps."""
    if case.outcome in {Outcome.CRASHED, Outcome.HUNG}:
        return
    slept = 3 if case.facts.sleeps else 0
    if case.factor in {"schedule", "workers", "cpu_load", "cores"}:
        yield Suspicion(Verdict.WRONG_TEST, TRIGGER - 5 + slept, MISSING)
    elif case.factor in {None, "python"} and (case.facts.concurrent or case.facts.sleeps):
        yield Suspicion(Verdict.WRONG_TEST, FACT + slept, MISSING)
