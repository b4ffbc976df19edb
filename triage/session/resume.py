"""Go on with an interrupted experiment where everything that decides about its trials is as it was.

Kept trials choose what is looked at, as they did before, and conclude nothing. Those of a confirmation that had begun are counted
among them, and the confirmation starts anew with fresh trials: what somebody saw before they interrupted is no part of a claim.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from triage.errors import TriageError
from triage.model.events import EventSink, Noted
from triage.model.project import Item, Project
from triage.model.surface import Surface, differences, listed
from triage.model.trial import Stage, Trial
from triage.model.verdict import Evidence, Finding
from triage.session.options import RunOptions
from triage.store.history import History
from triage.targets.surface import surface_of

PAUSE = 30.0
"""Seconds without a trial that are taken for an interruption: the start of a process to be forked takes less."""


class Kept(Struct, frozen=True, kw_only=True):
    """What an interrupted experiment brings along."""

    experiment: str
    trials: tuple[Trial, ...]
    spent: float
    """Seconds of the budget."""
    confirming: int = 0
    """Trials of a confirmation that was interrupted."""

    @property
    def evidence(self) -> Evidence:
        """Say in the report what was continued."""
        statement = f"The experiment was interrupted and continued: {len(self.trials)} trials from before count"
        if self.confirming:
            statement += (
                f"; {self.confirming} trials of a confirmation that had begun confirm nothing, which was done anew"
            )
        return Evidence(kind="continued", statement=f"{statement}.", data={"kept": len(self.trials)})


def surface(project: Project, options: RunOptions, environ: Mapping[str, str]) -> Surface:
    """Return what must be equal for trials of an earlier run to count again; the limits need not be."""
    asked = {
        "--scope": options.scope or "",
        "--factor": " ".join(sorted(options.factors)),
        "--skip": " ".join(sorted(options.skip)),
        "--python": " ".join(options.python),
        "--seed": "" if options.seed is None else str(options.seed),
    }
    return surface_of(project, environ, {name: value for name, value in asked.items() if value})


def find(
    history: History, project: Project, target: Item, options: RunOptions, now: Surface, sink: EventSink
) -> Kept | None:
    """Return what was kept of the latest experiment on `target`, which is ours from now on; None to start a new one.

    Tells the user what it does, and why an interrupted experiment is not continued. A history that cannot be used is no reason
    to stop: whoever writes it says so.
    """
    if options.fresh:
        return None
    try:
        before = history.interrupted(target.id, project.root)
        if before is None or not before.trials:
            return None
        name = history.short(before.experiment)
        if why := _changed(before.surface, now):
            sink(Noted(f"starts a new experiment on {target.id}; {name} was interrupted, but {why}"))
            return None
        if not history.resume(before.experiment):
            return None
    except TriageError:
        return None
    kept = keep(before.experiment, before.trials)
    spent = f"{kept.spent:.0f} of {options.budget:.0f} s of the budget are spent"
    if kept.spent >= options.budget:
        spent += ", so hardly anything is added (--budget gives it more)"
    sink(Noted(f"continues experiment {name}: {len(kept.trials)} trials kept, {spent} (--fresh starts anew)"))
    return kept


def keep(experiment: str, trials: Sequence[Trial]) -> Kept:
    """Return the trials as they count from now on."""
    confirming = sum(trial.stage in {Stage.CONFIRM, Stage.PLAIN} for trial in trials)
    again = [replace(t, stage=Stage.FOCUS) if t.stage is Stage.CONFIRM else t for t in trials]
    return Kept(
        experiment=experiment,
        trials=tuple(trial for trial in again if trial.stage not in {Stage.PLAIN, Stage.CONTROL}),
        spent=spent(trials),
        confirming=confirming,
    )


def spent(trials: Sequence[Trial]) -> float:
    """Return the seconds in which trials were run, those between them included unless nobody was there."""
    total, end = 0.0, None
    for trial in sorted(trials, key=lambda trial: trial.started):
        if end is not None and 0 < trial.started - end < PAUSE:
            total += trial.started - end
        total += trial.wall_seconds
        end = trial.started + trial.wall_seconds
    return total


def added_to(findings: Sequence[Finding], kept: Kept | None, more: tuple[Evidence, ...] = ()) -> tuple[Finding, ...]:
    """Return findings that say what they were continued from, and whatever else the session has to say."""
    more = (*more, *((kept.evidence,) if kept else ()))
    return tuple(replace(finding, evidence=(*finding.evidence, *more)) for finding in findings)


def _changed(before: Surface | None, now: Surface) -> str:
    """Say why trials of before do not count any more; empty if they do."""
    if before is None:
        return "what it was made on is not known"
    changes = differences(before, now)
    return f"since then this has changed: {listed(changes)}" if changes else ""
