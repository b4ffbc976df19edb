"""The side of `speed.py` that measures our own fork engine, and what its processes have used of the processor."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from triage.model.arm import BASELINE
from triage.model.invocation import Invocation
from triage.model.outcome import Outcome
from triage.model.trial import Stage
from triage.runner.cold import ColdRunner, Request
from triage.runner.forks import ForkPool

NODE_ID = "test_trivial.py::test_trivial"
"""What every side but the probe's runs, in the project that `speed.py` makes."""


class SideError(Exception):
    """A side did not run what it is measured for; a figure of it would mean nothing."""


class Cost(NamedTuple):
    """Seconds per trial."""

    cpu: float
    """User and system time of all processes concerned."""
    wall: float


def forked(project: Path, python: Path, count: int) -> Cost:
    """Run `NODE_ID` in `project` under the interpreter `python`, `count` times by the fork engine; return the cost of a trial.

    Counted is what a trial costs once the server is ready to fork, as `bare` does not count the start of its own pytest:
    `cpu_of` of the server and its supervisor and our own `process_time`, from then until the last trial has been judged. Raises
    SideError unless exactly `count` trials passed; `speed.py` makes sure of it with a test that fails.
    """
    with engine(project, python) as (pool, request):
        first = pool.run(request)[0].trial
        (server,) = pool.servers
        pids = (server.pid, server.supervisor_pid)
        began, wall = sum(map(cpu_of, pids)) + time.process_time(), time.perf_counter()
        outcomes = [pool.run(request)[0].trial.outcome for _ in range(count)]
        cpu = sum(map(cpu_of, pids)) + time.process_time() - began
        wall = time.perf_counter() - wall
    passed = sum(outcome is Outcome.PASSED for outcome in (first.outcome, *outcomes))
    if passed != count + 1:
        raise SideError(f"{passed} of {count + 1} forked trials passed: {first.reason or first.failure}")
    return Cost(cpu=cpu / count, wall=wall / count)


@contextmanager
def engine(project: Path, python: Path) -> Iterator[tuple[ForkPool, Request]]:
    """Make the fork engine, and a request for one trial of `NODE_ID`; the state folder goes with it."""
    invocation = Invocation(
        root=str(project), python=str(python), node_ids=(NODE_ID,), options=("-q", "-p", "no:cacheprovider")
    )
    request = Request(invocation=invocation, target=NODE_ID, arm=BASELINE.forked, stage=Stage.SCREEN, limit=60.0)
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    with ColdRunner(project, environment) as runner, ForkPool(runner) as pool:
        yield pool, request


class Health(NamedTuple):
    """What must not grow, after so many trials."""

    trials: int
    seconds: float
    """Of the trials since the sample before."""
    client_fds: int
    server_fds: int
    client_kib: int
    """Resident memory of our own process."""
    server_kib: int
    zombies: int
    """Of the whole machine."""
    files: int
    """Below the folder for temporary files, with folders."""


def endure(project: Path, python: Path, count: int, samples: int = 10) -> list[Health]:
    """Run `count` forked trials and look `samples` times; raises SideError unless all passed."""
    found = []
    with engine(project, python) as (pool, request):
        pool.run(request)
        (server,) = pool.servers
        for sample in range(samples + 1):
            began = time.perf_counter()
            for _ in range(count // samples if sample else 0):
                if pool.run(request)[0].trial.outcome is not Outcome.PASSED:
                    raise SideError("a trial did not pass")
            seconds = time.perf_counter() - began
            found.append(
                Health(
                    trials=sample * (count // samples),
                    seconds=seconds,
                    client_fds=sum(1 for _ in Path("/proc/self/fd").iterdir()),
                    server_fds=sum(1 for _ in Path(f"/proc/{server.pid}/fd").iterdir()),
                    client_kib=resident(os.getpid()),
                    server_kib=resident(server.pid),
                    zombies=sum(b") Z" in stat for stat in map(stat_of, Path("/proc").glob("[0-9]*"))),
                    files=sum(1 for _ in Path(tempfile.gettempdir()).glob(f"tri-{os.getpid():x}-*/**/*")),
                )
            )
        if list(pool.servers) != [server]:
            raise SideError("the server was started anew meanwhile")
    return found


def resident(pid: int) -> int:
    """Return the resident memory of a process, in KiB."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def stat_of(process: Path) -> bytes:
    """Return `/proc/PID/stat`, empty if the process is gone."""
    try:
        return process.joinpath("stat").read_bytes()
    except OSError:
        return b""


def cpu_of(pid: int) -> float:
    """Return the CPU seconds of a live process: user and system time of all its threads and of the children it waited for.

    From `/proc/PID/stat`, so Linux only. The four times in it are whole clock ticks each (10 ms where `SC_CLK_TCK` is 100), rounded
    down one by one, so a difference of two readings is off by less than 4 ticks a process either way, by 2 for one without
    children: let a measured stretch take 2 s of CPU or more, and it is a matter of 2%. Raises OSError if there is no
    such process.
    """
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    fields = stat[stat.rindex(")") + 2 :].split()  # the name before it may hold blanks and brackets
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
