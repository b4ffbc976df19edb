"""What forked trials add: rates that many trials make narrow, and whether fresh processes agree. They decide nothing."""

from __future__ import annotations

from collections.abc import Sequence

from triage.classify.evidence import rates
from triage.classify.wording import counted, happening, interval, of, percent, sentence
from triage.model.arm import BASELINE, Arm, Depth
from triage.model.claim import ArmCount, SignatureStudy, Study
from triage.model.signature import Signature
from triage.model.trial import Trial
from triage.model.verdict import Evidence, Finding, Strength, Verdict
from triage.stats.clusters import effective
from triage.stats.exact import detectable_difference, fisher_two_sided
from triage.stats.intervals import upper_bound

OUTSIDE = ("collect", "exit")
"""Phases of a process' life that a forked trial is without."""
DISAGREES = 0.01
"""Two-sided p at which forked trials and fresh processes are held to differ."""
POWER = 0.8
MOST_COMPARED = 300
"""Forked trials that the difference is stated for, at most: more would hardly change it."""


def is_forked(trial: Trial) -> bool:
    """Whether a trial was forked from a process that had collected."""
    return trial.arm.depth is Depth.FORKED


def forks_pass(trials: Sequence[Trial]) -> bool:
    """Whether forked trials pass in a way that forbids to say that the target always fails.

    They do not where all of them pass and all fresh processes fail: then what fails is outside of what a fork runs.
    """
    forks = [trial.is_failure for trial in trials if is_forked(trial) and trial.is_evidence]
    return not all(forks) and any(forks)


def forked_evidence(signature: Signature, counts: Sequence[ArmCount], study: Study) -> list[Evidence]:
    """Say how the baseline did in forked trials beside fresh processes, or why there are none."""
    if study.unforkable:
        return [Evidence(kind="forked", statement=f"every trial ran in a fresh process: {study.unforkable}")]
    if signature.phase in OUTSIDE:
        told = "forked trials, which begin after collection and end before the process does, cannot show this"
        return [Evidence(kind="forked", statement=told)]
    known = {count.arm: count for count in counts}
    forked = known.get(BASELINE.forked)
    if forked is None or not forked.trials:
        return []
    how = "run as the user runs it" if study.split is None else "run in one process, without the user's own workers"
    statement = (
        f"forked from {counted(len(forked.clusters), 'process')} that had collected, and {how}, it failed so in "
        f"{of(forked)} trials ({interval(forked)})"
    )
    cold = known.get(BASELINE)
    if cold is not None and cold.trials:
        statement += f", in fresh processes in {of(cold)}: {comparison(forked, cold)}"
    found = [Evidence(kind="forked", statement=statement)]
    if study.seeded_apart:
        names = ", ".join(f"`{name}`" for name in study.seeded_apart)
        told = f"something seeds {names} at import, with another state in each process, which all forks of one share"
        found.append(Evidence(kind="seeded", statement=told))
    return found


def made_by_forking(signature: Signature, known: SignatureStudy) -> Evidence | None:
    """Say so if forked trials failed always and fresh processes never, too often for chance: then forking itself does it."""
    forked = next((count for count in known.arms if count.arm == BASELINE.forked), None)
    fresh = [count for count in known.arms if count.arm.depth is Depth.COLD]
    cold = ArmCount(BASELINE, sum(count.failed for count in fresh), sum(count.trials for count in fresh))
    if forked is None or cold.failed or forked.failed < forked.trials or not differ(forked, cold):
        return None
    statement = (
        f"forking itself made it fail, which counts for nothing: it {happening(signature)} in {of(forked)} of them, from "
        f"{counted(len(forked.clusters), 'process')}, and in none of {counted(cold.trials, 'fresh process')}"
    )
    return Evidence(kind="forked", statement=statement)


def differ(forked: ArmCount, cold: ArmCount) -> bool:
    """Whether two counts are held to differ; forked trials count for what their clusters are worth."""
    failed, trials = (round(number) for number in effective(forked.clusters))
    return fisher_two_sided(failed, max(trials, failed), cold.failed, cold.trials) < DISAGREES


def comparison(forked: ArmCount, cold: ArmCount) -> str:
    """Say whether two counts agree, and what difference would have been seen."""
    if differ(forked, cold):
        return "they differ, and fresh processes count"
    failed, trials = (round(number) for number in effective(forked.clusters))
    trials = max(trials, failed)
    rate = failed / trials if trials else 0.0
    towards_half = min(rate, 1 - rate)  # the harder direction: away from it, the same difference shows sooner
    seen = detectable_difference(towards_half, cold.trials, DISAGREES / 2, POWER, b_trials=min(trials, MOST_COMPARED))
    if seen is None:
        return "too few trials to tell whether they differ"
    return (
        f"no difference was seen, and one of {percent(seen)} or more would have been, with {percent(POWER)} probability"
    )


def only_forked(signature: Signature, failures: Sequence[Trial], known: SignatureStudy, study: Study) -> Finding:
    """Return the finding of a failure that no fresh process showed: real, perhaps, or made by forking."""
    arms = {count.arm: count for count in known.arms}
    best = max(
        (count for count in known.arms if count.arm.depth is Depth.FORKED and count.failed),
        key=lambda count: (not count.arm.levels, count.rate),
        default=None,
    )
    summary = f"it {happening(signature)}"
    left = [
        "who is wrong",
        "what triggers it",
        "whether it happens in fresh processes at all: a fork may make failures of its own",
    ]
    if best is None:
        summary += f" in {counted(len(failures), 'forked trial')}"
    else:
        summary += f" in {of(best)} forked trials ({interval(best)}"
        summary += ")" if not best.arm.levels else f"; {best.arm.label})"
    cold = arms.get(Arm(best.arm.levels)) if best is not None else None
    if cold is not None and cold.trials:
        summary += f" and in none of {counted(cold.trials, 'fresh process')}"
        if best is not None:
            missed = (1 - best.rate) ** cold.trials
            left.append(
                f"that fresh processes fail as often: at the rate of forked trials {percent(missed)} of such series would show "
                f"no failure, and rates up to {percent(upper_bound(0, cold.trials))} are not excluded"
            )
    return Finding(
        verdict=Verdict.UNDETERMINED,
        strength=Strength.SUGGESTED,
        summary=sentence(summary) + "; it is flaky there, and neither its trigger nor who is wrong is known.",
        signature=signature.text,
        rates=rates(known.arms),
        evidence=tuple(_message(failures)),
        not_established=(*left, *((known.note,) if known.note else ()), *(() if study.complete else (ENDED,))),
        next="run it again with more `--budget`, so that fresh processes can show it",
    )


ENDED = "the experiment was ended before it was done"


def _message(failures: Sequence[Trial]) -> list[Evidence]:
    failure = next((trial.failure for trial in failures if trial.failure and trial.failure.message), None)
    if failure is None:
        return []
    text = next(iter(failure.message.strip().splitlines()), "")[:200]
    statement = f"one of the messages: {text}"
    return [Evidence(kind="message", statement=statement, data={"source": failure.source.strip()})]
