"""What one trial was asked to do and what came of it."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from triage.model.arm import Arm
from triage.model.outcome import FAILURES, NO_EVIDENCE, Outcome


class Stage(StrEnum):
    """What a trial was run for; only `confirm` trials carry a claim."""

    CONTROL = "control"
    SCOUT = "scout"
    """The first trials: time, facts about the test, what it reaches for."""
    SCREEN = "screen"
    FOCUS = "focus"
    CONFIRM = "confirm"
    PLAIN = "plain"
    """A confirm trial without the probe, judged by exit status alone."""


class Frame(Struct, frozen=True):
    """One Python frame of a traceback; `file` as the interpreter gave it, `line` from 1, 0 if unknown."""

    file: str
    line: int
    function: str


class Failure(Struct, frozen=True, kw_only=True):
    """Why a trial is a failure, as far as it is known."""

    phase: str
    """`setup`, `call`, `teardown`, or `exit` (after the last test)."""
    exception: str | None = None
    """Qualified name of the exception type; for a crash the signal's name."""
    message: str = ""
    frames: tuple[Frame, ...] = ()
    """Outermost first. For a crash or hang: of the thread that died or hung, from `faulthandler`."""
    text: str = ""
    """What pytest would print, or `faulthandler` printed; capped."""
    source: str = ""
    """The source line of the deepest frame, if pytest knew it."""


class Worker(Struct, frozen=True, kw_only=True):
    """One process of pytest-xdist that ran tests of a trial."""

    id: str
    """`gw0` and so on; one that replaces a worker that died has the next number."""
    sequence: tuple[str, ...] = ()
    """The node ids that really started in it, in order."""
    end: str = ""
    """How it ended, if not as it should: `SIGSEGV`, `exit status 3`."""


class Trial(Struct, frozen=True, kw_only=True):
    """One finished experiment unit."""

    arm: Arm
    stage: Stage
    outcome: Outcome
    number: int = 0
    """Position in the experiment, from 1."""
    index: int | None = None
    """Which execution of the target in the process decided the outcome, from 1."""
    reason: str | None = None
    """Why the outcome is what it is, where the outcome alone does not say it."""
    failure: Failure | None = None
    exit_status: int | None = None
    signal: str | None = None
    """`SIGSEGV` and the like, if the process died by one."""
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    test_seconds: float | None = None
    """Setup, call and teardown of the target."""
    max_rss_kib: int = 0
    sequence: tuple[str, ...] = ()
    """The node ids that really started in the process that ran the target, in order; a repeated one appears each time."""
    workers: tuple[Worker, ...] = ()
    """Of a trial with pytest-xdist: what each of its workers ran."""
    leftovers: int = 0
    """Processes of the trial that were still alive when its main process had ended."""
    stdout: str = ""
    stderr: str = ""
    """Output kept, capped at both ends of the stream."""
    command: str = ""
    python: str = ""
    """Version of the interpreter, as the probe saw it."""
    probed: bool = True
    started: float = 0.0
    """Seconds since the epoch."""
    cluster: int | None = None
    """Of a forked trial: number of the process that it was forked from, whose start all of its trials share."""
    reruns: int = 0
    """Rerun records of pytest-rerunfailures seen for the target."""

    @property
    def is_failure(self) -> bool:
        """Whether the target failed in the words of the design."""
        return self.outcome in FAILURES

    @property
    def is_evidence(self) -> bool:
        """Whether this trial counts in rates at all."""
        return self.outcome not in NO_EVIDENCE

    def before_in_worker(self, target: str) -> tuple[str, ...]:
        """Return what ran before the target in the worker that ran it; nothing without workers."""
        if not self.workers or target not in self.sequence:
            return ()
        return self.sequence[: self.sequence.index(target)]
