"""`tolerance`: the bound of a numerical check is too narrow for honest values."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import TRIGGER, Cause, Suspicion
from triage.classify.roles import Role
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="tolerance",
    verdicts=(Verdict.WRONG_TEST,),
    meaning="""The test compares a number that varies for good reason (a sample, a float, a duration) with a bound that
        its honest spread crosses now and then.""",
    evidence=(
        "the values over many seeds: one smooth hump whose tail crosses the bound",
        "the spread is what theory says for a correct product",
    ),
    refuted_by=(
        "outliers, or a second hump: some inputs take a wrong path in the product",
        "the error is far larger than the bound",
    ),
    fixes=(
        "derive the bound from the distribution (n, sigma) and an accepted rate of false alarms",
        "use a larger sample, or a fixed seed owned by the test",
        "compare floats with a relative tolerance",
    ),
    example="""
        assert abs(mean(sample(100)) - 0.5) < 0.05      # crossed in one of ten runs by a perfect generator
    """,
)

MISSING = (
    "collect the compared values over a hundred seeds: one smooth hump across the bound is the test's, outliers or a second hump "
    "are the product's"
)


def suspect(case: Case) -> Iterator[Suspicion]:
    """Where a seed decides and an assertion noticed."""
    if case.factor == "rng_seed" and case.asserts and case.raised_by is not Role.PRODUCT:
        yield Suspicion(Verdict.WRONG_TEST, TRIGGER - 2, MISSING)
