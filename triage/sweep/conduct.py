"""The use case `triage sweep`: one experiment for each selected test, kept and compared with the sweep before."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from triage.errors import PRECEDENCE, ExitCode, TriageError
from triage.model.arm import BASELINE
from triage.model.events import (
    Event,
    EventSink,
    ExperimentFinished,
    ExperimentStarted,
    Noted,
    TargetsChosen,
    TrialFinished,
)
from triage.model.sweep import Conclusion, Result, Start, State, Sweep
from triage.model.trial import Stage
from triage.model.verdict import Environment, Report
from triage.session.interrupting import Interruptions, StoppedError
from triage.session.investigate import investigate
from triage.session.options import RunOptions
from triage.store.sweeps import SweepLog, read_sweeps
from triage.sweep.compare import before, compare, since
from triage.sweep.continuing import digest, unfinished
from triage.sweep.results import result_of


def conduct(
    options: RunOptions,
    command: str,
    sink: EventSink,
    deliver: Callable[[Report], None],
    conclude: Callable[[Conclusion], None],
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
) -> ExitCode:
    """Triage every test that `options.selection` takes.

    `deliver` gets each report as soon as it is ready, `conclude` all that is known at the end: also of a sweep that was
    interrupted or that a fault of ours ended. `command` is the shell line that does the same.

    Returns the exit status of the design. Raises `TriageError` for what keeps any test from being tried.
    """
    here = cwd or Path.cwd()
    conductor = Conductor(options, command, sink, deliver, here)
    with Interruptions():
        try:
            code = investigate(
                options, conductor, conductor.deliver, here, os.environ if environ is None else environ, conductor.knows
            )
        except (KeyboardInterrupt, StoppedError):
            if conductor.start is None:
                raise
            code = ExitCode.INTERRUPTED
        except BaseException:
            conductor.close()
            if conductor.results:
                conclude(conductor.conclusion())
            raise
        conductor.close()
        conclude(conductor.conclusion())
    codes = {code, *conductor.codes}
    return next(one for one in PRECEDENCE if one in codes)


class Conductor:
    """Listens to the investigation and keeps what it says; a record that cannot be written costs the record alone."""

    def __init__(
        self, options: RunOptions, command: str, sink: EventSink, deliver: Callable[[Report], None], cwd: Path
    ) -> None:
        assert options.selection is not None
        self.options = options
        self.selection = options.selection
        self.command = command
        self.sink = sink
        self.start: Start | None = None
        self.results: dict[str, Result] = {}
        self.reports: dict[str, Report] = {}
        self.codes: set[ExitCode] = set()
        self.ended: float | None = None
        self.deliver = deliver
        self._cwd = cwd
        self._log: SweepLog | None = None
        self._failing: str | None = None
        self._marks: dict[str, tuple[str, ...]] = {}
        self._collected: frozenset[str] = frozenset()
        self._earlier: tuple[Sweep, ...] = ()
        self._experiments: list[tuple[str, str]] = []

    def __call__(self, event: Event) -> None:
        """Take one event in and pass it on."""
        match event:
            case TargetsChosen():
                self._begin(event)
            case ExperimentStarted():
                self._failing = None
                self._experiments.append((event.target, event.experiment))
                if log := self._log:
                    self._try(lambda: log.begin(event.target, event.experiment))
            case TrialFinished(trial) if (
                trial.arm == BASELINE and trial.is_failure and trial.stage is not Stage.CONTROL
            ):
                self._failing = trial.command
            case ExperimentFinished():
                report = event.report
                self._keep(result_of(report, event.unfit, self._marks.get(report.target, ()), self._failing), report)
        self.sink(event)

    def knows(self, node_id: str) -> bool:
        """Whether there is a result for a test that need not be made again."""
        return node_id in self.results

    def close(self) -> None:
        """Record the end."""
        self.ended = time.time()
        if log := self._log:
            self._try(lambda: log.end(complete=self.sweep().complete))
            log.close()

    def sweep(self) -> Sweep:
        """Return what is known."""
        assert self.start is not None
        results = tuple(self.results.values())
        return Sweep(
            start=self.start,
            results=results,
            experiments=tuple(self._experiments),
            ended=self.ended,
            complete=len(results) == len(self.start.selected) and not any(one.interrupted for one in results),
        )

    def conclusion(self) -> Conclusion:
        """Return what is known, compared with the past."""
        sweep = self.sweep()
        earlier = before(sweep.start, self._earlier)
        return Conclusion(
            sweep=sweep,
            reports=tuple(self.reports.values()),
            comparison=compare(sweep, earlier, self._collected) if earlier else None,
            since=since(sweep, self._earlier),
        )

    def _begin(self, event: TargetsChosen) -> None:
        project, state = event.project, Path(event.state)
        self._marks = {item.id: item.marks for item in event.targets}
        self._collected = frozenset(item.id for item in (*project.collection.items, *project.scope))
        self._earlier = read_sweeps(state)
        wanted = sum(self.selection.wants(item.marks) for item in project.collection.items)
        own = project.interpreters[0]
        self.start = start = Start(
            sweep="unrecorded",
            started=time.time(),
            root=project.root,
            selection=self.selection,
            command=self.command,
            folder=os.path.relpath(self._cwd, project.root),
            selected=tuple(item.id for item in event.targets),
            selected_in_all=wanted,
            budget_seconds=self.options.budget,
            environment=Environment(
                python=tuple(interpreter.version for interpreter in project.interpreters),
                pytest=own.pytest,
                platform=platform.platform(terse=True),
            ),
            errors=tuple(dict.fromkeys(project.collection.uncollected)),
            surface=digest(event.surface),
        )
        self._try(lambda: self._open(state, start))
        if not self.options.fresh:
            self._go_on(state, start)

    def _open(self, state: Path, start: Start) -> None:
        self._log = SweepLog(state, start)
        self.start = self._log.start

    def _go_on(self, state: Path, start: Start) -> None:
        """Take over what an interrupted sweep has found out today."""
        kept = unfinished(state, start, self._earlier)
        if not kept:
            return
        self.sink(
            Noted(
                f"goes on with an interrupted sweep: {len(kept)} of {len(start.selected)} results kept (--fresh starts anew)"
            )
        )
        for result, report in kept:
            self._keep(result, report)
            if result.state is State.UNRUNNABLE:
                self.codes.add(ExitCode.UNRUNNABLE)
            if report.verdict in self.options.fail_on:
                self.codes.add(ExitCode.CONDITION)
            self.deliver(report)

    def _keep(self, result: Result, report: Report) -> None:
        self.results[result.target] = result
        self.reports[result.target] = report
        if log := self._log:
            self._try(lambda: log.add(result))

    def _try(self, action: Callable[[], None]) -> None:
        try:
            action()
        except TriageError as error:
            self._log = None
            hint = f" ({error.hint})" if error.hint else ""
            self.sink(
                Noted(f"this sweep is not recorded, so later ones cannot be compared with it: {error.message}{hint}")
            )
