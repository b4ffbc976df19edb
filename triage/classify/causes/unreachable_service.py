"""`unreachable_service`: a service that the tests rely on is not there."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import KIND, Cause, Suspicion
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="unreachable_service",
    verdicts=(Verdict.ENVIRONMENT,),
    meaning="""A database, queue or server that the test environment is to provide does not answer. Neither the product
        nor the test decides that.""",
    evidence=(
        "the address, and that a plain connection to it fails in the same way",
        "with the service up the target passes",
    ),
    refuted_by=("the service is up: the product or the test connects wrongly or too early",),
    fixes=(
        "start the service before the tests and wait until it answers",
        "skip with a reason where it is optional",
    ),
    example="""
        engine.connect()        # connection refused: the database container is still starting
    """,
)

MISSING = "connect to the same address by hand while the target fails: does the service answer?"


def suspect(case: Case) -> Iterator[Suspicion]:
    """Connections that fail."""
    refused = case.exception in {"ConnectionRefusedError", "gaierror"} or case.says(
        "connection refused", "name or service not known"
    )
    if case.factor == "network" or (refused and (case.facts.connects or case.facts.lookups)):
        yield Suspicion(Verdict.ENVIRONMENT, KIND, MISSING)
