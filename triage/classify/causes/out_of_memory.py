"""`out_of_memory`: the machine or its limit has no memory left."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import KIND, TRIGGER, Cause, Suspicion
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="out_of_memory",
    verdicts=(Verdict.ENVIRONMENT,),
    meaning="""An allocation fails or the kernel ends the process because the machine, container or limit has no memory
        left. It is the environment's only if the target needs no more than it may.""",
    evidence=(
        "the kernel's own word, or the limit of the control group, and the peak memory of passing trials",
        "with more memory the target passes, and its use is level over executions",
    ),
    refuted_by=(
        "memory grows with every execution (`resource_leak`)",
        "one input makes the product ask for far too much (`input_bug`)",
    ),
    fixes=(
        "run fewer tests at a time, or raise the limit",
        "use smaller data in tests",
    ),
    example="""
        table = bytearray(2 * 1024**3)      # the container allows 1 GiB
    """,
)

MISSING = "compare the peak memory of passing and failing trials with the limit: level and above it, or growing?"


def suspect(case: Case) -> Iterator[Suspicion]:
    """Allocations that failed."""
    if case.factor == "memory":
        yield Suspicion(Verdict.ENVIRONMENT, TRIGGER - 5, MISSING)
    elif case.exception == "MemoryError" or case.says("cannot allocate memory"):
        yield Suspicion(Verdict.ENVIRONMENT, KIND, MISSING)
