"""Counts of what the target does while a test runs, from the interpreter's audit events.

Python tells of threads only since 3.12 and of sleeps only since 3.13. Before, the two functions are replaced by
callables of C that count: they add no frame to any stack, do not become methods as class attributes, and are pickled by
name like the functions that they stand for.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import re
import sys
import threading
import time
from functools import lru_cache, partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, Callable

if TYPE_CHECKING:
    Partial = partial[None]
else:
    Partial = partial  # cannot be subscripted before Python 3.9

MOST_ADDRESSES = 100
"""Distinct addresses kept for one test, and told of in one process."""
LONGEST = 200
"""Characters of an address or of what a command line names."""
# Not `os.posix_spawn`: `subprocess` uses it and would count twice.
COUNTED = {
    "_thread.start_new_thread": "threads",
    "_thread.start_joinable_thread": "threads",
    "subprocess.Popen": "processes",
    "os.system": "processes",
    "os.fork": "forks",
    "os.forkpty": "forks",
    "time.sleep": "sleeps",
}
ADDRESSED = {
    "socket.connect": ("connects", 1),
    "socket.sendto": ("connects", 1),
    "socket.sendmsg": ("connects", 1),
    "socket.bind": ("binds", 1),
    "socket.getaddrinfo": ("lookups", 0),
    "socket.gethostbyname": ("lookups", 0),
    "socket.gethostbyaddr": ("lookups", 0),
    "socket.getnameinfo": ("lookups", 0),
}
COMMANDS = {"subprocess.Popen": 1, "os.system": 0, "os.exec": 1, "os.posix_spawn": 1}
"""Where the command line stands in the arguments of what starts another program."""
REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://(?:[^/@\s'\"]*@)?(\[[^\]\s]*\]|[^/:?#\s'\"]+)")
LOGIN = re.compile(r"^[\w.-]+@([A-Za-z0-9][\w.-]*)(?::.*)?$")
SHELLS_OF_OTHERS = frozenset({"ssh", "sftp", "ftp", "telnet"})
"""Programs that are given the bare name of another machine."""
HOST = re.compile(r"^[A-Za-z][\w.-]*$")
THREADS_ARE_AUDITED = sys.version_info >= (3, 12)
SLEEPS_ARE_AUDITED = sys.version_info >= (3, 13)


class Stand(Partial):
    """A counted function's stand-in; its call is `partial`'s own."""

    __name__: str
    __qualname__: str

    def __reduce__(self) -> str:
        """Pickle by name, as the function itself is: in another process it is that process' function."""
        return self.__name__


def count_calls(module: ModuleType, name: str) -> Callable[[], int]:
    """Replace a function of a module by one that counts, and return what gives the number of calls so far."""
    function = getattr(module, name)
    counting = lru_cache(maxsize=0)(function)  # caches nothing, but counts what it did not find
    stand = Stand(counting)
    stand.__name__, stand.__qualname__ = name, name
    stand.__module__, stand.__doc__ = module.__name__, function.__doc__
    setattr(module, name, stand)
    return lambda: counting.cache_info().misses


class Facts:
    """An audit hook that counts between `reset` and `take`.

    It cannot be removed again, so it is installed only when asked for. What reaches out is told of at once, by `tell(kind, text)`,
    also in forks of this process: a test that hangs, crashes or ends its process in the middle is none the less noticed.
    Without `counting` there is nothing else, and no function is replaced.
    """

    def __init__(self, tell: Callable[[str, str], None], *, counting: bool = True) -> None:
        self._tell = tell
        self._told: set[tuple[str, str]] = set()
        self._counts: dict[str, Any] = {}
        self._calls: dict[str, Callable[[], int]] = {}
        if counting and not THREADS_ARE_AUDITED:
            self._calls["threads"] = count_calls(threading, "_start_new_thread")
        if counting and not SLEEPS_ARE_AUDITED:
            self._calls["sleeps"] = count_calls(time, "sleep")
        self.reset()
        sys.addaudithook(self._hook())

    def reset(self) -> None:
        """Begin to count."""
        self._before = {name: calls() for name, calls in self._calls.items()}
        self._counts = {
            "threads": 0,
            "processes": 0,
            "forks": 0,
            "sleeps": 0,
            "connects": [],
            "binds": [],
            "lookups": [],
            "commands": [],
        }

    def take(self) -> dict[str, Any]:
        """Return what was counted."""
        counts = dict(self._counts)
        for name, calls in self._calls.items():
            counts[name] += calls() - self._before[name]
        return counts

    def _hook(self) -> Callable[[str, tuple[Any, ...]], None]:
        # Bound as locals: the hook is called for every event, also while the interpreter tears modules down.
        def hook(
            event: str,
            args: tuple[Any, ...],
            counted: Callable[[str], str | None] = COUNTED.get,
            addressed: Callable[[str], tuple[str, int] | None] = ADDRESSED.get,
            command: Callable[[str], int | None] = COMMANDS.get,
        ) -> None:
            at = command(event)
            if at is not None:
                self._command(args, at)
            name = counted(event)
            if name is not None:
                self._counts[name] += 1
                return
            place = addressed(event)
            if place is not None:
                self._note(place[0], args, place[1])

        return hook

    def _note(self, name: str, args: tuple[Any, ...], position: int) -> None:
        try:
            text = address_text(args[position])
            if name != "lookups" and isinstance(args[position], (str, bytes)):
                text = "unix:" + text
            self._keep(name, text)
        except Exception:  # noqa: BLE001 - raising here would make the target's call fail
            return

    def _command(self, args: tuple[Any, ...], position: int) -> None:
        try:
            for text in remote_places(args[position]):
                self._keep("commands", text)
        except Exception:  # noqa: BLE001 - as above
            return

    def _keep(self, name: str, text: str) -> None:
        text = text[:LONGEST]
        known: list[str] = self._counts[name]
        if text and text not in known and len(known) < MOST_ADDRESSES:
            known.append(text)
        if text and (name, text) not in self._told and len(self._told) < MOST_ADDRESSES:
            self._told.add((name, text))
            if name != "binds":
                self._tell(name, text)


def remote_places(command: object) -> list[str]:
    """Return what a command line names beyond files: the program, and a URL without user and path, or another machine."""
    words = (
        [address_text(word) for word in command]
        if isinstance(command, (list, tuple))
        else address_text(command).split()
    )
    if not words:
        return []
    program = words[0].rsplit("/", 1)[-1]
    found = []
    for word in words[1:] if len(words) > 1 else words:
        for match in REMOTE.finditer(word):
            scheme = match.group(0).partition("://")[0]
            if scheme.lower() not in ("file", "unix", "sqlite"):
                found.append(f"{program} {scheme}://{match.group(1)}")
        login = LOGIN.match(word)
        if login:
            found.append(f"{program} {login.group(1)}")
    if program in SHELLS_OF_OTHERS:
        found += [f"{program} {word}" for word in words[1:] if HOST.match(word)][:1]
    return found


def address_text(address: object) -> str:
    """Return `host:port`, `[v6]:port`, or the name or path itself; empty for no address."""
    if address is None:
        return ""
    if isinstance(address, tuple) and len(address) >= 2 and isinstance(address[0], (str, bytes)):
        host = address_text(address[0])
        return f"[{host}]:{address[1]}" if ":" in host else f"{host}:{address[1]}"
    if isinstance(address, bytes):
        return address.decode("utf-8", "backslashreplace")
    return address if isinstance(address, str) else repr(address)
