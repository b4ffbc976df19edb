"""Trials with pytest-xdist: each worker is judged as the process of its own that it is.

xdist reports what its workers told it, and makes up a failure of the test that a worker was to run when it was gone. What is
judged here is what each worker wrote itself: the test in whose middle its record ends is the one that it died in.
A worker that dies after its last test is no failure: xdist does not report it, and neither would a run without the probe.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from triage.model.outcome import Outcome
from triage.model.trial import Worker
from triage.runner.execution import executions
from triage.runner.outcome import Case, Judgement, death_of, noted, recorded, signal_name
from triage.runner.process import ProcessEnd
from triage.runner.wire import Start, Wire, WorkerEnd

DIGITS = re.compile(r"(\d+)")
GROUP = re.compile(r"@[^\]@]*$")
NAMED = 3
"""Workers that a reason names."""


class Recorded(Struct, frozen=True, kw_only=True):
    """What one worker left."""

    id: str
    wire: Wire
    crash: str = ""
    """What `faulthandler` wrote in it."""
    end: WorkerEnd | None = None
    """How it ended, as far as the controller knew."""

    @property
    def status(self) -> int | None:
        """Its exit status, negative for a signal; None if it is not known."""
        return self.end.status if self.end is not None else None

    @property
    def ending(self) -> str:
        """How it ended, if not as it should; else empty."""
        if self.status is None:
            return "lost" if self.end is not None and self.end.error else ""
        if self.status < 0:
            return signal_name(-self.status)
        return f"exit status {self.status}" if self.status or (self.end is not None and self.end.error) else ""


def numbered(path: Path) -> list[object]:
    """Return a key that puts `gw2` before `gw10`."""
    return [int(part) if part.isdigit() else part for part in DIGITS.split(path.name)]


def ungrouped(wire: Wire) -> Wire:
    """Return a record without the `@group` that xdist adds to node ids under `--dist loadgroup`."""
    return replace(wire, tests=tuple(replace(event, id=GROUP.sub("", event.id)) for event in wire.tests))


def kept(workers: Sequence[Recorded]) -> tuple[Worker, ...]:
    """Return what a trial keeps of its workers."""
    return tuple(Worker(id=worker.id, sequence=worker.wire.sequence, end=worker.ending) for worker in workers)


def judge_workers(
    wire: Wire, end: ProcessEnd, workers: Sequence[Recorded], *, target: str | None, crash: str = ""
) -> Judgement:
    """Return what a trial with workers says about `target`; `wire` and `end` are those of xdist's controller.

    Where several workers ran the target (`--dist each`), the first one counts: one trial is one chance to fail.
    """
    ran = next((worker for worker in workers if target in worker.wire.sequence), None)
    verdict = _not_run(wire, end, workers, target, crash) if ran is None else _in_worker(ran, end, str(target))
    runs = executions(ran.wire.tests, str(target)) if ran is not None else ()
    decided = next((run for run in runs if run.outcome is verdict.outcome), runs[-1] if runs else None)
    died_by = end.signal
    if ran is not None and verdict.outcome in {Outcome.CRASHED, Outcome.KILLED} and not end.stopped:
        died_by = -ran.status if ran.status is not None and ran.status < 0 else None
    return Judgement(
        outcome=verdict.outcome,
        index=verdict.index,
        reason=verdict.reason,
        failure=verdict.failure,
        test_seconds=decided.seconds if decided else None,
        sequence=ran.wire.sequence if ran is not None else (),
        reruns=sum(phase.outcome == "rerun" for run in runs for phase in run.phases),
        signal=signal_name(died_by) if died_by is not None else None,
        workers=kept(workers),
    )


def _in_worker(worker: Recorded, end: ProcessEnd, target: str) -> Judgement:
    """Judge the worker that ran the target by its own record and its own end."""
    done = executions(worker.wire.tests, target)[-1].done
    own = _end_of(worker, end)
    if own is None:
        died = f"xdist's controller died by {signal_name(end.signal or 0)} while the target ran in `{worker.id}`"
        return Judgement(outcome=Outcome.BROKEN, reason=died)
    case = Case(worker.wire, own, target, 1, worker.crash, subject=f"worker `{worker.id}`")
    if not done or worker.wire.internal_errors:
        return case.judge()
    decided = next((run for run in case.runs if run.outcome not in {None, Outcome.PASSED}), None)
    base = recorded(decided) if decided is not None else Judgement(outcome=Outcome.PASSED)
    running = case.running()
    if end.limit_hit:
        return noted(base, "the time limit was reached later")
    if running is not None and running != target:
        return noted(base, f"its worker `{worker.id}` ended later, in `{running}`") if worker.ending else base
    if worker.ending:
        return noted(base, f"its worker `{worker.id}` ended by {worker.ending} after its last test, which xdist hides")
    return base


def _end_of(worker: Recorded, end: ProcessEnd) -> ProcessEnd | None:
    """Return the end of a worker as that of a process; None if it is not known and its controller died.

    The limits are those of the whole trial: what was running when they were reached has reached them.
    """
    if end.limit_hit or end.stopped:
        return replace(end, exit_status=None, signal=None)
    status = worker.status
    if status is None:
        if end.signal is not None:
            return None
        status = 0
    killed = status < 0
    return replace(end, exit_status=None if killed else status, signal=-status if killed else None)


def _not_run(wire: Wire, end: ProcessEnd, workers: Sequence[Recorded], target: str | None, crash: str) -> Judgement:
    """No worker started the target: say why, or judge by the record of xdist's controller."""
    collected = [(worker.id, worker.wire.collected) for worker in workers if worker.wire.collected is not None]
    if len({one.digest for _, one in collected if one is not None}) > 1:
        told = ", ".join(f"`{name}` {one.selected}" for name, one in collected[:NAMED] if one is not None)
        reason = f"xdist's workers collected different tests, or the same in another order ({told}), and ran none"
        return Judgement(outcome=Outcome.NOT_COLLECTED, reason=reason)
    told = "; ".join(filter(None, (_what_happened(worker, end) for worker in workers)))
    if target is not None and told:
        killed = end.stopped == "signal"
        outcome = Outcome.KILLED if killed else Outcome.NOT_COLLECTED
        return Judgement(outcome=outcome, reason=f"{told}, before the target had started")
    return Case(replace(wire, tests=()), end, target, 1, crash).judge()


def _what_happened(worker: Recorded, end: ProcessEnd) -> str:
    started = [event.id for event in worker.wire.tests if isinstance(event, Start)]
    running = next((test for test in reversed(started) if not executions(worker.wire.tests, test)[-1].done), None)
    if running is None:
        return ""
    death = death_of(end)
    if end.limit_hit and death is not None:
        return f"worker `{worker.id}` {death.words} in `{running}`"
    return f"worker `{worker.id}` ended by {worker.ending or 'an unknown cause'} in `{running}`"
