"""Whether a process may be forked after collection: what a child would share with its siblings or be without.

Threads are counted by the operating system: native ones and those that `threading` does not know would be missing in the
child all the same, with the locks that they hold. One child is forked and thrown away first, since some libraries
(OpenBLAS) end their threads themselves before a fork; what is alive after it does not.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
import signal
import stat
import sys
from typing import Any, Callable, Iterable

TASKS = "/proc/self/task"
DESCRIPTORS = "/proc/self/fd"
MAPS = "/proc/self/maps"
MOST_NAMED = 3
STANDARD_HANDLERS = (
    "random",
    "threading",
    "logging",
    "concurrent.futures",
    "_",
    "multiprocessing",
    "asyncio",
    "weakref",
)
"""Modules of the standard library that renew themselves in forked children; a fork is what they are made for."""
TOOLS = 6
"""Tool ids of `sys.monitoring`."""


class Watch:
    """Looks at the process when the probe is imported and once more after collection."""

    def __init__(self) -> None:
        self._before = descriptors()
        self._shared = shared_maps()
        self._handlers: list[str] = []
        self._register = os.register_at_fork
        os.register_at_fork = self._note_handlers

    def _note_handlers(self, **handlers: Any) -> None:
        self._register(**handlers)
        self._handlers += [module_of(handler) for handler in handlers.values()]

    def stop(self) -> None:
        """Take our hand off `os.register_at_fork`."""
        if os.register_at_fork == self._note_handlers:
            os.register_at_fork = self._register

    def reasons(self, own: Iterable[int], temporary: str) -> list[str]:
        """Say what speaks against forking; `own` are descriptors of the probe, `temporary` is this process' TMPDIR."""
        found = [
            *self._opened(set(own)),
            *self._asked_for_forks(),
            *children(),
            *(
                f"{what} is mapped into memory that children would share"
                for what in sorted(shared_maps() - self._shared)
            ),
            *tracing(),
            *signals(),
            *left_in(temporary),
        ]
        count = threads_after_fork()
        if count > 1:
            found.append(f"{count - 1} thread(s) were alive after collection, which a forked child is without")
        return found

    def _opened(self, own: set[int]) -> list[str]:
        known = set(self._before.values())
        new = []
        for number, (what, identity) in sorted(descriptors().items()):
            if number in own or self._before.get(number) == (what, identity):
                continue
            if (what, identity) in known or harmless(what, identity):
                continue
            new.append(what)
        return [f"collection left {what} open, whose state children would share" for what in dict.fromkeys(new)]

    def _asked_for_forks(self) -> list[str]:
        others = [
            name
            for name in dict.fromkeys(self._handlers)
            if not any(name == own or name.startswith(own + "." if own != "_" else own) for own in STANDARD_HANDLERS)
        ]
        return [f"`{name}` asked to be told of forks (os.register_at_fork)" for name in others[:MOST_NAMED]]


def module_of(handler: Any) -> str:
    """Return the module in which a callable was written."""
    function = getattr(handler, "func", handler)
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__module__", None) or getattr(type(owner), "__module__", None)
    return str(name or "?")


Identity = "tuple[int, int, int]"


def descriptors() -> dict[int, tuple[str, Any]]:
    """Return what each open descriptor refers to: a word for it and its identity."""
    found: dict[int, tuple[str, Any]] = {}
    for entry in os.listdir(DESCRIPTORS):
        try:
            status = os.fstat(int(entry))
            target = os.readlink(os.path.join(DESCRIPTORS, entry))
        except OSError:
            continue
        found[int(entry)] = (word(status.st_mode, target), (status.st_mode, status.st_dev, status.st_ino))
    return found


def word(mode: int, target: str) -> str:
    """Name what a descriptor refers to, for people."""
    if stat.S_ISSOCK(mode):
        return "a socket"
    if stat.S_ISFIFO(mode):
        return "a pipe"
    if target.startswith("anon_inode:"):
        return f"an {target[len('anon_inode:') :].strip('[]')}"
    if stat.S_ISREG(mode):
        return f"the file {os.path.basename(target)}"
    return target


def harmless(what: str, identity: Any) -> bool:
    """Whether sharing a descriptor shares no state: folders and devices."""
    return stat.S_ISDIR(identity[0]) or stat.S_ISCHR(identity[0])


def shared_maps() -> set[str]:
    """Return the names of writable memory that is shared with other processes."""
    found = set()
    try:
        with open(MAPS, encoding="utf-8", errors="replace") as file:
            for line in file:
                fields = line.split(None, 5)
                if fields[1].startswith("rw") and fields[1][3] == "s":
                    found.add(fields[5].strip() if len(fields) > 5 else "anonymous memory")
    except OSError:
        return set()
    return found


def children() -> list[str]:
    """Say whether this process has children."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return []
    return ["collection started a process that is still alive"]


def tracing() -> list[str]:
    """Say who watches the interpreter: coverage, a debugger, a profiler."""
    found = []
    for name, function in (("a trace function", sys.gettrace()), ("a profile function", sys.getprofile())):
        if function is not None:
            found.append(f"{name} is set (`{module_of(function)}`)")
    monitoring = getattr(sys, "monitoring", None)
    if monitoring is not None:
        tools = filter(None, (monitoring.get_tool(number) for number in range(TOOLS)))
        found += [f"`{name}` uses sys.monitoring" for name in tools]
    return found


def signals() -> list[str]:
    """Say what of signals a child would be without."""
    found = []
    if signal.getsignal(signal.SIGCHLD) == signal.SIG_IGN:
        found.append("SIGCHLD is ignored, so the end of a child cannot be seen")
    if any(signal.getitimer(which)[0] for which in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)):
        found.append("a timer is running, which a forked child is without")
    return found


def left_in(temporary: str) -> list[str]:
    """Say what collection left in the folder for temporary files: every child would have the same."""
    try:
        names = sorted(os.listdir(temporary))
    except OSError:
        return []
    return [f"collection left `{names[0]}` in the folder for temporary files"] if names else []


def threads_after_fork(fork: Callable[[], int] = os.fork) -> int:
    """Return how many threads are alive after a fork; those that end themselves before one are gone by then."""
    if len(os.listdir(TASKS)) > 1:
        pid = fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
    return len(os.listdir(TASKS))
