"""Controls: tests with known outcomes, run through the whole instrument in the target's own interpreter before it is believed.

Each outcome bucket must be seen to fill: a bucket that can never fill looks like good news. They have a configuration and a root
folder of their own, so that only the interpreter, its plugins and the instrument are tried, not the project's settings.
"""

from __future__ import annotations

from collections.abc import Iterable
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
from triage.targets.takeover import SILENT

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


class Result(Struct, frozen=True, kw_only=True):
    """What became of one control."""

    control: str
    expected: str
    seen: str
    missed: bool


class Controls(Struct, frozen=True, kw_only=True):
    """What became of all of them."""

    cold: tuple[Result, ...]
    forked: tuple[Result, ...]
    """As far as they could be forked."""
    unforkable: str | None
    """Why forked trials cannot be believed or had here; None if they can."""
    seconds: float
    """What a cold trial took: seven controls in one process."""


def check(project: Project, runner: ColdRunner) -> str | None:
    """Run the controls; raise `UnrunnableError` that names those that missed.

    Returns why forked trials cannot be believed or had here, or None: without them every trial is a fresh process.
    """
    found = run(project, runner)
    if told := _told(found.cold):
        raise UnrunnableError(
            f"the controls missed, so nothing that trials say here can be believed: {told}",
            hint=f"look at the tests in `{runner.state / FOLDER}` and at the plugins of `{project.interpreters[0].path}`",
        )
    return found.unforkable


def run(project: Project, runner: ColdRunner) -> Controls:
    """Run the controls and say what became of each; raises OSError if no process can be started."""
    write_controls(runner.state / FOLDER)
    cold, seconds = _together(project, runner)
    wall = max(0.3, seconds)
    with ThreadPoolExecutor(max_workers=2) as side_by_side:
        try:
            forks = side_by_side.submit(_forked, project, runner, wall)  # mostly waits for a hang, as the other does
            hung = side_by_side.submit(_hang, project, runner, wall)
            cold += _alone(project, runner)
            cold.append(_hung(hung.result()))
            forked, reason = forks.result()
        except BaseException:
            runner.cancel()
            raise
    if told := _told(forked):
        reason = f"the controls missed in forked trials: {told}"
    return Controls(cold=tuple(cold), forked=tuple(forked), unforkable=reason, seconds=seconds)


def write_controls(folder: Path) -> None:
    """Put the controls where trials find them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in ((FILE, SOURCE), ("pytest.ini", INI)):
        write(folder / name, text.encode())


def _together(project: Project, runner: ColdRunner) -> tuple[list[Result], float]:
    finished = _run(project, runner, "control_passes", list(TOGETHER), START_LIMIT)
    results = []
    for name, expected in TOGETHER.items():
        verdict = judge(finished.wire, ProcessEnd(exit_status=finished.trial.exit_status), target=f"{FILE}::{name}")
        seen = f"{verdict.outcome}{_because(verdict.reason)}" if verdict.outcome is not expected else verdict.outcome
        results.append(_result(name, expected, seen, missed=verdict.outcome is not expected))
    left = finished.trial.leftovers
    results.append(_result("control_leaks", "one process left over", f"{left} left over", missed=left != 1))
    return results, finished.trial.wall_seconds


def _alone(project: Project, runner: ColdRunner) -> list[Result]:
    crashed = _run(project, runner, "control_crashes", ["control_crashes"], START_LIMIT).trial
    third = _run(project, runner, "control_third", ["control_third"], START_LIMIT, repeat=REPEATS).trial
    return [_crashed(crashed), _third(third)]


def _crashed(trial: Trial) -> Result:
    expected = "crashed by SIGSEGV, with its traceback"
    if trial.outcome is not Outcome.CRASHED or trial.signal != "SIGSEGV":
        return _result("control_crashes", expected, _seen(trial), missed=True)
    if not (trial.failure and trial.failure.frames):
        return _result("control_crashes", expected, "a crash without its traceback", missed=True)
    return _result("control_crashes", expected, expected, missed=False)


def _hung(trial: Trial) -> Result:
    missed = trial.outcome is not Outcome.HUNG
    return _result("control_hangs", Outcome.HUNG, _seen(trial) if missed else Outcome.HUNG, missed=missed)


def _third(trial: Trial) -> Result:
    right = trial.outcome is Outcome.FAILED and trial.index == 3
    expected = "failed at execution 3"
    return _result("control_third", expected, expected if right else _seen(trial), missed=not right)


def _result(control: str, expected: str, seen: str, *, missed: bool) -> Result:
    return Result(control=control, expected=str(expected), seen=str(seen), missed=missed)


def _told(results: Iterable[Result]) -> str:
    """Say which controls missed; empty if none did."""
    return "; ".join(f"`{one.control}` came out as {one.seen}, not {one.expected}" for one in results if one.missed)


def _forked(project: Project, runner: ColdRunner, wall: float) -> tuple[list[Result], str | None]:
    """Run the controls as forked trials; returns what became of them, and why there can be no such trials."""
    if reason := supported():
        return [], reason
    around = tuple(f"{FILE}::{name}" for name in (*TOGETHER, "control_crashes", "control_hangs", "control_third"))
    results: list[Result] = []
    with ForkPool(runner) as pool:

        def one(name: str, limit: float = START_LIMIT, repeat: int = 1) -> Finished:
            request = _request(project, runner, name, [name], limit, repeat)
            return pool.run(request, _ids(runner, around))[0]

        try:
            for name, expected in TOGETHER.items():
                finished = one(name)
                missed = finished.trial.outcome is not expected
                results.append(_result(name, expected, _seen(finished.trial) if missed else expected, missed=missed))
                left = len(finished.leftovers)
                if left != (name == "control_leaks"):
                    results.append(_result(name, "its own processes left over alone", f"{left}", missed=True))
            results.append(_crashed(one("control_crashes").trial))
            results.append(_third(one("control_third", repeat=REPEATS).trial))
            for margin in HANG_MARGINS:
                hung = one("control_hangs", margin * wall + 1).trial
                if hung.outcome is Outcome.HUNG:
                    break
            results.append(_hung(hung))
        except UnforkableError as error:
            return results, f"the controls could not be forked: {error.message}"
    return results, None


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
    silent = (option for option in project.options if option in SILENT)
    folder = runner.state / FOLDER
    return Request(
        invocation=Invocation(
            root=project.root,
            python=project.interpreters[0].path,
            node_ids=_ids(runner, tuple(f"{FILE}::{name}" for name in names)),
            options=("-c", str(folder / "pytest.ini"), "--rootdir", str(folder), *silent),
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
