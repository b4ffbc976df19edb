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
import threading
from contextlib import suppress
from typing import Any, Iterable

TASKS = "/proc/self/task"
DESCRIPTORS = "/proc/self/fd"
MAPS = "/proc/self/maps"
MOST_NAMED = 3
TOOLS = 6
"""Tool ids of `sys.monitoring`."""


class Watch:
    """Looks at the process when the probe is imported and once more after collection."""

    def __init__(self) -> None:
        self.before = descriptors()
        """What each descriptor referred to at first."""
        self._shared = shared_maps()
        self._handlers: list[str] = []
        self._register = os.register_at_fork
        os.register_at_fork = self._note_handlers

    def _note_handlers(self, **handlers: Any) -> None:
        self._register(**handlers)
        caller = sys._getframe(1).f_globals  # noqa: SLF001 - the handler may be a method of a lock, and tell nothing
        if not is_standard(caller.get("__file__")):
            self._handlers.append(str(caller.get("__name__")))

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
        count = threads_after_fork() - 1
        if count:
            found.append(
                f"{count} thread(s){thread_names()} were alive after collection, which a forked child is without"
            )
        return found

    def _opened(self, own: set[int]) -> list[str]:
        known = set(self.before.values())
        new = []
        for number, (what, identity) in sorted(descriptors().items()):
            if number in own or self.before.get(number) == (what, identity):
                continue
            if (what, identity) in known or is_harmless(identity):
                continue
            new.append(what)
        return [f"collection left {what} open, whose state children would share" for what in dict.fromkeys(new)]

    def _asked_for_forks(self) -> list[str]:
        names = list(dict.fromkeys(self._handlers))
        return [f"`{name}` asked to be told of forks (os.register_at_fork)" for name in names[:MOST_NAMED]]


def is_standard(file: str | None) -> bool:
    """Whether a module is of the standard library, which renews itself in forked children."""
    if file is None:
        return False
    own = os.path.dirname(os.path.realpath(os.__file__))
    path = os.path.realpath(file)
    return path.startswith(own + os.sep) and not {"site-packages", "dist-packages"} & set(path.split(os.sep))


def module_of(function: Any) -> str:
    """Return the module in which a callable was written."""
    name = getattr(function, "__module__", None) or getattr(type(function), "__module__", None)
    return str(name or "?")


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


def is_harmless(identity: Any) -> bool:
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
    """Say which processes collection started and did not wait for."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return []
    names = []
    with suppress(OSError), open(f"{TASKS}/{os.getpid()}/children", encoding="ascii") as file:
        names = [process_name(pid) for pid in file.read().split()]  # not every kernel lists them
    return [f"collection started {name} and did not wait for its end" for name in names or ["a process"]]


def process_name(pid: str) -> str:
    """Return the name of a process, for people."""
    try:
        with open(f"/proc/{pid}/comm", encoding="utf-8", errors="replace") as file:
            return f"the process `{file.read().strip()}`"
    except OSError:
        return "a process"


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
    if signal.getsignal(signal.SIGCHLD) not in (signal.SIG_DFL, None):
        found.append("SIGCHLD is ignored or handled, so the end of a child may be taken by others")
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


def thread_names() -> str:
    """Return the names of the threads that `threading` knows, in brackets."""
    names = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    return f" ({', '.join(names[:MOST_NAMED])})" if names else ""


def threads_after_fork() -> int:
    """Return how many threads are alive after a fork; those that end themselves before one are gone by then."""
    if len(os.listdir(TASKS)) > 1:
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
    return len(os.listdir(TASKS))
