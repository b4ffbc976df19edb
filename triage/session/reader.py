"""The use case of a face that stays: reading a history again and again while others write it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import TypeVar

from triage.model.entry import Entry
from triage.model.trial import Trial
from triage.model.verdict import Report
from triage.session.past import history_of
from triage.store.history import History

T = TypeVar("T")


class Reader:
    """Reads the history of the project around a folder, from any thread; calls wait for each other.

    A history that appears, goes or is replaced while this lives is noticed at the next call. Methods raise `TriageError`
    like those of `History`. `close` when done.
    """

    def __init__(self, cwd: Path) -> None:
        self._cwd = cwd
        self._lock = threading.Lock()
        self._history = history_of(cwd)
        self._file = _identity(self._history.path)

    @property
    def path(self) -> Path:
        """The history's file, whether it exists or not."""
        return self._history.path

    def stamp(self) -> Hashable:
        """Return a value that is another one after somebody has written; costs next to nothing."""
        return self._with(lambda history: history.stamp())

    def entries(self, limit: int) -> tuple[Entry, ...]:
        """Return the latest experiments, latest first."""
        return self._with(lambda history: history.list(None, limit))

    def progress(self, experiment: str) -> Hashable:
        """Return a value that is another one after the experiment got trials, a report or an end."""
        return self._with(lambda history: history.progress(experiment))

    def load(self, experiment: str) -> tuple[Report, tuple[Trial, ...]]:
        """Return an experiment's report and trials."""
        return self._with(lambda history: history.load(experiment))

    def close(self) -> None:
        """Close the file; a later call would open it again."""
        with self._lock:
            self._history.close()

    def _with(self, use: Callable[[History], T]) -> T:
        with self._lock:
            if self._file is None or _identity(self._history.path) != self._file:
                self._history.close()
                self._history = history_of(self._cwd)
                self._file = _identity(self._history.path)
            return use(self._history)


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from one that takes its place; None if there is none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
