"""Events: one JSON line each, appended by one `write`, by the process that was started and no fork of it.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import fcntl
import os
import resource
import sys
import time
import traceback
from contextlib import suppress
from json.encoder import encode_basestring_ascii
from typing import Any, Callable

HIGH = 200
"""Descriptors that a target opens for itself are below this."""
LOST = "lost-"
"""Before the name of the file: the mark that something could not be written; it leads to the reason."""
CUT = "\n[... {} characters left out ...]\n"
GET_TAG: int = getattr(fcntl, "F_GETSIG", 0)
SET_TAG: int = getattr(fcntl, "F_SETSIG", 0)
TAGS = iter(range(61, 65))
"""Signal numbers that nobody else gives to open files, to tell ours; without `O_ASYNC` none is ever sent."""


quote: Callable[[str], str] = encode_basestring_ascii
CONSTANTS = {id(value): text for value, text in ((None, "null"), (True, "true"), (False, "false"))}


def encode(value: object, *, quote: Callable[[str], str] = quote) -> str:
    """Return strict ASCII JSON; `json.dumps` itself depends on classes that tests patch."""
    text = CONSTANTS.get(id(value))
    if text is not None:
        return text
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join([encode(item) for item in value]) + "]"
    if isinstance(value, dict):
        return "{" + ",".join([encode(str(key)) + ":" + encode(item) for key, item in value.items()]) + "}"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return float.__repr__(value) if value - value == 0 else "null"  # neither infinite nor "not a number"
    raise TypeError(f"no JSON for {type(value).__name__}")


def clean(text: str) -> str:
    """Return an exact `str` without lone surrogates, which no strict JSON reader takes."""
    return str.encode(text, "utf-8", "backslashreplace").decode("utf-8")


class Appender:
    """A file that stays reachable for appending, even if the target closes every descriptor it finds."""

    def __init__(self, path: str) -> None:
        self.path = os.path.abspath(path)
        # One for each file: where all descriptors were closed, another of ours may be the first to be open under this number.
        self._tag = next(TAGS, 0)
        self._open = os.open
        self._close = os.close
        self._fcntl = fcntl.fcntl
        self._duplicate = fcntl.F_DUPFD_CLOEXEC
        self._fstat = os.fstat
        self._flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        self._reopen()

    def _reopen(self) -> None:
        """Open at a high number: a low one is what others write to if the target has closed 1 and 2."""
        low = self._open(self.path, self._flags, 0o600)
        try:
            self._fd = self._fcntl(low, self._duplicate, HIGH)
        except OSError:
            self._fd = low
        else:
            self._close(low)
        status = self._fstat(self._fd)
        self._identity = (status.st_dev, status.st_ino)
        self._tagged = False
        if SET_TAG and self._tag:
            try:
                self._fcntl(self._fd, SET_TAG, self._tag)
            except OSError:
                return
            self._tagged = True

    def fileno(self) -> int:
        """Return a descriptor of the file: closed, its number may belong to a file of the target's by now.

        Asked before every line, so the cheapest question comes first: a seventh of the price of the other.
        """
        try:
            if self._tagged and self._fcntl(self._fd, GET_TAG) == self._tag:
                return self._fd
            status = self._fstat(self._fd)
            if (status.st_dev, status.st_ino) != self._identity:
                self._reopen()
        except OSError:
            self._reopen()
        return self._fd


class Wire:
    """Writes events. Nothing here raises: what cannot be written is lost, which a mark beside the file says; the target goes on."""

    def __init__(self, path: str, text_limit: int) -> None:
        self._file = Appender(path)
        self._limit = text_limit
        self._write = os.write
        self._getpid = os.getpid
        self._format_exception = traceback.format_exception
        # Not `monotonic`: it is the same clock, and this name is left alone by what freezes clocks in place.
        self._clock = time.perf_counter
        self._pid = os.getpid()
        self._began = self._clock()
        self._torn = False
        self._limits, self._set_limits, self._fsize = resource.getrlimit, resource.setrlimit, resource.RLIMIT_FSIZE
        self._unlimited = resource.RLIM_INFINITY
        self._size = os.fstat
        self._link = os.symlink
        self._mark = os.path.join(os.path.dirname(self._file.path), LOST + os.path.basename(path))
        self.lost = False

    def begin_again(self) -> None:
        """In a forked child that is a trial of its own: write, which other forks do not."""
        self._pid = self._getpid()
        self._began = self._clock()
        self._torn = self.lost = False

    def fileno(self) -> int:
        """Return the descriptor of the file."""
        return self._file.fileno()

    @property
    def in_own_process(self) -> bool:
        """Whether this is the process that imported the probe, not a fork of it."""
        return self._getpid() == self._pid

    def emit(self, event: str, **keys: object) -> None:
        """Write one event."""
        if self.in_own_process:
            try:
                text = encode(keys)[1:-1]
            except Exception as error:  # noqa: BLE001 - what cannot be encoded must not fail the target's test
                self._lose(error)
                return
            self.write(event, text)

    def write(self, event: str, keys: str) -> None:
        """Write one event whose keys are JSON already."""
        if self._getpid() == self._pid:
            self.tell(event, keys)

    def tell(self, event: str, keys: str) -> None:
        """As `write`, but also from a fork of the process that was started."""
        try:
            microseconds = int((self._clock() - self._began) * 1e6)  # a whole number is written at a third of the price
            line = f'{{"e":"{event}","t":{microseconds}e-6{"," if keys else ""}{keys}}}\n'
            data = ("\n" + line if self._torn else line).encode("ascii")
            written = self._append(self._file.fileno(), data)
            self._torn = written != len(data)
            if self._torn:
                self._lose(OSError(0, "No space left on device"))
        except Exception as error:  # noqa: BLE001 - a full disk must not fail the target's test
            self._lose(error)

    def _append(self, fd: int, data: bytes) -> int:
        """Write, also if the target has limited the size of its files: that is not meant for ours.

        Asked before and not after a failure: whoever set the signal's handler back to the system's would be killed.
        """
        limits = self._limits(self._fsize)
        if limits[0] == self._unlimited:
            return self._write(fd, data)
        if limits[1] != self._unlimited and self._size(fd).st_size + len(data) > limits[1]:
            raise OSError(0, "the target has limited the size of files")
        self._set_limits(self._fsize, (limits[1], limits[1]))
        try:
            return self._write(fd, data)
        finally:
            self._set_limits(self._fsize, limits)

    def _lose(self, error: BaseException) -> None:
        """Leave a mark that the record has a gap: a link, which takes no space on a full disk and has no size."""
        if self.lost:
            return
        self.lost = True
        with suppress(Exception):
            self._link(str(getattr(error, "strerror", None) or type(error).__name__)[:50], self._mark)

    def cut(self, text: str) -> str:
        """Shorten in the middle what is longer than the plan allows."""
        excess = len(text) - self._limit
        if excess > 0:
            head = self._limit // 2
            text = text[:head] + CUT.format(excess) + text[head + excess :]
        return clean(text)

    def internal_error(self, where: str, error: BaseException) -> None:
        """Record a fault of the probe itself."""
        lines = self._format_exception(type(error), error, error.__traceback__)
        self.emit("internal_error", text=self.cut(f"triage_probe, {where}:\n" + "".join(lines)))


class Guard:
    """`with guard:` keeps a fault of the probe from the target, and records it."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._frame = sys._getframe  # noqa: SLF001 - for the name of the hook

    def __enter__(self) -> None:
        """Nothing to prepare."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _traceback: Any) -> bool:
        if not isinstance(error, Exception):
            return False  # also KeyboardInterrupt: it is the target's
        with suppress(Exception):
            self._wire.internal_error(self._frame(1).f_code.co_name, error)
        return True
