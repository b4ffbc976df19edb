"""Listings: the trials of an experiment, and the experiments of a history."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, tzinfo

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
WIDEST_ARM = 24
WIDEST_WHAT = 200


def trials_text(trials: Sequence[Trial]) -> str:
    """Return one line for each trial and a last one that counts them by outcome; controls are counted apart."""
    if not trials:
        return "no trial has finished"
    rows = [["#", "stage", "arm", "status", "time", "what"]]
    rows += [
        [
            str(trial.number),
            trial.stage,
            shorten(visible(trial.arm.label), WIDEST_ARM),
            status(trial),
            words.seconds(trial.wall_seconds),
            shorten(_what(trial), WIDEST_WHAT),
        ]
        for trial in trials
    ]
    return "\n".join([*table(rows, frozenset({0, 3, 4})), "", _counts(trials)])


def status(trial: Trial) -> str:
    """Return one word for the outcome; a crash has the name of its signal."""
    if trial.outcome is Outcome.CRASHED and trial.signal:
        return visible(trial.signal)
    return STATUS[trial.outcome]


def history_text(entries: Sequence[Entry], zone: tzinfo | None = None) -> str:
    """Return one line for each experiment; times are those of `zone`, by default this machine's."""
    if not entries:
        return "no experiment yet; `triage run NODEID` makes the first one"
    rows = [["id", "started", "verdict", "cause", "failed", "target"]]
    rows += [
        [
            entry.short,
            datetime.fromtimestamp(entry.started, zone).strftime("%Y-%m-%d %H:%M"),
            _verdict(entry),
            prose(entry.cause or "-"),
            f"{entry.failed}/{entry.counted}",
            visible(entry.target),
        ]
        for entry in entries
    ]
    return "\n".join(table(rows, frozenset({4})))


def _verdict(entry: Entry) -> str:
    if entry.state is not State.FINISHED or entry.verdict is None:
        return entry.state.value
    title = words.TITLES[Verdict(entry.verdict)]
    return title if entry.complete else f"{title}, incomplete"


def _what(trial: Trial) -> str:
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
