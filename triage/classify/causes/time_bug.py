"""`time_bug`: the product is wrong at some dates, times or zones."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import TRIGGER, Cause, Suspicion
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="time_bug",
    verdicts=(Verdict.REAL_BUG,),
    meaning="""The product computes with dates, times or zones and is wrong at some of them: the end of a month, a leap
        day, a change of daylight saving time, midnight between two reads of the clock.""",
    evidence=(
        "the boundary, bisected: fails on one side of an instant, passes on the other",
        "test and product read the same clock, moved together",
    ),
    refuted_by=("with one clock for both the failure disappears: the test compared two clocks (`clock`)",),
    fixes=(
        "read the clock once and pass the instant on",
        "compute in UTC, convert at the edge",
        "use calendar arithmetic, not multiples of 86400 seconds",
    ),
    example="""
        def next_month(day):
            return day.replace(month=day.month + 1)     # 31 January; December
    """,
)

MISSING = "move one clock for test and product together over the boundary: a failure that stays is the product's"


def suspect(case: Case) -> Iterator[Suspicion]:
    """Where the date or the zone decides."""
    if case.factor in {"clock", "timezone", "clock_resolution"}:
        yield Suspicion(Verdict.REAL_BUG, TRIGGER, MISSING)
