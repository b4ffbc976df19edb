"""What is known of an exception that made a phase fail.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import io
import os
import sys
from types import TracebackType
from typing import Any, Callable

MOST_FRAMES = 4000
"""Of an endless recursion the outer and the inner half of this many are kept, and a line says so."""
LARGEST_SOURCE = 4 << 20
"""Bytes; a larger file is not read for one line of it."""
INSTALLED = ("site-packages", "dist-packages")


class FailureReader:
    """Turns exceptions and reports into the wire's `failure`."""

    def __init__(self, cut: Callable[[str], str]) -> None:
        self._cut = cut
        self._open = io.open
        self._join = os.path.join
        self._is_absolute = os.path.isabs
        self._separator = os.sep
        self._folder = os.getcwd()
        self._root = ""
        self._outside: list[str] = []

    def set_root(self, root: str) -> None:
        """Set the folder that is the project: what lies below it and is not installed."""
        self._root = self._join(root, "")
        places = {sys.prefix, sys.base_prefix}
        self._outside = [self._join(place, "") for place in places if self._join(place, "").startswith(self._root)]
        if self._root in self._outside:
            self._outside.remove(self._root)

    def from_exception(self, error: BaseException, trace: TracebackType | None) -> dict[str, Any]:
        """Describe a raised exception with all its frames, also those that pytest hides."""
        frames: list[list[Any]] = []
        while trace is not None:
            code = trace.tb_frame.f_code
            frames.append([self._cut(code.co_filename), trace.tb_lineno or 0, self._cut(code.co_name)])
            trace = trace.tb_next
        left_out = len(frames) - MOST_FRAMES
        if left_out > 0:
            half = MOST_FRAMES // 2
            frames[half:-half] = [["", 0, f"[... {left_out} frames left out ...]"]]
        return {
            "exception": self._cut(type_name(type(error))),
            "message": self._cut(message_of(error)),
            "frames": frames,
            "source": self._source(frames),
        }

    def from_report(self, report: Any) -> dict[str, Any]:
        """Describe as much as a report says by itself: it came from another process, or pytest made it up."""
        crash = getattr(report.longrepr, "reprcrash", None)
        text = str(getattr(crash, "message", None) or report.longrepr or "")
        kind, colon, rest = text.partition(":")
        named = crash is not None and all(part.isidentifier() for part in kind.strip().split("."))
        frames = []
        for entry in getattr(getattr(report.longrepr, "reprtraceback", None), "reprentries", ()):
            place = getattr(entry, "reprfileloc", None)
            if place is not None:
                file = self._join(self._folder, str(place.path))
                frames.append([self._cut(file), int(place.lineno), ""])
        return {
            "exception": kind.strip() if named else None,
            "message": self._cut(rest.strip() if named and colon else text),
            "frames": frames,
            "source": self._source(frames),
        }

    def _source(self, frames: list[list[Any]]) -> str:
        for file, line, _function in reversed(frames):
            path = file if self._is_absolute(file) else self._join(self._folder, file)
            if line > 0 and self._is_project(path):
                return self._cut(self._read_line(path, line))
        return ""

    def _is_project(self, path: str) -> bool:
        if not self._root or not path.startswith(self._root) or path.endswith(">"):
            return False
        if any(path.startswith(place) for place in self._outside):
            return False
        return not any(part in INSTALLED for part in path.split(self._separator))

    def _read_line(self, path: str, number: int) -> str:
        try:
            with self._open(path, "rb") as file:
                lines = file.read(LARGEST_SOURCE).splitlines()
            return lines[number - 1].decode("utf-8", "replace").strip()
        except (OSError, ValueError, IndexError):
            return ""


def type_name(kind: type) -> str:
    """Return the qualified name of an exception type; `builtins` is left out."""
    module = getattr(kind, "__module__", None)
    name = getattr(kind, "__qualname__", kind.__name__)
    return name if module in ("builtins", None) else f"{module}.{name}"


def message_of(error: BaseException) -> str:
    """Return `str(error)`, whatever its class does."""
    try:
        return str(error)
    except KeyboardInterrupt:
        raise
    except BaseException as fault:  # noqa: BLE001 - the target's own `__str__`
        return f"<no message: __str__ raised {type_name(type(fault))}>"
