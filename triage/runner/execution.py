"""Groups the events of one test into its executions, and tells how each of them ended by pytest's own word."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from triage.model.outcome import Outcome
from triage.model.trial import Failure
from triage.runner.wire import Finish, Phase, Start

FAILED_WORDS = frozenset({"failed", "rerun"})
"""pytest-rerunfailures calls a failure that it hides `rerun`; it is one all the same."""
WORKER_DIED = "???"
"""The phase that pytest-xdist names when a worker died in a test."""


class Execution(Struct, frozen=True, kw_only=True):
    """One run of a test in a process, from its setup to its teardown or as far as it came."""

    id: str
    index: int
    phases: tuple[Phase, ...] = ()
    done: bool = False
    """Whether it came to its end, teardown included."""

    @property
    def seconds(self) -> float:
        """Setup, call and teardown as far as they were recorded."""
        return sum(phase.seconds for phase in self.phases)

    @property
    def failed(self) -> Phase | None:
        """The first phase that failed."""
        return next((phase for phase in self.phases if phase.outcome in FAILED_WORDS), None)

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None if nothing decisive was recorded before the process ended."""
        failed = self.failed
        if failed is not None:
            return FAILURE_OF_PHASE.get(failed.when, Outcome.FAILED)
        skipped = next((phase for phase in self.phases if phase.outcome == "skipped"), None)
        if skipped is not None:
            return Outcome.XFAILED if skipped.xfail else Outcome.SKIPPED
        if any(phase.xfail for phase in self.phases if phase.when == "call"):
            return Outcome.XPASSED
        return Outcome.PASSED if self.done else None

    @property
    def reason(self) -> str | None:
        """Of a skip or an expected failure; and what pytest says where a failure has no exception (a strict xpass)."""
        failed = self.failed
        if failed is None:
            return next((phase.reason for phase in self.phases if phase.reason), None)
        text = failed.failure.text if failed.failure else None
        if failed.when == WORKER_DIED or (text or "").startswith("[XPASS(strict)]"):
            return (text or "").strip().partition("\n")[0] or None
        return None

    @property
    def failure(self) -> Failure | None:
        """What was raised first."""
        return self.failed.as_failure() if self.failed else None

    @property
    def phase(self) -> str:
        """The phase that it was in when its record ends."""
        if not self.phases:
            return "setup"
        last = self.phases[-1]
        return "call" if last.when == "setup" and last.outcome == "passed" else "teardown"


FAILURE_OF_PHASE = {"setup": Outcome.ERROR, "teardown": Outcome.ERROR, WORKER_DIED: Outcome.CRASHED}


def executions(events: Iterable[Start | Phase | Finish], test: str) -> tuple[Execution, ...]:
    """Return the executions of a test in order.

    A rerun by a plugin sets the test up again without starting it anew; it is an execution of its own here, with the
    index that the process gave it.
    """
    found: list[Execution] = []
    for event in events:
        if event.id != test:
            continue
        if isinstance(event, Start):
            found.append(Execution(id=test, index=event.index))
        elif not found:
            found.append(with_event(Execution(id=test, index=event.index), event))
        elif isinstance(event, Phase) and event.when == "setup" and found[-1].phases:
            found[-1] = with_event(found[-1], Finish(id=test, index=event.index))
            found.append(with_event(Execution(id=test, index=event.index), event))
        else:
            found[-1] = with_event(found[-1], event)
    return tuple(found)


def with_event(execution: Execution, event: Phase | Finish) -> Execution:
    """Return an execution with one more event."""
    phase = (event,) if isinstance(event, Phase) else ()
    return Execution(
        id=execution.id,
        index=execution.index,
        phases=execution.phases + phase,
        done=execution.done or isinstance(event, Finish) or event.when in {"teardown", WORKER_DIED},
    )
