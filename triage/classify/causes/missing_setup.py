"""`missing_setup`: the test needs what another test happens to leave behind."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import FACT, TRIGGER, Cause, Suspicion
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="missing_setup",
    verdicts=(Verdict.WRONG_TEST,),
    meaning="""Alone the test fails; it passes after certain others, which set up something (a table, a cache, an
        import, a registration) that the test should set up itself.""",
    evidence=(
        "it fails alone and passes after a named set of tests, confirmed on fresh trials",
        "what they set, and that the product does not promise to work without it",
    ),
    refuted_by=("the product promises to work on first use: then its own initialisation is at fault (`state_leak`)",),
    fixes=(
        "let a fixture set up what the test needs",
        "import or register explicitly in the test module",
    ),
    example="""
        def test_total():
            assert shop.orders.get(1).total == 10       # test_create, which ran before, stored it
    """,
)

MISSING = "name the state that the tests before it set, and look whether anything promises it without them"


def suspect(case: Case) -> Iterator[Suspicion]:
    """Where it fails alone and passes in company."""
    if case.fails_alone:
        yield Suspicion(Verdict.WRONG_TEST, TRIGGER, MISSING)
    elif case.exception in {"ModuleNotFoundError", "ImportError"}:
        yield Suspicion(Verdict.WRONG_TEST, FACT, MISSING)
