"""What was counted, as evidence, rates and commands; and which claims stand."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from triage.classify.wording import at_level, bound, bounds, counted, level_of, of
from triage.model.arm import Arm, Depth
from triage.model.claim import ArmCount, Claim, Study
from triage.model.trial import Stage, Trial
from triage.model.verdict import Evidence, Rate, Reproduction
from triage.stats.exact import fisher_two_sided

CONTRADICTION = 0.01
"""Two-sided p at which runs without the probe are held to differ from those with it."""
CORE_FACTORS = (
    "repeat", "order", "hash_seed", "rng_seed", "workers", "python", "schedule", "cpu_load", "clock", "clock_resolution",
    "timezone", "locale", "network", "fs_order", "gc", "allocator", "memory",
)  # fmt: skip
"""The factors of the design; those that an experiment did not vary are named among what was not established."""


def contradiction(claim: Claim, trials: Sequence[Trial]) -> str | None:
    """Say where runs of the printed command without the probe contradict those with it; None if they do not.

    Runs without the probe are judged by exit status, so any failure counts on both sides. Method: Fisher's exact test, two-sided.
    """
    for name, count, plain in (
        ("trigger", claim.trigger, claim.plain_trigger),
        ("counterfactual", claim.counter, claim.plain_counter),
    ):
        if plain is None or not plain.trials:
            continue
        probed = confirmed_failures(count.arm, trials) or count
        if fisher_two_sided(probed.failed, probed.trials, plain.failed, plain.trials) < CONTRADICTION:
            return (
                f"the {claim.factor} claim: without the probe the {name} failed in {of(plain)} runs, with it in {of(probed)}, "
                "so the probe itself may matter"
            )
    return None


def confirmed_failures(arm: Arm, trials: Sequence[Trial]) -> ArmCount | None:
    """Count the probed confirm trials of an arm that failed as a run without the probe fails: also by another test's failure.

    None without such a trial.
    """
    chosen = [trial for trial in trials if trial.stage is Stage.CONFIRM and trial.arm == arm and trial.is_evidence]
    failed = sum(trial.is_failure or bool(arm.with_others and trial.exit_status) for trial in chosen)
    return ArmCount(arm, failed, len(chosen)) if chosen else None


def standing(claims: Iterable[Claim], trials: Sequence[Trial]) -> tuple[Claim, ...]:
    """Return the confirmed claims that runs without the probe do not contradict, of the largest effect first."""
    kept = [claim for claim in claims if claim.confirmed and contradiction(claim, trials) is None]
    return tuple(sorted(kept, key=lambda claim: (-claim.effect, claim.p_value, claim.factor)))


def rate(count: ArmCount) -> Rate:
    """Return a count with its 95% interval (see `bounds`)."""
    low, high = bounds(count)
    return Rate(arm=count.arm.label, failed=count.failed, trials=count.trials, low=low, high=high)


def rates(arms: Iterable[ArmCount], claims: Iterable[Claim] = ()) -> tuple[Rate, ...]:
    """Return one rate an arm; an arm of a claim gets its confirm trials alone, since the others picked it."""
    counts = {count.arm: count for count in arms if count.trials}
    for claim in claims:
        counts |= {count.arm: count for count in (claim.counter, claim.trigger) if count.trials}
    return tuple(rate(count) for count in counts.values())


def reproduction(count: ArmCount, trials: Sequence[Trial]) -> Reproduction | None:
    """Return the command of an arm's confirm trials with their count; None if no such trial is known."""
    commands = [
        trial.command for trial in trials if trial.arm == count.arm and trial.stage is Stage.CONFIRM and trial.command
    ]
    return Reproduction(command=commands[-1], failed=count.failed, trials=count.trials) if commands else None


def claim_evidence(claim: Claim, trials: Sequence[Trial], *, stands: bool) -> Evidence:
    """Return a claim in words, with everything that its test was made of."""
    first = at_level(claim.factor, level_of(claim.factor, claim.trigger.arm, trials))
    second = at_level(claim.factor, level_of(claim.factor, claim.counter.arm, trials))
    state = "confirmed" if stands else "not confirmed"
    statement = (
        f"{state}: {first} {of(claim.trigger)} trials failed so, {second} {of(claim.counter)} "
        f"(exact one-sided p = {claim.p_value:.2g}, level {claim.alpha:.2g}, {claim.planned} trials an arm fixed beforehand)"
    )
    data = {
        "factor": claim.factor,
        "trigger": _data(claim.trigger),
        "counter": _data(claim.counter),
        "p_value": claim.p_value,
        "alpha": claim.alpha,
        "planned": claim.planned,
        "plain_trigger": _data(claim.plain_trigger),
        "plain_counter": _data(claim.plain_counter),
        "confirmed": stands,
    }
    return Evidence(kind="claim", statement=statement, data=data)


def plain_evidence(claim: Claim) -> Evidence | None:
    """Return what the printed commands did without the probe; None if they were not run."""
    if claim.plain_trigger is None or claim.plain_counter is None:
        return None
    statement = (
        f"without the probe, by exit status, the trigger failed in {of(claim.plain_trigger)} runs and the counterfactual in "
        f"{of(claim.plain_counter)}"
    )
    return Evidence(kind="plain", statement=statement)


def flakiness(trials: Iterable[Trial]) -> Evidence | None:
    """Say how soon one arm had both a pass and a failure; None if none ever had. The order is that of the runs."""
    seen: dict[Arm, set[bool]] = {}
    began: float | None = None
    for number, trial in enumerate((trial for trial in trials if trial.is_evidence), 1):
        began = trial.started if began is None else began
        ways = seen.setdefault(trial.arm, set())
        ways.add(trial.is_failure)
        if len(ways) > 1:
            seconds = max(0.0, trial.started + trial.wall_seconds - began)
            told = f"after {counted(number, 'trial')}, {seconds:.1f} s after the first began"
            statement = f"flaky: `{trial.arm.label}` had both passed and failed {told}"
            return Evidence(kind="flaky", statement=statement, data={"trials": number, "seconds": round(seconds, 3)})
    return None


def tried(study: Study) -> list[Evidence]:
    """Return one piece of evidence for the baseline and for each factor that was varied, with the bound of every arm."""
    pieces = []
    cold = [count for count in study.total if count.trials and count.arm.depth is Depth.COLD]
    for factor in dict.fromkeys(_factor(count.arm) for count in cold):
        counts = [count for count in cold if _factor(count.arm) == factor]
        together = ArmCount(counts[0].arm, sum(count.failed for count in counts), sum(count.trials for count in counts))
        name = f"`{factor}` ({counted(len(counts), 'level')})" if factor else "the user's own command"
        statement = f"{name}: {of(together)} trials failed, at 95 % confidence {bound(together)} of runs"
        pieces.append(Evidence(kind="rate", statement=statement, data={"arms": [_bounded(count) for count in counts]}))
    return pieces


def not_varied(study: Study) -> list[str]:
    """Say which factors stood still, and why."""
    reasons = dict(study.excluded)
    varied = {level.factor for count in study.total if count.trials for level in count.arm.levels}
    said = [f"`{factor}` was not varied: {reason}" for factor, reason in reasons.items() if factor not in varied]
    silent = [f"`{factor}`" for factor in CORE_FACTORS if factor not in varied and factor not in reasons]
    if silent:
        said.append(f"not varied by this experiment: {', '.join(silent)}")
    return said


def _factor(arm: Arm) -> str:
    return " + ".join(level.factor for level in arm.levels)


def _data(count: ArmCount | None) -> dict[str, object] | None:
    return None if count is None else {"arm": count.arm.label, "failed": count.failed, "trials": count.trials}


def _bounded(count: ArmCount) -> dict[str, object]:
    found = rate(count)
    return {"arm": found.arm, "failed": found.failed, "trials": found.trials, "low": found.low, "high": found.high}
