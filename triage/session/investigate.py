"""The main use case: `triage run`. Every face calls this and draws its events and reports."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from triage.errors import PRECEDENCE, ExitCode, TriageError
from triage.factors.registry import factors
from triage.model.events import EventSink, ExperimentStarted, Noted, Preparing, TargetsChosen
from triage.model.surface import Surface
from triage.model.verdict import Environment, Report
from triage.runner.cold import ColdRunner
from triage.session import controls, resume
from triage.session.experiment import Experiment, UnfitError
from triage.session.interrupting import Doing, Interruptions
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

    Returns the exit status of the design. Raises `TriageError` for what keeps any test from being tried. SIGINT, SIGTERM and
    SIGHUP end the running experiment; what it knows is reported all the same. Raises `StoppedError` if that is nothing.
    """
    check_factors([*options.factors, *options.skip], list(factors()))
    began = time.monotonic()
    doing = Doing(sink)
    with Interruptions() as interruptions:
        try:
            prepared, runner = prepare(options, cwd or Path.cwd(), os.environ if environ is None else environ, doing)
            try:
                for text in runner.notes:
                    sink(Noted(text))
                project = prepared.project
                surface = resume.surface(project, options, prepared.environment.variables)
                sink(TargetsChosen(targets=prepared.targets, project=project, state=str(runner.state), surface=surface))
                doing(Preparing("running the controls"))
                unforkable = controls.check(prepared.project, runner)
                # The budget bounds a target in all; but a collection that takes minutes must leave something for trials.
                spent = min(time.monotonic() - began - prepared.installing, PREPARING_SHARE * options.budget)
                return _all(
                    prepared,
                    options,
                    runner,
                    sink,
                    deliver,
                    spent,
                    unforkable,
                    surface,
                    known or _none,
                    interruptions,
                )
            finally:
                runner.close()
        except KeyboardInterrupt:
            raise doing.stopped() from None


def _none(_node_id: str) -> bool:
    return False


def unrunnable(target: str, error: TriageError) -> Report:
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
    interruptions: Interruptions,
) -> ExitCode:
    codes: set[ExitCode] = {ExitCode.OK}
    delivered = 0
    with History(runner.state / "history.db") as history:
        for number, target in enumerate(prepared.targets, 1):
            if known(target.id):
                continue
            try:
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
            except KeyboardInterrupt:
                if not delivered:
                    raise
                codes.add(ExitCode.INTERRUPTED)
                break
            code, unfit = _end(experiment)
            with interruptions.held():
                report = experiment.report(unfit, interrupted=code is ExitCode.INTERRUPTED)
                deliver(report)
            delivered += 1
            if report.verdict in options.fail_on:
                codes.add(ExitCode.CONDITION)
            codes.add(ExitCode.INTERRUPTED if interruptions.pending else code)
            if ExitCode.INTERRUPTED in codes:
                break
        left = [target for target in prepared.targets[delivered:] if not known(target.id)]
        if left and ExitCode.INTERRUPTED in codes and options.selection is None:
            sink(Noted(f"interrupted: {len(left)} of {len(prepared.targets)} tests were not reached"))
    return next(code for code in PRECEDENCE if code in codes)


def _end(experiment: Experiment) -> tuple[ExitCode, UnfitError | None]:
    """Run an experiment and say how it ended."""
    try:
        experiment.run()
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED, None
    except UnfitError as error:
        return ExitCode.UNRUNNABLE, error
    return ExitCode.OK, None
