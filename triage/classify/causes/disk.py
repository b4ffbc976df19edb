"""`disk`: the disk is full, read-only or too slow."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import TRIGGER, Cause, Suspicion
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="disk",
    verdicts=(Verdict.ENVIRONMENT,),
    meaning="""Writing fails because the file system is full, read-only, over quota, or out of inodes.""",
    evidence=(
        "the error number, and the state of the file system at that time",
        "with space left the target passes",
    ),
    refuted_by=("the target itself fills the disk, a little more at every run (`resource_leak`)",),
    fixes=(
        "free space; let old temporary folders be removed",
        "point the temporary folder to a larger file system",
    ),
    example="""
        OSError: [Errno 28] No space left on device
    """,
)

MISSING = "look at space, inodes and mount options of the file system that the failing path is on"


def suspect(case: Case) -> Iterator[Suspicion]:
    """What the system says when it cannot write."""
    if case.says("no space left on device", "read-only file system", "disk quota exceeded", "disk is full"):
        yield Suspicion(Verdict.ENVIRONMENT, TRIGGER + 5, MISSING)
