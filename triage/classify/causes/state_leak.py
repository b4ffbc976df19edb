"""`state_leak`: the product keeps state that changes what later calls do."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import FACT, TRIGGER, Cause, Suspicion
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="state_leak",
    verdicts=(Verdict.REAL_BUG,),
    meaning="""An ordinary call of the product leaves something behind (a cache, a registry, a module global, a default
        argument) that changes the result of a later, unrelated call. Users meet it as well: it needs no test to
        happen.""",
    evidence=(
        "the tests or executions that must come before the failure, found and confirmed",
        "the attribute that differs, proved: setting it alone makes the target fail, restoring it makes it pass",
        "it was written by product code behind a call whose purpose is not global configuration",
    ),
    refuted_by=(
        "test code wrote the state itself (`isolation`)",
        "the state was set through a call that exists to configure the process (`isolation`)",
    ),
    fixes=(
        "keep the state on an object with a lifetime instead of a module",
        "make the key of a cache as long as what the value depends on",
        "copy mutable default arguments and class attributes",
    ),
    example="""
        _rates = {}

        def price(amount, currency, table):
            rate = _rates.setdefault(currency, table[currency])   # the first table wins for ever
            return amount * rate
    """,
)

MISSING = (
    "compare global state before and after what ran first, and prove the attribute: was it written by product code behind an "
    "ordinary call, or by a test's own assignment?"
)
MISSING_ALONE = "find the state that the other tests set up, and whether the product promises to work without it"


def suspect(case: Case) -> Iterator[Suspicion]:
    """Where what ran before decides."""
    if case.fails_alone:
        yield Suspicion(Verdict.REAL_BUG, TRIGGER - 5, MISSING_ALONE)
    elif case.factor in {"order", "repeat", "workers"}:
        yield Suspicion(Verdict.REAL_BUG, TRIGGER if case.factor != "workers" else FACT, MISSING)
