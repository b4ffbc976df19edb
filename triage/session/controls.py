"""Controls: tests with known outcomes, run through the whole instrument in the target's own interpreter before it is believed.

Each outcome bucket must be seen to fill: a bucket that can never fill looks like good news. They have a configuration and a root
folder of their own, so that only the interpreter, its plugins and the instrument are tried, not the project's settings.
"""

from __future__ import annotations

from pathlib import Path

from msgspec import Struct

from triage.errors import UnrunnableError
from triage.model.arm import BASELINE
from triage.model.invocation import Invocation
from triage.model.outcome import Outcome
from triage.model.project import Project
from triage.model.trial import Stage, Trial
from triage.runner.cold import ColdRunner, Finished, Request
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


def check(project: Project, runner: ColdRunner) -> None:
    """Run the controls; raise `UnrunnableError` that names those that missed."""
    write_controls(runner.state / FOLDER)
    misses, wall = _together(project, runner)
    misses += _alone(project, runner, max(0.3, wall))
    if misses:
        told = "; ".join(f"`{miss.control}` came out as {miss.seen}, not {miss.expected}" for miss in misses)
        raise UnrunnableError(
            f"the controls missed, so nothing that trials say here can be believed: {told}",
            hint=f"look at the tests in `{runner.state / FOLDER}` and at the plugins of `{project.interpreters[0].path}`",
        )


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


def _alone(project: Project, runner: ColdRunner, wall: float) -> list[Miss]:
    misses = []
    crashed = _run(project, runner, "control_crashes", ["control_crashes"], START_LIMIT).trial
    hung = _hang(project, runner, wall)
    third = _run(project, runner, "control_third", ["control_third"], START_LIMIT, repeat=REPEATS).trial
    if crashed.outcome is not Outcome.CRASHED or crashed.signal != "SIGSEGV":
        misses.append(Miss("control_crashes", "crashed by SIGSEGV", _seen(crashed)))
    elif not (crashed.failure and crashed.failure.frames):
        misses.append(Miss("control_crashes", "a crash with its traceback", "a crash without one"))
    if hung.outcome is not Outcome.HUNG:
        misses.append(Miss("control_hangs", Outcome.HUNG, _seen(hung)))
    if third.outcome is not Outcome.FAILED or third.index != 3:
        misses.append(Miss("control_third", "failed at execution 3", _seen(third)))
    return misses


def _hang(project: Project, runner: ColdRunner, wall: float) -> Trial:
    for margin in HANG_MARGINS:
        trial = _run(project, runner, "control_hangs", ["control_hangs"], margin * wall + 1).trial
        if trial.outcome is Outcome.HUNG:
            break
    return trial


def _run(
    project: Project, runner: ColdRunner, target: str, names: list[str], limit: float, repeat: int = 1
) -> Finished:
    levels = tuple(level for level in project.levels if level.startswith("without="))
    folder = runner.state / FOLDER
    ids = tuple(f"{folder / FILE}::{name}" for name in names)
    return runner.run(
        Request(
            invocation=Invocation(
                root=project.root,
                python=project.interpreters[0].path,
                node_ids=ids,
                options=("-c", str(folder / "pytest.ini"), "--rootdir", str(folder)),
                levels=(*levels, *([f"repeat={repeat}"] if repeat > 1 else [])),
            ),
            target=f"{FILE}::{target}",
            arm=BASELINE,
            stage=Stage.CONTROL,
            limit=limit,
            repeat=repeat,
        )
    )


def _seen(trial: Trial) -> str:
    where = f" at execution {trial.index}" if trial.index and trial.index > 1 else ""
    return f"{trial.outcome}{where}{_because(trial.reason)}"


def _because(reason: str | None) -> str:
    return f" ({reason})" if reason else ""
