"""`deadline`: a property-based test is slower than its library allows."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import TRIGGER, Cause, Suspicion
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="deadline",
    verdicts=(Verdict.WRONG_TEST,),
    meaning="""The library of a property-based test (such as hypothesis) fails an example that took longer than its
        deadline. Nothing is said about the result.""",
    evidence=(
        "the exception is the library's own about its deadline",
        "without a deadline every example passes",
    ),
    refuted_by=(
        "some example fails without a deadline too",
        "the time grows with the input beyond reason: the product's complexity is the finding",
    ),
    fixes=(
        "set `deadline=None`, or one that fits a busy machine",
        "move slow set-up out of the examples",
    ),
    example="""
        @given(text())
        def test_parse(source):         # the first call compiles a grammar and takes 300 ms
            parse(source)
    """,
)

MISSING = "run it with `deadline=None` over the same seeds: does any example still fail?"


def suspect(case: Case) -> Iterator[Suspicion]:
    """The library says so itself."""
    if case.exception == "DeadlineExceeded" or case.says(
        "deadlineexceeded", "exceeds the deadline", "exceeds deadline"
    ):
        yield Suspicion(Verdict.WRONG_TEST, TRIGGER + 10, MISSING)
