"""What ran is what is recorded: a trial whose tests ran in another order than its arm says is none of that arm."""

from __future__ import annotations

from msgspec.structs import replace

from triage.model.outcome import NO_EVIDENCE, Outcome
from triage.model.trial import Trial


def in_order(trial: Trial, target: str) -> Trial:
    """Return the trial, broken if other tests ran before the target than its order says."""
    order = trial.arm.level("order")
    if order is None or trial.outcome in NO_EVIDENCE or target not in trial.sequence:
        return trial
    before = trial.sequence[: trial.sequence.index(target)]
    if before == order.ids:
        return trial
    reason = f"pytest ran {len(before)} tests before the target in another order than the {len(order.ids)} asked for"
    return replace(trial, outcome=Outcome.BROKEN, reason=reason, failure=None)
