"""Controls: tests with known outcomes, run through the whole instrument in the target's own interpreter before it is believed.

Each outcome bucket must be seen to fill: a bucket that can never fill looks like good news. They have a configuration and a root
folder of their own, so that only the interpreter, its plugins and the instrument are tried, not the project's settings.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct

from triage.errors import UnrunnableError
from triage.model.arm import BASELINE
from triage.model.invocation import Invocation
from triage.model.outcome import Outcome
from triage.model.project import Project
from triage.model.trial import Stage, Trial
from triage.runner.cold import ColdRunner, Finished, Request
from triage.runner.forks import ForkPool, UnforkableError, supported
from triage.runner.installation import write
from triage.runner.outcome import judge
from triage.runner.process import ProcessEnd

SOURCE = '''\
"""Tests with known outcomes, written by `triage` to check its own instrument; safe to delete."""

import os
import signal
import subprocess
import sys
import threading

import pytest

executions = []


@pytest.fixture
def broken_fixture():
    raise RuntimeError("a control that errors")


def control_passes():
    pass


def control_fails():
    assert executions is None


def control_errors(broken_fixture):
    pass


def control_skips():
    pytest.skip("a control that skips")


@pytest.mark.xfail(reason="a control", strict=False)
def control_xfails():
    assert executions is None


@pytest.mark.xfail(reason="a control", strict=False)
def control_xpasses():
    pass


def control_leaks():
    subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(600)"],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    ).returncode = 0


def control_crashes():
    os.kill(os.getpid(), signal.SIGSEGV)


def control_hangs():
    threading.Event().wait()


def control_third():
    executions.append(1)
    assert len(executions) < 3
'''
INI = "[pytest]\npython_files = controls.py\npython_functions = control_*\n"
FOLDER = "controls"
"""Below the folder that `triage` owns."""
FILE = "controls.py"
TOGETHER = {
    "control_passes": Outcome.PASSED,
    "control_fails": Outcome.FAILED,
    "control_errors": Outcome.ERROR,
    "control_skips": Outcome.SKIPPED,
    "control_xfails": Outcome.XFAILED,
    "control_xpasses": Outcome.XPASSED,
    "control_leaks": Outcome.PASSED,
}
REPEATS = 5
START_LIMIT = 60.0
HANG_MARGINS = (1.5, 6.0)
"""The hang is given so many times the wall time of the controls before it, and a second: it costs its whole limit, so a short
one first, which a machine that stalls just then may miss, and then one that is long enough."""


class Miss(Struct, frozen=True):
    """A control that did not come out as it must."""

    control: str
    expected: str
    seen: str


def check(project: Project, runner: ColdRunner) -> str | None:
    """Run the controls; raise `UnrunnableError` that names those that missed.

    Returns why forked trials cannot be believed or had here, or None: without them every trial is a fresh process.
    """
    write_controls(runner.state / FOLDER)
    misses, wall = _together(project, runner)
    wall = max(0.3, wall)
    with ThreadPoolExecutor(max_workers=2) as side_by_side:
        try:
            forks = side_by_side.submit(_forked, project, runner, wall)  # mostly waits for a hang, as the other does
            hung = side_by_side.submit(_hang, project, runner, wall)
            misses += _alone(project, runner)
            misses += _hung(hung.result())
            reason = forks.result()
        except BaseException:
            runner.cancel()
            raise
    if misses:
        told = "; ".join(f"`{miss.control}` came out as {miss.seen}, not {miss.expected}" for miss in misses)
        raise UnrunnableError(
            f"the controls missed, so nothing that trials say here can be believed: {told}",
            hint=f"look at the tests in `{runner.state / FOLDER}` and at the plugins of `{project.interpreters[0].path}`",
        )
    return reason


def write_controls(folder: Path) -> None:
    """Put the controls where trials find them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in ((FILE, SOURCE), ("pytest.ini", INI)):
        write(folder / name, text.encode())


def _together(project: Project, runner: ColdRunner) -> tuple[list[Miss], float]:
    finished = _run(project, runner, "control_passes", list(TOGETHER), START_LIMIT)
    misses = []
    for name, expected in TOGETHER.items():
        verdict = judge(finished.wire, ProcessEnd(exit_status=finished.trial.exit_status), target=f"{FILE}::{name}")
        if verdict.outcome is not expected:
            misses.append(Miss(name, expected, f"{verdict.outcome}{_because(verdict.reason)}"))
    if finished.trial.leftovers != 1:
        misses.append(Miss("control_leaks", "one process left over", f"{finished.trial.leftovers} left over"))
    return misses, finished.trial.wall_seconds


def _alone(project: Project, runner: ColdRunner) -> list[Miss]:
    crashed = _run(project, runner, "control_crashes", ["control_crashes"], START_LIMIT).trial
    third = _run(project, runner, "control_third", ["control_third"], START_LIMIT, repeat=REPEATS).trial
    return _crashed(crashed) + _third(third)


def _crashed(trial: Trial) -> list[Miss]:
    if trial.outcome is not Outcome.CRASHED or trial.signal != "SIGSEGV":
        return [Miss("control_crashes", "crashed by SIGSEGV", _seen(trial))]
    if not (trial.failure and trial.failure.frames):
        return [Miss("control_crashes", "a crash with its traceback", "a crash without one")]
    return []


def _hung(trial: Trial) -> list[Miss]:
    return [] if trial.outcome is Outcome.HUNG else [Miss("control_hangs", Outcome.HUNG, _seen(trial))]


def _third(trial: Trial) -> list[Miss]:
    if trial.outcome is Outcome.FAILED and trial.index == 3:
        return []
    return [Miss("control_third", "failed at execution 3", _seen(trial))]


def _forked(project: Project, runner: ColdRunner, wall: float) -> str | None:
    """Run the controls as forked trials; returns why there can be none, or None."""
    if reason := supported():
        return reason
    around = tuple(f"{FILE}::{name}" for name in (*TOGETHER, "control_crashes", "control_hangs", "control_third"))
    misses = []
    with ForkPool(runner) as pool:

        def run(name: str, limit: float = START_LIMIT, repeat: int = 1) -> Finished:
            request = _request(project, runner, name, [name], limit, repeat)
            return pool.run(request, _ids(runner, around))[0]

        try:
            for name, expected in TOGETHER.items():
                finished = run(name)
                if finished.trial.outcome is not expected:
                    misses.append(Miss(name, expected, _seen(finished.trial)))
                if len(finished.leftovers) != (name == "control_leaks"):
                    misses.append(Miss(name, "its own processes left over alone", f"{len(finished.leftovers)}"))
            misses += _crashed(run("control_crashes").trial)
            misses += _third(run("control_third", repeat=REPEATS).trial)
            for margin in HANG_MARGINS:
                hung = run("control_hangs", margin * wall + 1).trial
                if hung.outcome is Outcome.HUNG:
                    break
            misses += _hung(hung)
        except UnforkableError as error:
            return f"the controls could not be forked: {error.message}"
    told = "; ".join(f"`{miss.control}` came out as {miss.seen}, not {miss.expected}" for miss in misses)
    return f"the controls missed in forked trials: {told}" if told else None


def _hang(project: Project, runner: ColdRunner, wall: float) -> Trial:
    for margin in HANG_MARGINS:
        trial = _run(project, runner, "control_hangs", ["control_hangs"], margin * wall + 1).trial
        if trial.outcome is Outcome.HUNG:
            break
    return trial


def _run(
    project: Project, runner: ColdRunner, target: str, names: list[str], limit: float, repeat: int = 1
) -> Finished:
    return runner.run(_request(project, runner, target, names, limit, repeat))


def _request(project: Project, runner: ColdRunner, target: str, names: list[str], limit: float, repeat: int) -> Request:
    levels = tuple(level for level in project.levels if level.startswith("without="))
    folder = runner.state / FOLDER
    return Request(
        invocation=Invocation(
            root=project.root,
            python=project.interpreters[0].path,
            node_ids=_ids(runner, tuple(f"{FILE}::{name}" for name in names)),
            options=("-c", str(folder / "pytest.ini"), "--rootdir", str(folder)),
            levels=(*levels, *([f"repeat={repeat}"] if repeat > 1 else [])),
        ),
        target=f"{FILE}::{target}",
        arm=BASELINE,
        stage=Stage.CONTROL,
        limit=limit,
        repeat=repeat,
    )


def _ids(runner: ColdRunner, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(runner.state / FOLDER / name) for name in names)


def _seen(trial: Trial) -> str:
    where = f" at execution {trial.index}" if trial.index and trial.index > 1 else ""
    return f"{trial.outcome}{where}{_because(trial.reason)}"


def _because(reason: str | None) -> str:
    return f" ({reason})" if reason else ""
