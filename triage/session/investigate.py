"""The main use case: `triage run`. Every face calls this and draws its events and reports."""

from __future__ import annotations

import os
import platform
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from triage.errors import PRECEDENCE, ExitCode, UnrunnableError
from triage.factors.registry import factors
from triage.model.events import EventSink, ExperimentStarted, Noted, Preparing, TargetsChosen
from triage.model.surface import Surface
from triage.model.verdict import Environment, Report
from triage.runner.cold import ColdRunner
from triage.session import controls, resume
from triage.session.experiment import Experiment, UnfitError
from triage.session.options import RunOptions, check_factors
from triage.session.prepare import Prepared, prepare
from triage.session.summary import headed, unfit_finding
from triage.store.history import History

PREPARING_SHARE = 0.5
"""Most of the budget that interpreters, collection and controls are counted for."""


def investigate(
    options: RunOptions,
    sink: EventSink,
    deliver: Callable[[Report], None],
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    known: Callable[[str], bool] | None = None,
) -> ExitCode:
    """Triage every test that the options name; `deliver` gets each report as soon as it is ready.

    Node ids that are `known`, which is asked after `TargetsChosen`, are left out.

    Returns the exit status of the design. Raises `TriageError` for what keeps any test from being tried. SIGINT and
    SIGTERM end the running experiment; what it knows is reported all the same.
    """
    check_factors([*options.factors, *options.skip], list(factors()))
    began = time.monotonic()
    with terminated_as_interrupt():
        prepared, runner = prepare(options, cwd or Path.cwd(), os.environ if environ is None else environ, sink)
        try:
            for text in runner.notes:
                sink(Noted(text))
            project = prepared.project
            surface = resume.surface(project, options, prepared.environment.variables)
            sink(TargetsChosen(targets=prepared.targets, project=project, state=str(runner.state), surface=surface))
            sink(Preparing("running the controls"))
            unforkable = controls.check(prepared.project, runner)
            # The budget bounds a target in all; but a collection that takes minutes must leave something for trials.
            spent = min(time.monotonic() - began - prepared.installing, PREPARING_SHARE * options.budget)
            return _all(prepared, options, runner, sink, deliver, spent, unforkable, surface, known or _none)
        finally:
            runner.close()


def _none(_node_id: str) -> bool:
    return False


def unrunnable(target: str, error: UnrunnableError) -> Report:
    """Return what is known of a target that could not be tried at all: why, and what to do."""
    return headed(
        (unfit_finding(error.message, error.hint or ""),),
        experiment="",
        target=target,
        environment=Environment(python=(), pytest=None, platform=platform.platform(terse=True)),
        trials=0,
        wall_seconds=0.0,
        complete=False,
    )


def _all(
    prepared: Prepared,
    options: RunOptions,
    runner: ColdRunner,
    sink: EventSink,
    deliver: Callable[[Report], None],
    spent: float,
    unforkable: str | None,
    surface: Surface,
    known: Callable[[str], bool],
) -> ExitCode:
    codes: set[ExitCode] = {ExitCode.OK}
    with History(runner.state / "history.db") as history:
        for number, target in enumerate(prepared.targets, 1):
            if known(target.id):
                continue
            kept = resume.find(history, prepared.project, target, options, surface, sink)
            experiment = Experiment(
                prepared,
                target,
                options,
                runner,
                history,
                sink,
                spent if number == 1 else 0.0,
                unforkable,
                surface,
                kept,
            )
            sink(
                ExperimentStarted(
                    experiment=experiment.id,
                    target=target.id,
                    number=number,
                    of=len(prepared.targets),
                    budget_seconds=options.budget,
                    factors=tuple(factors()),
                )
            )
            code, report = _one(experiment)
            deliver(report)
            if report.verdict in options.fail_on:
                codes.add(ExitCode.CONDITION)
            codes.add(code)
            if code is ExitCode.INTERRUPTED:
                break
    return next(code for code in PRECEDENCE if code in codes)


def _one(experiment: Experiment) -> tuple[ExitCode, Report]:
    try:
        experiment.run()
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED, experiment.report(interrupted=True)
    except UnfitError as error:
        return ExitCode.UNRUNNABLE, experiment.report(error)
    return ExitCode.OK, experiment.report()


@contextmanager
def terminated_as_interrupt() -> Iterator[None]:
    """Treat SIGTERM and SIGHUP like Ctrl-C, so that what is known is reported."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
