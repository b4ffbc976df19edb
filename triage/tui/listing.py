"""The two tables: the experiments of a history, and the trials of an experiment."""

from __future__ import annotations

from collections.abc import Sequence

from triage.model.entry import Entry, State
from triage.model.outcome import FAILURES, NO_EVIDENCE, Outcome
from triage.model.trial import Trial
from triage.model.verdict import Rate, Verdict
from triage.report import trials, words
from triage.report.escape import prose, visible
from triage.tui.canvas import VERDICTS, Span
from triage.tui.table import Column, Row, Table, cell, make_table

INCOMPLETE = "*"
"""Behind a verdict that was ended before everything was looked at."""

EXPERIMENTS = (
    Column("test", 0, least=26),
    Column("verdict", 1),
    Column("cause", 4),
    Column("strength", 6),
    Column("worst", 2, right=True),
    Column("baseline", 3, right=True),
    Column("started", 5),
    Column("trials", 7, right=True),
    Column("id", 8),
    Column("why", 9, least=30, is_prose=True),
)
TRIALS = (
    Column("#", 0, right=True),
    Column("status", 1, right=True),
    Column("arm", 2, least=20),
    Column("seconds", 3, right=True),
    Column("stage", 5),
    Column("what", 4, least=10, is_prose=True),
)


def experiments(entries: Sequence[Entry]) -> Table:
    """Return the table of experiments, in the order given."""
    return make_table(EXPERIMENTS, [_experiment(entry) for entry in entries])


def of_trials(found: Sequence[Trial]) -> Table:
    """Return the table of trials, in the order in which they were recorded."""
    return make_table(TRIALS, [_trial(place, trial) for place, trial in enumerate(found)])


def strength(entry: Entry) -> str:
    """Return how sure the verdict is; of an undecided one the strength is that of its trigger, which the list does not know."""
    return "" if entry.strength is None or entry.verdict is Verdict.UNDETERMINED else entry.strength.value


def _experiment(entry: Entry) -> Row:
    if entry.state is State.FINISHED and entry.verdict is not None:
        verdict = Span(words.TITLES[entry.verdict] + ("" if entry.complete else INCOMPLETE), VERDICTS[entry.verdict])
    else:
        verdict = Span(entry.state.value, "label")
    cells = (
        cell(visible(entry.target)),
        verdict,
        cell(prose(entry.cause or "-")),
        Span(strength(entry) or "-"),
        Span(_percent(entry.worst)),
        Span(_percent(entry.baseline)),
        Span(trials.moment(entry.started)),
        Span(str(entry.trials)),
        Span(entry.short),
        cell(prose(entry.summary)),
    )
    whole = f"{visible(entry.target)} {trials.verdict(entry)} {entry.cause or ''} {strength(entry)} {entry.experiment}"
    return Row(entry.experiment, cells, whole.lower())


def _trial(place: int, trial: Trial) -> Row:
    arm, status, what = visible(trial.arm.label), trials.status(trial), trials.what(trial)
    cells = (
        Span(str(trial.number)),
        Span(status, _style(trial.outcome)),
        cell(arm),
        Span(f"{trial.wall_seconds:.2f}"),
        Span(trial.stage.value),
        cell(what),
    )
    return Row(str(place), cells, f"{arm} {status} {trial.outcome} {trial.stage} {what}".lower())


def _style(outcome: Outcome) -> str:
    if outcome in FAILURES:
        return "bad"
    return "warn" if outcome in NO_EVIDENCE else "good"


def _percent(rate: Rate | None) -> str:
    return words.percent(rate.failed / rate.trials) if rate else "-"
