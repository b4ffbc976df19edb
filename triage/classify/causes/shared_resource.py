"""`shared_resource`: tests or processes compete for one port, file or name."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import KIND, TRIGGER, Cause, Suspicion
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="shared_resource",
    verdicts=(Verdict.WRONG_TEST,),
    meaning="""Two tests, workers or processes use the same fixed port, path, database or name at the same time, and
        the second one fails. Alone, or with names of its own, the test passes.""",
    evidence=(
        "the name in conflict, fixed in test code",
        "it fails with workers or parallel runs and not one at a time, confirmed",
    ),
    refuted_by=(
        "the product itself uses a fixed name that users cannot change (`race`)",
        "nothing else used the name: the test's own earlier socket or file is still open (`resource_leak`)",
    ),
    fixes=(
        "bind port 0 and ask for the number",
        "use `tmp_path`, and names with the worker's id",
    ),
    example="""
        server = start(port=8765)       # the other xdist worker has it already
    """,
)

MISSING = "run it with a port, path or database of its own, one at a time and beside others: does the failure follow the name?"


def suspect(case: Case) -> Iterator[Suspicion]:
    """Names that were taken, and workers that decide."""
    taken = case.says("address already in use", "file exists", "database is locked", "resource temporarily unavailable")
    if case.factor == "workers":
        yield Suspicion(Verdict.WRONG_TEST, TRIGGER + 2 if taken else TRIGGER - 6, MISSING)
    elif taken:
        yield Suspicion(Verdict.WRONG_TEST, KIND, MISSING)
