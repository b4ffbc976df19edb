"""Go on with a sweep that was interrupted or killed, where everything that decides about its results is as it was."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from triage.errors import TriageError
from triage.model.encoding import encode
from triage.model.surface import Surface
from triage.model.sweep import Result, Start, Sweep
from triage.model.verdict import Report
from triage.store.history import History
from triage.store.sweeps import is_running

OLDEST = 24 * 3600.0
"""Seconds since the interrupted sweep began: later ones are to look again, not to repeat what was known."""


def digest(surface: Surface) -> str:
    """Return a text that two equal surfaces share; the whole of one may be megabytes."""
    return hashlib.sha256(encode(surface)).hexdigest()


def unfinished(state: Path, start: Start, earlier: Sequence[Sweep]) -> list[tuple[Result, Report]]:
    """Return the results of the latest sweep, with their reports, if it was interrupted and `start` does the same again.

    Results without a report in the history are left out, and so is that of the experiment that was interrupted: it is
    continued by itself. `earlier` are sweeps, latest first.
    """
    latest = next((sweep for sweep in earlier if sweep.start.root == start.root), None)
    if latest is None or latest.complete or is_running(latest) or not _same(latest.start, start):
        return []
    kept = []
    with History(state / "history.db") as history:
        for result in latest.results:
            if result.experiment is None or result.interrupted or result.target not in start.selected:
                continue
            try:
                report, _ = history.load(result.experiment)
            except TriageError:
                continue
            kept.append((result, report))
    return kept


def _same(then: Start, now: Start) -> bool:
    asked = (then.selection, then.budget_seconds, then.surface) == (now.selection, now.budget_seconds, now.surface)
    return asked and 0 <= now.started - then.started < OLDEST
