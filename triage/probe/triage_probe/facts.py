"""Counts of what the target does while a test runs, from the interpreter's audit events.

Python tells of threads only since 3.12 and of sleeps only since 3.13. Before, the two functions are replaced by
callables of C that count: they add no frame to any stack, do not become methods as class attributes, and are pickled by
name like the functions that they stand for.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

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
"""Distinct addresses kept for one test."""
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
}
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

    It cannot be removed again, so it is installed only when asked for.
    """

    def __init__(self) -> None:
        self._counts: dict[str, Any] = {}
        self._calls: dict[str, Callable[[], int]] = {}
        if not THREADS_ARE_AUDITED:
            self._calls["threads"] = count_calls(threading, "_start_new_thread")
        if not SLEEPS_ARE_AUDITED:
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
        ) -> None:
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
            known: list[str] = self._counts[name]
            if text and text not in known and len(known) < MOST_ADDRESSES:
                known.append(text)
        except Exception:  # noqa: BLE001 - raising here would make the target's call fail
            return


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
