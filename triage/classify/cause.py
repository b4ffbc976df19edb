"""What a cause is: its documentation, a rule that may decide, and a suspicion that ranks it where nothing decides."""

from __future__ import annotations

from msgspec import Struct

from triage.model.verdict import Culprit, Evidence, Hypothesis, Strength, Verdict

TRIGGER = 60
"""Weight of a suspicion: it is what the confirmed trigger usually means."""
KIND = 50
"""The exception type, the signal or the hang points to it."""
FACT = 40
"""The test does what it takes to have it (threads, sleeps, sockets)."""
FALLBACK = 10
"""Nothing speaks against it. A few points more or less order explanations that fit equally well."""


class Cause(Struct, frozen=True, kw_only=True):
    """The documentation of one cause, which `triage explain` prints."""

    name: str
    verdicts: tuple[Verdict, ...]
    """The verdicts that it can belong to."""
    meaning: str
    evidence: tuple[str, ...]
    """What must have been seen before the cause may be named."""
    refuted_by: tuple[str, ...]
    """What would show that it is something else."""
    fixes: tuple[str, ...]
    """What usually helps."""
    example: str
    """A few lines of Python that have it."""


class Suspicion(Struct, frozen=True):
    """How well a cause fits what was seen. It decides nothing."""

    verdict: Verdict
    weight: int
    """Larger fits better; the scale is above."""
    missing: str
    """What would decide it: a step in the imperative, without a full stop."""


class Proposal(Struct, frozen=True, kw_only=True):
    """What a rule that does not abstain says of a case.

    The verdict is `undetermined` where the rule is the right one to look and found no ground to decide on; `reason` says why.
    """

    verdict: Verdict
    cause: str | None = None
    strength: Strength = Strength.SUGGESTED
    subject: str = ""
    """What the summary is about, such as "`_read` in shop/native.py:40"; empty: the signature."""
    reason: str = ""
    culprits: tuple[Culprit, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    not_established: tuple[str, ...] = ()
    hypotheses: tuple[Hypothesis, ...] = ()
    """Best first; empty: ranked by the causes' suspicions."""
    next: str = ""
