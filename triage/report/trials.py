"""Listings: the trials of an experiment, and the experiments of a history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, tzinfo
from itertools import groupby

from triage.model.arm import Depth
from triage.model.entry import Entry, State
from triage.model.outcome import Outcome
from triage.model.trial import Stage, Trial
from triage.model.verdict import Verdict
from triage.report import words
from triage.report.escape import prose, visible
from triage.report.layout import shorten, table

STATUS = {
    Outcome.PASSED: "PASS",
    Outcome.FAILED: "FAIL",
    Outcome.ERROR: "ERROR",
    Outcome.CRASHED: "CRASH",
    Outcome.HUNG: "HANG",
    Outcome.KILLED: "KILLED",
    Outcome.SKIPPED: "SKIP",
    Outcome.XFAILED: "XFAIL",
    Outcome.XPASSED: "XPASS",
    Outcome.NOT_COLLECTED: "NOT RUN",
    Outcome.BROKEN: "BROKEN",
}
NOTHING_YET = "no experiment yet; `triage run NODEID` makes the first one"
NO_TRIAL = "no trial has finished"
WIDEST_ARM = 32
WIDEST_WHAT = 200


def trials_text(trials: Sequence[Trial]) -> str:
    """Return one line for each trial and a last one that counts them by outcome; controls are counted apart.

    Forked trials of one process that followed each other and ended alike share a line: there are hundreds of them.
    """
    if not trials:
        return NO_TRIAL
    rows = [["#", "stage", "arm", "status", "time", "what"]]
    rows += [_row(list(group)) for _, group in groupby(trials, _alike)]
    return "\n".join([*table(rows, frozenset({0, 3, 4})), "", _counts(trials)])


def _alike(trial: Trial) -> tuple[object, ...]:
    """Return what trials that share a line have in common; a trial in a process of its own shares it with none."""
    if trial.arm.depth is Depth.COLD:
        return (trial.number, trial.started)
    return (trial.cluster, trial.stage, status(trial), what(trial))


def _row(group: list[Trial]) -> list[str]:
    first, last = group[0], group[-1]
    arms = {trial.arm for trial in group}
    label = first.arm.label if len(arms) == 1 else f"{len(arms)} arms (forked)"
    count = "" if len(group) == 1 else f"{len(group)} of process {first.cluster}"
    return [
        str(first.number) if len(group) == 1 else f"{first.number}-{last.number}",
        first.stage,
        shorten(visible(label), WIDEST_ARM),
        status(first),
        words.seconds(sum(trial.wall_seconds for trial in group)),
        "; ".join(filter(None, (count, shorten(what(first), WIDEST_WHAT)))),
    ]


def status(trial: Trial) -> str:
    """Return one word for the outcome; a crash has the name of its signal."""
    if trial.outcome is Outcome.CRASHED and trial.signal:
        return visible(trial.signal)
    return STATUS[trial.outcome]


def history_text(entries: Sequence[Entry], zone: tzinfo | None = None) -> str:
    """Return one line for each experiment; times are those of `zone`, by default this machine's."""
    if not entries:
        return NOTHING_YET
    rows = [["id", "started", "verdict", "cause", "failed", "target"]]
    rows += [
        [
            entry.short,
            moment(entry.started, zone),
            verdict(entry),
            prose(entry.cause or "-"),
            f"{entry.failed}/{entry.counted}",
            visible(entry.target),
        ]
        for entry in entries
    ]
    return "\n".join(table(rows, frozenset({4})))


def moment(started: float, zone: tzinfo | None = None) -> str:
    """Return a time, given in seconds since the epoch, as date and minute in `zone`, by default this machine's."""
    return datetime.fromtimestamp(started, zone).strftime("%Y-%m-%d %H:%M")


def verdict(entry: Entry) -> str:
    """Return the verdict of an experiment, or how far it got; also whether it is complete."""
    if entry.state is not State.FINISHED or entry.verdict is None:
        return entry.state.value
    title = words.TITLES[Verdict(entry.verdict)]
    return title if entry.complete else f"{title}, incomplete"


def what(trial: Trial) -> str:
    """Return why the trial ended as it did, in one line."""
    failure = trial.failure
    told = ""
    if failure and trial.is_failure:
        where = {"": "", "call": "", "exit": " at exit"}.get(failure.phase, f" in {failure.phase}")
        first = failure.message.strip().partition("\n")[0]
        told = ": ".join(part for part in (f"{failure.exception or ''}{where}".strip(), first) if part)
    nth = f"execution {trial.index}" if trial.is_failure and trial.index and trial.index > 1 else ""
    return "; ".join(prose(part) for part in (told, trial.reason or "", nth) if part)


def _counts(trials: Sequence[Trial]) -> str:
    own = [trial for trial in trials if trial.stage is not Stage.CONTROL]
    counted = Counter(trial.outcome for trial in own)
    parts = [f"{counted[outcome]} {outcome.replace('_', ' ')}" for outcome in Outcome if counted[outcome]]
    controls = len(trials) - len(own)
    text = f"{words.plural(len(own), 'trial')}: {', '.join(parts)}" if own else "no trial of the target"
    return f"{text}; and {words.plural(controls, 'control')}" if controls else text
