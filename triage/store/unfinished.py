"""What can be said of an experiment that has no report: that it has none, and what its trials did."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from triage.model.trial import Stage, Trial
from triage.model.verdict import Environment, Finding, Rate, Report, Strength, Verdict
from triage.stats.intervals import clopper_pearson


def unfinished_report(
    *,
    experiment: str,
    target: str,
    running: bool,
    trials: Sequence[Trial],
    environment: Environment,
    started: float,
) -> Report:
    """Return an undetermined, incomplete report that counts failures by arm and concludes nothing.

    `started` is in seconds since the epoch. Controls count nowhere: they are not the target.
    """
    own = [trial for trial in trials if trial.stage is not Stage.CONTROL]
    failed = sum(trial.is_failure for trial in own)
    state = "is still running" if running else "was interrupted before it had a verdict"
    finding = Finding(
        verdict=Verdict.UNDETERMINED,
        strength=Strength.SUGGESTED,
        summary=f"The experiment {state}; so far {failed} of {_plural(len(own), 'trial')} failed.",
        rates=_rates(own),
        not_established=("everything: no step of the experiment was concluded",),
        next="wait for it to end" if running else "run it again",
    )
    end = max((trial.started + trial.wall_seconds for trial in trials), default=started)
    return Report(
        **{name: getattr(finding, name) for name in finding.__struct_fields__},
        experiment=experiment,
        target=target,
        findings=(finding,),
        environment=environment,
        trials=len(own),
        wall_seconds=round(max(0.0, end - started), 3),
        complete=False,
    )


def _rates(trials: Sequence[Trial]) -> tuple[Rate, ...]:
    counts: dict[str, list[bool]] = defaultdict(list)
    for trial in trials:
        if trial.is_evidence:
            counts[trial.arm.label].append(trial.is_failure)
    result = []
    for label, failures in counts.items():
        low, high = clopper_pearson(sum(failures), len(failures))
        result.append(Rate(arm=label, failed=sum(failures), trials=len(failures), low=low, high=high))
    return tuple(result)


def _plural(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
