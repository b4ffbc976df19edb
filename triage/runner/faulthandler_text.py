"""Parses what `faulthandler` writes (CPython 3.8 to 3.14), which is all that is left of a process that crashed or hung.

The format is that of `Python/traceback.c` and `Modules/faulthandler.c`. Text may be cut anywhere: a process
that is being killed stops writing in the middle of a line, and such a line is dropped.
"""

from __future__ import annotations

import re

from msgspec import Struct

from triage.model.trial import Frame

HEADER = re.compile(r"^(?:Fatal Python error: |Windows fatal exception: |Timeout \()")
THREAD = re.compile(
    r"^(?P<current>Current thread|Thread) (?P<id>0x[0-9a-fA-F]+)(?: \[(?P<name>.*)\])? \(most recent call first\):"
)
STACK = "Stack (most recent call first):"
FRAME = re.compile(
    r'^  File (?:"(?P<file>.*)"|\?\?\?), line (?P<line>\d+|\?\?\?) in (?P<function>.*)$',
)
EXTENSIONS = re.compile(r"^Extension modules: (?P<names>.*?)(?: \(total: \d+\))?$")
C_STACK = "Current thread's C stack trace (most recent call first):"
ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")
MANY_THREADS = "..."
OTHER_LINES = frozenset(
    {
        "",
        "...",
        "<no Python frame>",
        "<tstate is freed>",
        "<freed thread state>",
        "<invalid frame>",
        "<timeout>",
        "<Cannot show all threads while the GIL is disabled>",
    }
)
"""What a report says besides stacks."""


class Thread(Struct, frozen=True, kw_only=True):
    """One thread's stack."""

    id: str
    current: bool = False
    """The thread that died, or in which the signal arrived."""
    name: str | None = None
    frames: tuple[Frame, ...] = ()
    """Outermost first."""
    garbage_collecting: bool = False


class Dump(Struct, frozen=True, kw_only=True):
    """One report of `faulthandler`."""

    error: str | None = None
    """`Segmentation fault`; None where no line says it."""
    threads: tuple[Thread, ...] = ()
    """As written: the one started last comes first."""
    complete: bool = True
    """False if `faulthandler` left threads out (it writes 100)."""
    extensions: tuple[str, ...] = ()
    """Names of the extension modules loaded that are not in the standard library."""
    c_stack: tuple[str, ...] = ()
    """Native frames of the current thread as written (3.14), innermost first."""
    text: str = ""

    @property
    def current(self) -> Thread | None:
        """The thread that died; the only one if none is marked."""
        marked = next((thread for thread in self.threads if thread.current), None)
        return marked or (self.threads[0] if len(self.threads) == 1 else None)

    @property
    def main(self) -> Thread | None:
        """The main thread: the first to be started, so the last in the list; the current one if the list is cut."""
        if not self.threads:
            return None
        return self.threads[-1] if self.complete else self.current


def read_dumps(text: str) -> tuple[Dump, ...]:
    """Find every report in a text that may hold anything else too, such as a standard error stream."""
    reader = _Reader()
    for line in text.splitlines(keepends=True):
        reader.take(line)
    reader.close()
    return tuple(reader.dumps)


def last_dump(text: str) -> Dump | None:
    """Return the last report, that of the process' end; forked children that died write theirs before it."""
    dumps = read_dumps(text)
    return dumps[-1] if dumps else None


class _Reader:
    """Takes one line after the other; a report ends where another begins or where lines are no longer its own."""

    def __init__(self) -> None:
        self.dumps: list[Dump] = []
        self.reset()

    def reset(self) -> None:
        self.lines: list[str] = []
        self.error: str | None = None
        self.threads: list[Thread] = []
        self.frames: list[Frame] = []
        self.collecting = False
        self.extensions: tuple[str, ...] = ()
        self.c_stack: list[str] = []
        self.complete = True
        self.native = False

    def take(self, raw: str) -> None:
        line = raw.rstrip("\r\n")
        if HEADER.match(line):
            self.close()
            self.error = line.removeprefix("Fatal Python error: ").rstrip() if raw.endswith("\n") else None
            self.lines.append(raw)
        elif not raw.endswith("\n") and not EXTENSIONS.match(line):
            if self.lines:
                self.lines.append(raw)
        elif self.is_thread(line) or (self.lines and self.part(line)):
            self.lines.append(raw)
        else:
            self.close()

    def is_thread(self, line: str) -> bool:
        """Whether a thread's stack begins here; one of an unknown kind of report begins a report."""
        match = THREAD.match(line)
        if not match and line != STACK:
            return False
        self.close_thread()
        if match:
            self.threads.append(Thread(id=match["id"], current=match["current"] != "Thread", name=match["name"]))
        else:
            self.threads.append(Thread(id="", current=True))
        return True

    def part(self, line: str) -> bool:
        """Take a line within a report; returns whether it is one."""
        if match := FRAME.match(line):
            self.frames.append(
                Frame(
                    unescape(match["file"]) if match["file"] is not None else "???",
                    int(match["line"]) if match["line"].isdigit() else 0,
                    unescape(match["function"]),
                )
            )
        elif match := EXTENSIONS.match(line):
            self.extensions = tuple(name for name in match["names"].split(", ") if name)
        elif line in {MANY_THREADS, "<Cannot show all threads while the GIL is disabled>"}:
            self.complete = False
        elif line.strip() == "Garbage-collecting":
            self.collecting = True
        elif line == C_STACK:
            self.native = True
        elif self.native and line.startswith("  "):
            self.c_stack.append(line.strip())
        elif self.threads:
            return line.strip() in OTHER_LINES
        return True

    def close_thread(self) -> None:
        """Give the last thread the frames that were read since."""
        if self.threads and (self.frames or self.collecting):
            last = self.threads[-1]
            self.threads[-1] = Thread(
                id=last.id,
                current=last.current,
                name=last.name,
                frames=tuple(reversed(self.frames)),
                garbage_collecting=self.collecting,
            )
        self.frames, self.collecting = [], False

    def close(self) -> None:
        """Keep the report read so far, if there is any."""
        self.close_thread()
        if self.lines:
            self.dumps.append(
                Dump(
                    error=self.error,
                    threads=tuple(self.threads),
                    complete=self.complete,
                    extensions=self.extensions,
                    c_stack=tuple(self.c_stack),
                    text="".join(self.lines),
                )
            )
        self.reset()


def unescape(text: str) -> str:
    r"""Undo `faulthandler`'s escapes of what is not ASCII (`caf\xe9.py`)."""
    return ESCAPE.sub(lambda match: chr(int(match[1] or match[2] or match[3], 16)), text)
