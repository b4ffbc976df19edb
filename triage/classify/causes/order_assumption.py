"""`order_assumption`: the test expects an order that nobody promises."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import FACT, KIND, TRIGGER, Cause, Suspicion
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="order_assumption",
    verdicts=(Verdict.WRONG_TEST,),
    meaning="""The test compares lists, strings or files element by element although the order of their parts is not
        promised: of a set, a directory, a query without ORDER BY.""",
    evidence=(
        "the operands of the failing comparison are equal as multisets in every failure",
        "neither documentation nor types nor other functions of the product promise an order",
        "the factor that decides the order (hash seed, file system, allocator), confirmed",
    ),
    refuted_by=(
        "other members or other values appear (`nondeterminism`)",
        "the product documents the order, or depends on it elsewhere",
    ),
    fixes=(
        "compare sets, counters or sorted lists",
        "ask for an order where the interface offers one",
    ),
    example="""
        assert find_tags(text) == ["red", "green"]      # find_tags returns list(set(...)) and promises nothing
    """,
)

MISSING = (
    "keep the operands of the comparison over failing and passing trials: equal as multisets, no order promised, is the test's "
    "assumption"
)


def suspect(case: Case) -> Iterator[Suspicion]:
    """Where a factor that changes orders decides and an assertion noticed."""
    if case.factor == "hash_seed":
        yield Suspicion(Verdict.WRONG_TEST, TRIGGER - 2, MISSING)
    elif case.factor in {"fs_order", "allocator", "python"}:
        yield Suspicion(Verdict.WRONG_TEST, KIND if case.asserts else FACT, MISSING)
