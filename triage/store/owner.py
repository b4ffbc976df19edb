"""Which process runs an experiment, so that one that was killed is told from one that is still at work."""

from __future__ import annotations

import os
from pathlib import Path


def owner(pid: int | None = None) -> str:
    """Return a text that is the same for one process as long as it lives and never again; empty if there is none.

    A process id alone is reused and means another process in another container or on another machine, so boot, process
    namespace and start time go with it (Linux; elsewhere the process id has to do).
    """
    number = os.getpid() if pid is None else pid
    try:
        status = Path(f"/proc/{number}/stat").read_text(encoding="utf-8", errors="replace")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = Path("/proc/self/ns/pid").stat().st_ino
    except (FileNotFoundError, ProcessLookupError):
        return _without_proc(number)
    # proc(5): after the name in parentheses come the state and, as field 22, the start time in ticks since boot.
    fields = status.rpartition(")")[2].split()
    state, start = fields[0], fields[19]
    return "" if state in "ZX" else f"{number}:{start}:{namespace}:{boot}"


def is_alive(text: str) -> bool:
    """Return whether the process that `owner` described is still running here."""
    pid = text.partition(":")[0]
    return pid.isdigit() and owner(int(pid)) == text


def _without_proc(pid: int) -> str:
    if Path("/proc/self/stat").exists():
        return ""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return ""
    except PermissionError:
        pass
    return f"{pid}:"
