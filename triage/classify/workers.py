"""What trials with pytest-xdist add to a finding, and what xdist hides from its owner."""

from __future__ import annotations

from collections.abc import Sequence

from triage.classify.case import Case
from triage.classify.wording import at_level, counted
from triage.model.claim import Study
from triage.model.outcome import Outcome
from triage.model.signature import Signature
from triage.model.trial import Trial
from triage.model.verdict import Evidence

FACTOR = "workers"


def collection_evidence(study: Study) -> list[Evidence]:
    """Say which tests are collected differently in each process."""
    told = "; pytest-xdist runs nothing where its workers collect differently, and such a node id may be gone in the next run"
    return [Evidence(kind="collection", statement=statement + told) for statement in study.unsteady]


def hidden_by_xdist(signature: Signature, study: Study) -> list[Evidence]:
    """Say so where the user's own command does not show a death: xdist reports none after a worker's last test."""
    if study.split is None or signature.phase != "exit" or signature.outcome not in {Outcome.CRASHED, Outcome.HUNG}:
        return []
    statement = (
        f"the user's own command runs {at_level(FACTOR, study.split)}, which hides this: a worker that dies or hangs after "
        "its last test changes neither report nor exit status"
    )
    return [Evidence(kind="workers", statement=statement)]


def replays(case: Case, trials: Sequence[Trial]) -> list[Evidence]:
    """Say what became of the sequence of a worker, run again in one process without xdist."""
    sequences = {before for trial in case.failures if (before := trial.before_in_worker(case.target))}
    mine = set(map(id, case.failures))
    again = [t for t in trials if (order := t.arm.level("order")) is not None and order.ids in sequences]
    if not again:
        return []
    failed = sum(id(trial) in mine for trial in again)
    statement = (
        f"what a worker had run before the target when it failed, run again in one process without xdist: {failed} of "
        f"{counted(len(again), 'trial')} failed so"
    )
    return [Evidence(kind="workers", statement=statement, data={"failed": failed, "trials": len(again)})]


def left_open(case: Case) -> list[str]:
    """Say what a trigger of this factor leaves open."""
    if case.factor != FACTOR:
        return []
    return [
        "which of the things that come with workers it is: what other tests use at the same time (a port, a file, a database), "
        "the load that they make, or what ran before the target in its worker"
    ]
