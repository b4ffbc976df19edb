"""The history, as an experiment writes it: a history that cannot be written costs the record, never the verdict."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable

from triage.errors import TriageError
from triage.model.arm import Depth
from triage.model.events import EventSink, Noted
from triage.model.project import Item, Project
from triage.model.surface import Surface
from triage.model.trial import Trial
from triage.model.verdict import Report
from triage.store.history import History

WRITE_EVERY = 0.5
"""Seconds for which forked trials may wait to be recorded: writing one takes about as long as running one."""


class Record:
    """Writes one experiment; after the first failure it says so once and writes no more."""

    def __init__(self, history: History, sink: EventSink) -> None:
        self.history = history
        self.sink = sink
        self.lost = False
        self.experiment = ""
        self._waiting: list[Trial] = []
        self._written = 0.0

    def resume(self, experiment: str) -> str:
        """Go on with an experiment that is ours, and return its id."""
        self.experiment = experiment
        return experiment

    def start(self, target: Item, project: Project, surface: Surface | None = None) -> str:
        """Record that an experiment begins and return its id."""

        def begin() -> None:
            self.experiment = self.history.start(
                target.id,
                project.root,
                options=(*project.options, *project.levels),
                interpreters=project.interpreters,
                surface=surface,
            )

        self._try(begin)
        self.experiment = self.experiment or f"unrecorded-{uuid.uuid4().hex[:8]}"
        return self.experiment

    def add(self, trial: Trial) -> None:
        """Record a finished trial; forked ones, which come by the hundred, a few at a time."""
        self._waiting.append(trial)
        now = time.monotonic()
        if trial.arm.depth is Depth.COLD or now - self._written > WRITE_EVERY:
            self._written = now
            self.flush()

    def flush(self) -> None:
        """Record the trials that wait."""
        waiting, self._waiting = self._waiting, []
        if waiting:
            self._try(lambda: self.history.add(self.experiment, *waiting))

    def finish(self, report: Report) -> None:
        """Record the report."""
        self.flush()
        self._try(lambda: self.history.finish(self.experiment, report))

    def _try(self, action: Callable[[], None]) -> None:
        if self.lost:
            return
        try:
            action()
        except TriageError as error:
            self.lost = True
            hint = f" ({error.hint})" if error.hint else ""
            self.sink(Noted(f"this experiment is not recorded any further: {error.message}{hint}"))
