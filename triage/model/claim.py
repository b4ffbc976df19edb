"""What the planner found out by counting: failures per arm, and claims that fresh trials were to confirm.

The planner fills these in and the classifier reads them; neither knows the other. Counts are of trials that are
evidence (see `triage.model.outcome.NO_EVIDENCE`), never of executions within a trial.
"""

from __future__ import annotations

from msgspec import Struct

from triage.model.arm import Arm


class ArmCount(Struct, frozen=True):
    """Failures among the trials of one arm that are evidence; what counts as a failure is said by who holds it."""

    arm: Arm
    failed: int
    trials: int
    clusters: tuple[tuple[int, int], ...] = ()
    """Of forked trials: failed and trials of each process that they were forked from; what was drawn at its start, all of its
    trials share."""
    processes: tuple[int | None, ...] = ()
    """Of forked trials: the number of each of these processes."""

    @property
    def rate(self) -> float:
        """Share of the trials that failed, 0 to 1; 0 without trials."""
        return self.failed / self.trials if self.trials else 0.0


class Claim(Struct, frozen=True, kw_only=True):
    """`factor` at the trigger's level makes the target fail with one signature more often than at the counter level.

    All counts are of confirm trials: fresh processes, one at a time, their number fixed beforehand.
    """

    factor: str
    trigger: ArmCount
    """The arm that fails; failures with this signature."""
    counter: ArmCount
    """The same arm with that one factor at a level at which the target passes; failures with this signature."""
    p_value: float
    """One-sided, of the exact test of the two counts."""
    alpha: float
    """The level that this claim was granted, after the split over everything that may be claimed."""
    confirmed: bool
    planned: int
    """Trials for each of the two arms, fixed before the first of them was run."""
    plain_trigger: ArmCount | None = None
    """Trials of the trigger without the probe, judged by exit status alone: any failure; None if none were run."""
    plain_counter: ArmCount | None = None
    """The same of the counter level."""

    @property
    def effect(self) -> float:
        """Difference of the two failure rates, -1 to 1."""
        return self.trigger.rate - self.counter.rate


class SignatureStudy(Struct, frozen=True, kw_only=True):
    """Everything that was counted about one signature."""

    signature: str
    """Key of the signature (`triage.model.signature.Signature.key`), as the planner's observations carry it."""
    claims: tuple[Claim, ...] = ()
    """The confirmed and the refuted ones; empty if no arm was worth a claim or the budget ended before."""
    arms: tuple[ArmCount, ...] = ()
    """Failures with this signature in the screen and focus trials; these chose the claims and never confirm them."""
    note: str = ""
    """Why there is no claim, or what kept one from being confirmed, in words for people; empty if nothing did."""


class Study(Struct, frozen=True, kw_only=True):
    """Everything that was counted about one target."""

    target: str
    """Node id."""
    studies: tuple[SignatureStudy, ...] = ()
    """One for each signature that was seen, in no particular order; empty if no trial failed."""
    total: tuple[ArmCount, ...] = ()
    """Any failure, over all stages but controls and plain trials; every arm that was tried has an entry."""
    complete: bool = True
    """False if the budget, the user or a signal ended the experiment before it was done."""
    excluded: tuple[tuple[str, str], ...] = ()
    """Factors that were not varied, each with the reason in words for people."""
    unforkable: str | None = None
    """Why no trial could be forked; None if they could."""
    seeded_apart: tuple[str, ...] = ()
    """Random generators that the target seeds at import, with another state in each process."""
    baseline: ArmCount | None = None
    """Any failure of the user's own command; None if it had no trial."""
    split: str | None = None
    """How the user's own command splits tests over workers, as a level of `workers`; None if it does not."""
    unsteady: tuple[str, ...] = ()
    """Which tests of the scope are collected differently in each process, a sentence each."""
