"""`nondeterminism`: the product answers the same question differently."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import FACT, FALLBACK, TRIGGER, Cause, Suspicion
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="nondeterminism",
    verdicts=(Verdict.REAL_BUG,),
    meaning="""For the same input the product returns other members, other values, or another order than it promises:
        from the order of a set, an unstable sort, an address, a draw of its own. A correct test sees it, and so
        do users.""",
    evidence=(
        "the operands of the failing comparison over runs: other members or values, not merely another order",
        "or: the order is promised (documentation, type, another function of the product relies on it)",
        "the factor that decides it (hash seed, allocator, interpreter), confirmed",
    ),
    refuted_by=(
        "the operands are equal as multisets and nobody promises an order (`order_assumption`)",
        "the test feeds different input each time",
    ),
    fixes=(
        "sort before anything leaves the function, by a key that is total",
        "derive identifiers and signatures from content, never from `hash()` or `id()`",
        "take the generator or clock as an argument",
    ),
    example="""
        def signature(tags):
            return ",".join(set(tags))          # another string in every process
    """,
)

MISSING = (
    "keep the operands of the comparison over failing and passing trials: other members or values, or an order that the product "
    "promises, are the product's"
)


def suspect(case: Case) -> Iterator[Suspicion]:
    """Where a factor that no caller can see decides; and behind everything else, as what has not been excluded."""
    if case.factor == "hash_seed":
        yield Suspicion(Verdict.REAL_BUG, TRIGGER, MISSING)
    elif case.factor in {"fs_order", "gc", "allocator", "python", "cores"}:
        yield Suspicion(Verdict.REAL_BUG, TRIGGER - 8, MISSING)
    elif case.factor == "rng_seed":
        yield Suspicion(Verdict.REAL_BUG, FACT, MISSING)
    else:
        yield Suspicion(Verdict.REAL_BUG, FALLBACK, MISSING)
