"""`unseeded_random`: the test draws its own input and some draws are wrong to expect success from."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import TRIGGER, Cause, Suspicion
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="unseeded_random",
    verdicts=(Verdict.WRONG_TEST,),
    meaning="""Test code draws random input without recording a seed, and some of what it draws is outside of what the
        product promises to take, or collides (two equal names, an empty list).""",
    evidence=(
        "test frames, not the product's, made the draws that decide",
        "the input that fails is one that the product documents as invalid, or two draws that were meant to differ",
    ),
    refuted_by=(
        "the input is valid: then the test has found a product fault (`input_bug`)",
        "the product made the draws itself",
    ),
    fixes=(
        "generate valid input only, and distinct where it must be",
        "print the seed and the input when the test fails",
        "use a property-based library, which shrinks and replays",
    ),
    example="""
        names = [random.choice(NAMES) for _ in range(5)]
        assert len(group_by_name(names)) == 5           # two draws may be equal
    """,
)

MISSING = (
    "record which frames drew, test or product, and the input that fails: is it one that the product promises to take?"
)


def suspect(case: Case) -> Iterator[Suspicion]:
    """Where a seed decides."""
    if case.factor == "rng_seed":
        yield Suspicion(Verdict.WRONG_TEST, TRIGGER - (10 if case.asserts else 4), MISSING)
