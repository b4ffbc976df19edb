"""`input_bug`: the product fails for some valid input."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import KIND, TRIGGER, Cause, Suspicion
from triage.classify.roles import Role
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="input_bug",
    verdicts=(Verdict.REAL_BUG,),
    meaning="""The test varies its input (random draws, a property-based library, names of the machine or locale), and
        some valid input makes the product fail. Fixing the seed would hide the fault.""",
    evidence=(
        "the input that fails, reduced, and the same failure with it in every run",
        "the input is one that the product promises to take",
    ),
    refuted_by=(
        "the input is documented as invalid (`unseeded_random`)",
        "the same input passes at other times",
    ),
    fixes=(
        "handle the input; keep it as a test of its own",
        "if it is not to be supported, say so and raise a clear error",
    ),
    example="""
        def initials(name):
            return "".join(part[0] for part in name.split(" "))     # two spaces in a row: IndexError
    """,
)

SURROUNDINGS = frozenset({"locale", "home", "environment", "umask", "dependency"})
MISSING = "call the product with the failing input in a bare script: does it fail each time, and is the input valid?"


def suspect(case: Case) -> Iterator[Suspicion]:
    """Where a seed or the locale decides; more so where the product itself raised."""
    raised = case.raised_by is Role.PRODUCT and not case.asserts
    if case.factor == "rng_seed":
        yield Suspicion(Verdict.REAL_BUG, TRIGGER + (5 if raised else -3), MISSING)
    elif case.factor in SURROUNDINGS or (case.factor is None and raised and "hypothesis" in case.facts.marks):
        yield Suspicion(Verdict.REAL_BUG, KIND, MISSING)
