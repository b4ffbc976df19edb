"""Use cases that only read the history: `show` and `history`."""

from __future__ import annotations

from pathlib import Path

from triage.model.entry import Entry
from triage.model.trial import Trial
from triage.model.verdict import Report
from triage.store.history import History
from triage.targets.configuration import find_root

FILE = Path(".triage", "history.db")


def history_of(cwd: Path) -> History:
    """Return the history of the project around `cwd`: the nearest that exists upwards, else that of its root folder."""
    for folder in (cwd, *cwd.parents):
        if (folder / FILE).is_file():
            return History(folder / FILE)
    return History((find_root(cwd) or cwd) / FILE)


def load(name: str, cwd: Path) -> tuple[Report, tuple[Trial, ...]]:
    """Return an experiment's report and trials; raises `UsageError` if there is none of that name."""
    with history_of(cwd) as history:
        return history.load(name)


def entries(target: str | None, limit: int, cwd: Path) -> tuple[Entry, ...]:
    """Return the latest experiments, latest first."""
    with history_of(cwd) as history:
        return history.list(target, limit)
