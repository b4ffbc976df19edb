"""Starts the supervisor of one trial, holds its leash, and decodes what it reports."""

from __future__ import annotations

import logging
import marshal
import os
import py_compile
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Self

import msgspec
from msgspec import Struct

from triage.errors import ExitCode, TriageError
from triage.runner.oom import killed_since, oom_kills

SUPERVISOR = Path(__file__).with_name("supervisor.py")
HEAD_BYTES = 64 * 1024
TAIL_BYTES = 192 * 1024
GRACE = 1.0
"""Seconds between SIGABRT, which makes `faulthandler` write the stacks, and SIGKILL."""
LINGER = 0.25
"""Seconds for what outlives the main process to end by itself, as multiprocessing's resource tracker does."""
PATIENCE = 30.0
"""Seconds that the supervisor may take beyond the limit before it counts as failed itself."""

log = logging.getLogger(__name__)


class CancelledError(TriageError):
    """The user or a signal ended the trial; nothing of it is left running, and it says nothing about the target."""

    exit_code = ExitCode.INTERRUPTED


class ProcessEnd(Struct, frozen=True, kw_only=True):
    """How the main process of a trial ended, and what was left of its tree; nothing here is interpreted."""

    error: str | None = None
    """Why the target could not be started or supervised; the other fields then mean nothing."""
    pid: int = 0
    exit_status: int | None = None
    signal: int | None = None
    core: bool = False
    wall: float = 0.0
    """Seconds."""
    cpu: float = 0.0
    """Seconds, with those of the children that it waited for."""
    max_rss_kib: int = 0
    limit_hit: bool = False
    stopped: str | None = None
    """`request` (by us) or `signal` (somebody ended the supervisor)."""
    leftovers: tuple[str, ...] = ()
    """Names of the processes that outlived the main one and had to be killed."""
    stuck: tuple[str, ...] = ()
    """Names of the processes that SIGKILL did not end."""
    oom: bool | None = None
    """Whether the kernel killed for want of memory meanwhile; None if it does not tell."""
    subreaper: bool = False
    """False: processes that left the target's process group could not be found."""
    stdout: str = ""
    stderr: str = ""


class Output(Struct):
    """What is kept of a stream: its first and last bytes, and how many between them are gone."""

    head: bytes
    tail: bytes
    dropped: int

    def text(self) -> str:
        """Return it for people."""
        gap = f"\n[... {self.dropped} bytes dropped ...]\n".encode() if self.dropped else b""
        return (self.head + gap + self.tail).decode("utf-8", "replace")


class _Report(Struct):
    pid: int
    error: str | None
    exit_status: int | None
    signal: int | None
    core: bool
    wall: float
    cpu: float
    max_rss_kib: int
    limit_hit: bool
    stopped: str | None
    leftovers: tuple[str, ...]
    stuck: tuple[str, ...]
    subreaper: bool
    stdout: Output
    stderr: Output


class Supervised:
    """A command that runs under a supervisor of its own; leaving the context ends whatever of it still runs.

    `limit`, `grace` and `linger` are seconds; `log_file` takes what the supervisor itself writes on standard error. With `adopts`
    the command inherits what its own children leave behind, instead of the supervisor. Descendants whose id is in the first line
    of a file beside `workers`, whose name goes on where that one's ends, write their stacks at the limit too.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        limit: float,
        log_file: Path,
        grace: float = GRACE,
        linger: float = LINGER,
        memory: int | None = None,
        adopts: bool = False,
        workers: Path | None = None,
    ) -> None:
        self.patience = limit + grace + linger + PATIENCE
        self.log_file = log_file
        self._oom_before = oom_kills()
        spec = marshal.dumps(
            {
                "argv": [os.fsencode(word) for word in argv],
                "env": {os.fsencode(name): os.fsencode(value) for name, value in environment.items()},
                "cwd": os.fsencode(cwd),
                "limit": float(limit),
                "grace": float(grace),
                "linger": float(linger),
                "head": HEAD_BYTES,
                "tail": TAIL_BYTES,
                "core": False,
                "memory": memory,
                "adopts": adopts,
                "workers": os.fsencode(workers) if workers is not None else b"",
                "parent": os.getpid(),
            }
        )
        with log_file.open("wb") as errors:
            self.supervisor = subprocess.Popen(
                [sys.executable, "-I", "-S", supervisor_script()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd="/",
                bufsize=0,
                start_new_session=True,
            )
        leash, reports = self.supervisor.stdin, self.supervisor.stdout
        assert leash is not None
        assert reports is not None
        self.reports = reports.fileno()
        """Becomes readable when the command and all that it started have ended."""
        try:
            write_spec(leash.fileno(), spec)
        except BaseException:
            self.stop()
            raise

    def wait(self, cancelled: int | None = None) -> ProcessEnd:
        """Return how the command ended, when nothing of it is left.

        `cancelled` is a descriptor that becomes readable when it is to be ended at once: raises CancelledError then; any other
        exception while waiting (KeyboardInterrupt) ends the command before it propagates.
        """
        try:
            data = receive(self.reports, cancelled, time.monotonic() + self.patience)
        except BaseException:
            self.stop()
            raise
        if data is None:
            self.stop()
        with self.supervisor:  # closes its pipes and waits for it
            pass
        return decode(data, self.supervisor.returncode, self.log_file, self._oom_before)

    def stop(self) -> None:
        """End the command with all that it started."""
        if self.supervisor.returncode is None:
            end(self.supervisor)
        with self.supervisor:
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def run_supervised(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    limit: float,
    log_file: Path,
    cancelled: int | None = None,
    grace: float = GRACE,
    linger: float = LINGER,
    memory: int | None = None,
    workers: Path | None = None,
) -> ProcessEnd:
    """Run a command under a supervisor of its own and return how it ended (see `Supervised`).

    `memory` limits its address space, in bytes. Raises CancelledError when `cancelled` becomes readable.
    """
    with Supervised(
        argv,
        cwd=cwd,
        environment=environment,
        limit=limit,
        log_file=log_file,
        grace=grace,
        linger=linger,
        memory=memory,
        workers=workers,
    ) as running:
        return running.wait(cancelled)


@cache
def supervisor_script() -> str:
    """Return the path of the supervisor, compiled where that is possible: it runs anew for each trial."""
    try:
        return py_compile.compile(str(SUPERVISOR), doraise=True) or str(SUPERVISOR)
    except OSError:
        return str(SUPERVISOR)


def write_spec(fd: int, spec: bytes) -> None:
    """Send the spec; a supervisor that has died already is noticed by its missing report."""
    message = memoryview(len(spec).to_bytes(8, "big") + spec)
    try:
        while message:
            message = message[os.write(fd, message) :]
    except BrokenPipeError:
        log.debug("the supervisor ended before it had read its spec")


def receive(fd: int, cancelled: int | None, deadline: float) -> bytes | None:
    """Read the supervisor's report to its end; None at the deadline. Raises CancelledError."""
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    if cancelled is not None:
        poll.register(cancelled, select.POLLIN)
    pieces: list[bytes] = []
    while True:
        ready = poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
        if not ready:
            return None
        if cancelled in {entry[0] for entry in ready}:
            raise CancelledError("the trial was stopped")
        piece = os.read(fd, 1 << 20)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)


def end(supervisor: subprocess.Popen[bytes]) -> None:
    """Make the supervisor end everything and itself; as the last resort end it (its target then dies with it)."""
    assert supervisor.stdin is not None
    assert supervisor.stdout is not None
    supervisor.stdout.close()
    try:
        supervisor.stdin.write(b"s")
        supervisor.stdin.close()
    except OSError:
        log.debug("the supervisor ended before it could be told to")
    try:
        supervisor.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        supervisor.kill()
        supervisor.wait()


def decode(data: bytes | None, status: int, log_file: Path, oom_before: int | None) -> ProcessEnd:
    """Return the supervisor's report as a value; whatever is wrong with it becomes `error`."""
    if data is None:
        return ProcessEnd(error="the supervisor did not report in time")
    try:
        report = msgspec.convert(marshal.loads(data), _Report)  # noqa: S302 - written by our own child
    except (EOFError, ValueError, TypeError, msgspec.ValidationError):
        lines = log_file.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        why = f": {lines[-1]}" if lines else ""
        return ProcessEnd(error=f"the supervisor ended with status {status} and no report{why}")
    killed = report.signal == signal.SIGKILL and not report.limit_hit
    known = {name: getattr(report, name) for name in report.__struct_fields__ if name not in {"stdout", "stderr"}}
    return ProcessEnd(
        **known,
        oom=killed_since(oom_before) if killed else False,
        stdout=report.stdout.text(),
        stderr=report.stderr.text(),
    )
