"""What happens while an experiment runs; store, progress display and TUI listen, nobody below the use cases knows them."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from triage.model.arm import Arm
from triage.model.claim import ArmCount
from triage.model.project import Item, Project
from triage.model.surface import Surface
from triage.model.trial import Stage, Trial
from triage.model.verdict import Report


class Preparing(Struct, frozen=True):
    """Something is found out before any experiment: interpreters, collection, controls."""

    doing: str


class TargetsChosen(Struct, frozen=True, kw_only=True):
    """It is known which tests are to be triaged; the controls come next."""

    targets: tuple[Item, ...]
    project: Project
    state: str
    """The folder that `triage` owns in the project."""
    surface: Surface


class ExperimentStarted(Struct, frozen=True, kw_only=True):
    """The trials of one target begin."""

    experiment: str
    target: str
    number: int
    of: int
    """This is target `number` of `of`."""
    budget_seconds: float
    factors: tuple[str, ...]


class TrialStarted(Struct, frozen=True):
    """A trial begins."""

    arm: Arm
    stage: Stage
    doing: str
    """In words, what it is for."""


class TrialFinished(Struct, frozen=True):
    """A trial ended."""

    trial: Trial
    counts: tuple[ArmCount, ...]
    """Any failure, for every arm so far."""
    seconds: float
    """Since the experiment began."""
    trials: int = 0
    """How many there were so far: not every forked one is told of."""


class Noted(Struct, frozen=True):
    """Something the user should know that is no failure."""

    text: str


class ExperimentFinished(Struct, frozen=True):
    """The report of one target is ready."""

    report: Report
    unfit: str | None = None
    """Why the target could not be experimented on; None if it could."""


Event = Preparing | TargetsChosen | ExperimentStarted | TrialStarted | TrialFinished | Noted | ExperimentFinished
EventSink = Callable[[Event], None]
