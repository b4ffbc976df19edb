"""`network`: the test needs somebody else's machine."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import FACT, KIND, TRIGGER, Cause, Suspicion
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="network",
    verdicts=(Verdict.WRONG_TEST,),
    meaning="""The test reaches beyond this machine, and fails when the network or the other side is slow, absent or
        different. What the product should do in that case is not what the test is about.""",
    evidence=(
        "the address, and whose frames connected",
        "without network the same failure appears, or with a local stand-in it disappears",
    ),
    refuted_by=(
        "the product handles the error wrongly: that is its own fault, which the network only brings out",
        "only loopback was used",
    ),
    fixes=(
        "put a local server or a recorded answer in its place",
        "mark tests that need the network, and run them apart",
    ),
    example="""
        assert requests.get("https://example.org/rates").json()["EUR"] > 0
    """,
)

NETWORK_ERRORS = frozenset(
    {
        "gaierror",
        "ConnectionError",
        "ConnectionRefusedError",
        "ConnectionResetError",
        "ConnectTimeout",
        "ReadTimeout",
        "ConnectError",
        "URLError",
    }
)
MISSING = "replace the remote side by a local server that answers the same: does the failure disappear?"


def suspect(case: Case) -> Iterator[Suspicion]:
    """Where the test reaches beyond loopback."""
    if case.factor == "network":
        yield Suspicion(Verdict.WRONG_TEST, TRIGGER - 2, MISSING)
    elif case.facts.remote:
        yield Suspicion(Verdict.WRONG_TEST, KIND + 2 if case.exception in NETWORK_ERRORS else FACT - 5, MISSING)
