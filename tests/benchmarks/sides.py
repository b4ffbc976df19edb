"""What `speed.py` measures: each side runs one block of trials and returns rows of seconds, or raises SideError."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from forked import NODE_ID, Cost, SideError, forked

from triage.model.arm import BASELINE
from triage.model.invocation import Invocation
from triage.model.outcome import Outcome
from triage.model.trial import Stage
from triage.runner.cold import ColdRunner, Request

ROOT = Path(__file__).resolve().parents[2]
LEAN = "py3.11-pytest9"
"""An environment of `scripts/envs.py` with pytest alone."""
REPEATERS = "py3.11-repeaters"
"""The benchmark's own, with `LEAN` and the two plugins; `make envs` does not make it."""
PLUGINS = ("pytest-flakefinder", "pytest-repeat")
STARTS = 10
"""Processes in a block of `lean`."""
FORKS = 300
"""Trials in a block of `bare` and of `triage`."""
RUNS = 1000
"""Executions in one process of the plugins that repeat."""
SUITE = 1000
"""Tests in the file that the probe watches."""
PAIRS = 2
"""Pairs without and with the probe in a block, once in either order."""
LIMIT = 300.0
"""Seconds that one process may take."""
OPTIONS = ("-q", "-p", "no:cacheprovider")
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")
SUMMARY = re.compile(r"(\d+) passed(?:, \d+ warnings?)? in [\d.]+s.*")

Row = dict[str, float]


@dataclass(frozen=True)
class Bench:
    """Where a block runs: the project, and the interpreters with pytest alone and with the plugins that repeat."""

    project: Path
    python: Path
    repeaters: Path
    environment: dict[str, str]


def lean(bench: Bench) -> list[Row]:
    """Run a process of its own for each trial, as a user would who switches plugins off."""
    costs = [passing(bench, [bench.python, "-m", "pytest", *OPTIONS, NODE_ID], 1) for _ in range(STARTS)]
    return [{"cpu": sum(cost.cpu for cost in costs) / STARTS, "wall": sum(cost.wall for cost in costs) / STARTS}]


def bare(bench: Bench) -> list[Row]:
    """Fork and run the protocol, and nothing else (`bare_fork.py`)."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder, "cost.json")
        script = Path(__file__).with_name("bare_fork.py")
        status, printed, _ = run(bench, [bench.python, script, str(FORKS), output, *OPTIONS, NODE_ID])
        if status != 0 or not output.exists():
            raise SideError(f"bare ended with status {status}:\n{printed}")
        found = json.loads(output.read_text())
    if found["passed"] != FORKS:
        raise SideError(f"{found['passed']} trials of {FORKS} passed in bare forks")
    return [{"cpu": found["cpu"] / FORKS, "wall": found["wall"] / FORKS}]


def triage(bench: Bench) -> list[Row]:
    """Run our own fork engine."""
    return [forked(bench.project, bench.python, FORKS)._asdict()]


def flakefinder(bench: Bench) -> list[Row]:
    """Run pytest-flakefinder: all in one process, nothing is isolated."""
    return repeated(bench, "-p", "pytest_flakefinder", "--flake-finder", count="--flake-runs")


def repeat(bench: Bench) -> list[Row]:
    """Run pytest-repeat: all in one process, nothing is isolated."""
    return repeated(bench, "-p", "pytest_repeat", count="--count")


def repeated(bench: Bench, *options: str, count: str) -> list[Row]:
    """Return the cost of an execution beyond the first, and that of one with its share of the start."""
    command: list[str | Path] = [bench.repeaters, "-m", "pytest", *OPTIONS, *options, NODE_ID]
    one = passing(bench, [*command, f"{count}=1"], 1)
    many = passing(bench, [*command, f"{count}={RUNS}"], RUNS)
    return [
        {
            "cpu": (many.cpu - one.cpu) / (RUNS - 1),
            "wall": (many.wall - one.wall) / (RUNS - 1),
            "cpu_with_start": many.cpu / RUNS,
            "wall_with_start": many.wall / RUNS,
            "cpu_of_one": one.cpu,
            "wall_of_one": one.wall,
        }
    ]


def probe(bench: Bench) -> list[Row]:
    """Run the suite without and with the probe, by the cold engine; the CPU is pytest's, the supervisor's is on neither side."""
    rows = []
    with ColdRunner(bench.project, bench.environment) as runner:
        for pair in range(PAIRS):
            costs = {
                probed: watched(bench, runner, probed=probed) for probed in ((False, True), (True, False))[pair % 2]
            }
            rows.append(
                {
                    "plain_cpu": costs[False].cpu,
                    "plain_wall": costs[False].wall,
                    "probed_cpu": costs[True].cpu,
                    "probed_wall": costs[True].wall,
                    "overhead_cpu": costs[True].cpu / costs[False].cpu - 1,
                    "overhead_wall": costs[True].wall / costs[False].wall - 1,
                }
            )
    return rows


def watched(bench: Bench, runner: ColdRunner, *, probed: bool) -> Cost:
    """Return the seconds of the whole suite in one process."""
    target = f"test_suite.py::test_{SUITE - 1}"
    invocation = Invocation(
        root=str(bench.project), python=str(bench.python), node_ids=("test_suite.py",), options=("-q",)
    )
    request = Request(
        invocation=invocation, target=target, arm=BASELINE, stage=Stage.CONTROL, limit=LIMIT, probed=probed
    )
    finished = runner.run(request)
    end, trial = finished.end, finished.trial
    check(end.exit_status, end.error or end.stdout, SUITE)
    if trial.outcome is not Outcome.PASSED or (probed and len(set(trial.sequence)) != SUITE):
        raise SideError(f"probed={probed}: {trial.outcome}, {trial.reason}, {len(trial.sequence)} tests recorded")
    return Cost(cpu=end.cpu, wall=end.wall)


SIDES: dict[str, Callable[[Bench], list[Row]]] = {
    side.__name__: side for side in (lean, bare, triage, flakefinder, repeat, probe)
}


def run(bench: Bench, command: Sequence[str | Path]) -> tuple[int, str, Cost]:
    """Return exit status, output and cost of one process with the children that it waited for."""
    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        process = subprocess.Popen(
            command,
            cwd=bench.project,
            env=bench.environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        printed = output.read().decode("utf-8", "replace")
    return process.returncode, printed, Cost(cpu=usage.ru_utime + usage.ru_stime, wall=wall)


def passing(bench: Bench, command: Sequence[str | Path], count: int) -> Cost:
    """Return the cost of a pytest process; raises SideError unless exactly `count` tests ran and passed."""
    status, printed, cost = run(bench, command)
    check(status, printed, count)
    return cost


def check(status: int | None, printed: str, count: int) -> None:
    """Raise SideError unless pytest's own summary says that `count` tests passed and nothing else happened."""
    lines = printed.strip().splitlines()
    found = SUMMARY.fullmatch(lines[-1]) if lines else None
    if status != 0 or found is None or int(found[1]) != count:
        raise SideError(f"status {status}, {count} passed tests were expected:\n{printed[-2000:]}")


def write_project(folder: Path, *, broken: bool = False) -> None:
    """Write the trivial test and the suite; with `broken` each has a test that fails, and no side may accept it."""
    outcome = 3 if broken else 2
    folder.mkdir()
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_trivial.py").write_text(f"def test_trivial():\n    assert 1 + 1 == {outcome}\n")
    suite = [f"def test_{number}():\n    assert 1 + 1 == 2\n" for number in range(SUITE - 1)]
    suite.append(f"def test_{SUITE - 1}():\n    assert 1 + 1 == {outcome}\n")
    (folder / "test_suite.py").write_text("\n\n".join(suite))


def environment() -> dict[str, str]:
    """Return what the processes see: nothing of the user's Python or pytest settings, no plugins found by themselves."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    return kept | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def interpreter(name: str) -> Path:
    """Return the interpreter of an environment, which is made if it is not there. Raises SideError if it cannot be made."""
    envs = environments()
    requirements = envs.MATRIX[LEAN] if name == LEAN else (*envs.MATRIX[LEAN], *PLUGINS)
    envs.ENVS.mkdir(exist_ok=True)
    with (envs.ENVS / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not envs.is_complete(name, requirements):
            base = envs.find_interpreter(envs.interpreter_version(name))
            if base is None:
                raise SideError(f"no Python {envs.interpreter_version(name)} on this machine")
            print(f"making the environment {name}", file=sys.stderr)
            envs.create(name, requirements, base)
    return Path(envs.ENVS, name, "bin", "python")


def environments() -> ModuleType:
    """Return `scripts/envs.py`, which makes environments."""
    spec = importlib.util.spec_from_file_location("triage_envs", ROOT / "scripts" / "envs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
