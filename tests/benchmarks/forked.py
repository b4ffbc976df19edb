"""The side of `speed.py` that measures our own fork engine, and what its processes have used of the processor."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

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
    read `cpu_of` of the server, the supervisor and ourselves (`os.getpid()`) when the server is ready and again when the last
    trial has been judged, all of them still alive. `time.process_time()` of ourselves plus RUSAGE_CHILDREN cannot
    see live processes. A trial's process counts within the process that has waited for it; one that nobody has waited for yet, or
    whose parent ignores SIGCHLD, counts nowhere.

    Raises SideError unless exactly `count` trials passed; `speed.py` makes sure of it with a test that fails.
    """
    raise NotImplementedError


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
