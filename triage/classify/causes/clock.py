"""`clock`: the test reads a clock of its own."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import TRIGGER, Cause, Suspicion
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="clock",
    verdicts=(Verdict.WRONG_TEST,),
    meaning="""The test takes the time itself (`now()`, today's date, a file's time stamp) and compares it with what
        the product took at another moment, in another zone or resolution, or expects two readings to differ.""",
    evidence=(
        "the test's frames read the clock that decides",
        "with one clock for test and product the failure disappears",
    ),
    refuted_by=("it fails with one common clock too (`time_bug`)",),
    fixes=(
        "pass a clock or an instant into the product",
        "compare with the interval between two readings around the call",
        "freeze the time in both",
    ),
    example="""
        order = place_order()
        assert order.day == date.today()                # midnight may lie in between
    """,
)

MISSING = "give test and product one common clock: a failure that disappears was a disagreement between two clocks"


def suspect(case: Case) -> Iterator[Suspicion]:
    """Where the date or the zone decides."""
    if case.factor in {"clock", "timezone", "clock_resolution"}:
        yield Suspicion(Verdict.WRONG_TEST, TRIGGER - 2, MISSING)
