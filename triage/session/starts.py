"""The setting that the user's own command names, such as a seed that failed in CI: tried as it is before anything else."""

from __future__ import annotations

from collections.abc import Sequence

from triage.factors.base import Factor
from triage.model.arm import Arm
from triage.model.trial import Trial
from triage.model.verdict import Evidence
from triage.stats.intervals import upper_bound

TRIALS = 5
SETS = {"order": "order up to the target", "rng_seed": "seeds of random numbers"}
"""Factors whose levels one random-ordering plugin sets at once, in words."""


def arm_of_starts(factors: Sequence[Factor]) -> Arm | None:
    """Return the arm of all levels that a random-ordering plugin set together; None if there are none."""
    listed = [(factor, level) for factor in factors if factor.name in SETS for level in factor.levels()]
    levels = [level for factor, level in listed if any(start.value == level.value for start in factor.starts)]
    first = {level.factor: level for level in reversed(levels)}
    return Arm(tuple(first[name] for name in SETS if name in first)) if first else None


def evidence(arm: Arm | None, trials: Sequence[Trial]) -> tuple[Evidence, ...]:
    """Say whether that setting brings the failure here."""
    tried = [trial for trial in trials if trial.arm == arm and trial.is_evidence]
    if arm is None or not tried:
        return ()
    failed = sum(trial.is_failure for trial in tried)
    what = " and ".join(SETS[one.factor] for one in arm.levels)
    of = f"{failed} of {len(tried)} trials"
    if failed:
        said = f"{arm.levels[0].value}: its {what} brought a failure in {of}"
    else:
        bound = f"{100 * upper_bound(0, len(tried)):.0f}%"
        said = f"{arm.levels[0].value}: its {what} brought no failure in {len(tried)} trials, so its rate is below {bound} (95%)"
    data = {"levels": [level.label for level in arm.levels], "failed": failed, "trials": len(tried)}
    return (Evidence(kind="ci", statement=f"{said}.", data=data),)
