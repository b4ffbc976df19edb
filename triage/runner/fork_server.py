"""One server of forked trials: started, asked, listened to, and ended.

A server is one such process: its interpreter, options, environment, hash seed and what was drawn at import are those of all
its children. `triage` talks to it through named pipes; the probe's `server` module is the other end (docs/wire.md).
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import Struct

from triage.errors import TriageError
from triage.model.arm import BASELINE
from triage.model.invocation import Invocation
from triage.model.trial import Stage
from triage.runner.closing import Closing
from triage.runner.cold import ColdRunner, Finished, Request, interpret, make_trial, read, read_crash, read_lost
from triage.runner.oom import killed_since, oom_kills
from triage.runner.process import GRACE, HEAD_BYTES, LINGER, TAIL_BYTES, CancelledError, Output, ProcessEnd, Supervised
from triage.runner.scratch import Scratch, end_strays, scratch_folder, start_time
from triage.runner.snapshot import Snapshot
from triage.runner.supervisor import Stream, descendants, forbid_core, send, widen

LIFETIME = 7 * 86400.0
"""Seconds after which a server ends by itself."""
STUCK = 10.0
"""Seconds for processes that were killed to be gone; then the server is given up."""
START_LIMIT = 600.0
"""Seconds; a collection that takes longer is taken for a hang."""
HYPOTHESIS_SEED = "--hypothesis-seed="
MOST_WIRE = 1 << 22
"""Bytes after which the file that all trials of a server are recorded in is emptied."""
QUIET = 0.02
"""Seconds for which the output of a trial is left in its pipes."""
PIPES = ("requests", "answers", "out", "err")


class UnforkableError(TriageError):
    """Trials of this kind cannot be forked here; they run cold. Says nothing about the target."""


class RefusedError(UnforkableError):
    """A server cannot run just these tests; it goes on serving."""


class ServerDiedError(Exception):
    """The server ended while a trial was running."""


class Answer(Struct, frozen=True):
    """What a server says; which fields are there depends on what was asked."""

    ready: tuple[str, ...] | None = None
    """What speaks against forking."""
    seeded: dict[str, str] = {}
    """Generators that the target seeded at import, each with a digest of its state."""
    items: int = 0
    refused: str | None = None
    status: int | None = None
    cpu: float = 0.0
    rss: int = 0
    others: bool = False


def supported() -> str | None:
    """Say why no trial can be forked on this system, or None."""
    return None if sys.platform == "linux" else f"forked trials need Linux, this is {sys.platform}; all trials run cold"


class ForkServer(Closing):
    """One process that has collected, and its forked trials, one at a time. A context manager."""

    def __init__(self, runner: ColdRunner, invocation: Invocation, limit: float = START_LIMIT) -> None:
        """Start pytest as `invocation` says and let it collect, for at most `limit` seconds.

        Raises `UnforkableError` if it cannot serve, CancelledError if it was cancelled meanwhile.
        """
        if reason := supported():
            raise UnforkableError(reason)
        self.runner = runner
        self.invocation = invocation
        self._close = contextlib.ExitStack()
        self._buffer = b""
        self.worn = False
        """Whether it is of no further use: what a trial left cannot be removed."""
        began = time.monotonic()
        try:
            self._start(limit)
        except OSError as error:
            self._close.close()
            raise UnforkableError(f"no server could be started: {error.strerror or error}") from error
        except BaseException:
            self._close.close()
            raise
        self.start_seconds = time.monotonic() - began
        """Seconds that it took until the first trial could be forked."""

    def _start(self, limit: float) -> None:
        scratch = self.scratch = self._close.enter_context(scratch_folder())
        paths = {name: str(scratch.folder / name) for name in PIPES}
        fds = {}
        for name, path in paths.items():
            os.mkfifo(path, 0o600)
            # Opened for both directions, so that neither end waits for the other and nothing ends before we say so.
            fds[name] = os.open(path, os.O_RDWR | os.O_NONBLOCK)
            self._close.callback(os.close, fds[name])
        os.set_blocking(fds["requests"], True)
        self._requests, self._answers = fds["requests"], fds["answers"]
        self._streams = [Stream(fds[name], HEAD_BYTES, TAIL_BYTES) for name in ("out", "err")]
        request = collecting(self.invocation, limit)
        self._close.callback(self._end_strays)
        serve = {**paths, "plugins": str(self.runner.installation.levels)}
        environment = self.runner.environment(request, scratch, serve)
        self._supervised = self._close.enter_context(
            Supervised(
                self.invocation.argv,
                cwd=Path(self.invocation.root),
                environment=environment,
                limit=LIFETIME,
                log_file=scratch.log,
                adopts=True,
            )
        )
        self._oom = oom_kills()
        self._quiet, self._poll = select.poll(), select.poll()
        for fd in (self._answers, self.runner.cancelled, self._supervised.reports):
            self._quiet.register(fd, select.POLLIN)
            self._poll.register(fd, select.POLLIN)
        for stream in self._streams:
            widen(stream.fd)
            self._poll.register(stream.fd, select.POLLIN)
        try:
            answer = self._next_answer(time.monotonic() + limit)
        except ServerDiedError:
            end = self._supervised.wait()
            _, verdict = read(request, scratch, end)
            raise UnforkableError(
                f"pytest ended before a trial could be forked: {verdict.reason or end.error}"
            ) from None
        if answer is None:
            raise UnforkableError(f"it had not collected after {limit:.0f} s")
        if answer.ready is None:
            raise UnforkableError("the server does not speak as it should")
        if answer.ready:
            raise UnforkableError("; ".join(answer.ready))
        self.seeded = answer.seeded
        self.pid = hello_pid(scratch)
        self._wire_file = self._close.enter_context(scratch.wire.open("rb"))
        self._head = self._wire_file.read()
        self._last = (self.invocation, self.invocation.command(self.runner.base))
        self._snapshots = [Snapshot(folder) for folder in (scratch.temporary, scratch.cache)]

    def _end_strays(self) -> None:
        """Where somebody killed the supervisor, do what it would have done."""
        if (self._supervised.supervisor.returncode or 0) < 0:
            end_strays(self.scratch.temporary)

    @property
    def supervisor_pid(self) -> int:
        """Process id of what ends the server, with all that it started, should this process die."""
        return self._supervised.supervisor.pid

    def close(self) -> None:
        """End the server with everything below it."""
        self._close.close()

    # -- one trial ------------------------------------------------------------------------------------------------

    def run(self, request: Request, items: tuple[str, ...], levels: tuple[str, ...] = ()) -> Finished:
        """Fork one trial that runs `items` in this order under `levels`, and return when nothing of it is left.

        Raises `RefusedError` if the server refuses it. After any other exception the server is of no further use and is to be
        closed: `ServerDiedError` if it ended meanwhile (the trial then says nothing), CancelledError after `cancel`.
        """
        self._streams = [Stream(stream.fd, HEAD_BYTES, TAIL_BYTES) for stream in self._streams]
        started, began = time.time(), time.monotonic()
        self._ask(
            {
                "items": items,
                "levels": levels,
                "memory": request.memory,
                "hypothesis_seed": hypothesis_seed(request.invocation),
            }
        )
        end = self._supervise(request.limit, began)
        died = end.signal is not None or end.limit_hit
        recorded = self._head + self._wire_file.read()
        crash = read_crash(self.scratch.crash) if died else ""
        wire, verdict = interpret(request, end, recorded, crash, lost=read_lost(self.scratch.lost))
        try:
            self._tidy()
        except OSError:
            self.worn = True
        if request.invocation is not self._last[0]:
            self._last = (request.invocation, request.invocation.command(self.runner.base))
        command = self._last[1]
        trial = make_trial(request, end, wire, verdict, started=started, command=command)
        return Finished(trial=trial, wire=wire, end=end, leftovers=end.leftovers)

    def _supervise(self, limit: float, began: float) -> ProcessEnd:
        """Wait for the end of a child, end it if it takes too long, and then all that it left."""
        limit_hit = False
        answer = self._next_answer(began + limit)
        if answer is None:
            limit_hit = True
            self._signal(signal.SIGABRT, signal.SIGCONT)
            answer = self._next_answer(time.monotonic() + GRACE)
        if answer is None:
            self._signal(signal.SIGKILL)
            answer = self._expect(time.monotonic() + STUCK)
        if answer.refused is not None:
            raise RefusedError(answer.refused)
        wall = time.monotonic() - began
        left = self._clear(LINGER if not limit_hit else 0.0) if answer.others else ()
        for stream in self._streams:
            while stream.read():
                pass
        status = answer.status or 0
        killed = os.WIFSIGNALED(status)
        number = os.WTERMSIG(status) if killed else None
        oom: bool | None = False
        if number == signal.SIGKILL and not limit_hit:
            oom, self._oom = killed_since(self._oom), oom_kills()
        return ProcessEnd(
            exit_status=None if killed else os.WEXITSTATUS(status),
            signal=number,
            core=killed and os.WCOREDUMP(status),
            wall=wall,
            cpu=answer.cpu,
            max_rss_kib=answer.rss,
            limit_hit=limit_hit,
            leftovers=left,
            oom=oom,
            subreaper=True,
            stdout=msgspec.convert(self._streams[0].result(), Output).text(),
            stderr=msgspec.convert(self._streams[1].result(), Output).text(),
        )

    def _clear(self, linger: float) -> tuple[str, ...]:
        """End what a child left behind, after giving it `linger` seconds to end by itself; returns the names of what was killed."""
        deadline = time.monotonic() + linger
        left: dict[int, str] = {}
        give_up = deadline + STUCK
        while True:
            self._ask({"reap": True})
            if not self._expect(give_up).others:
                return tuple(left[pid] for pid in sorted(left))
            found = descendants(self.pid)
            if time.monotonic() < deadline:
                await_ends(found, deadline)
                continue
            left.update(found)
            for pid in found:
                send(pid, signal.SIGKILL)
            await_ends(found, time.monotonic() + 0.1)

    def _signal(self, *numbers: int) -> None:
        """Send signals to the running trial: the first of the server's children, the others have only lost their parent."""
        for pid in children(self.pid)[:1]:
            forbid_core(pid)
            for number in numbers:
                send(pid, number)

    # -- talking --------------------------------------------------------------------------------------------------

    def _ask(self, content: object) -> None:
        message = memoryview(msgspec.json.encode(content) + b"\n")
        while message:
            message = message[os.write(self._requests, message) :]

    def _expect(self, deadline: float) -> Answer:
        """Return the next answer; a server that gives none until the deadline counts as dead."""
        answer = self._next_answer(deadline)
        if answer is None:
            raise ServerDiedError
        return answer

    def _next_answer(self, deadline: float) -> Answer | None:
        """Return what the server says next, reading its children's output meanwhile; None at the deadline."""
        # Output wakes nobody up at first: most trials end before they have filled a pipe.
        ready = [fd for fd, _ in self._quiet.poll(max(0.0, min(QUIET, deadline - time.monotonic())) * 1000)]
        while b"\n" not in self._buffer:
            if not ready:
                ready = [fd for fd, _ in self._poll.poll(max(0.0, deadline - time.monotonic()) * 1000)]
            if not ready:
                return None
            if self.runner.cancelled in ready:
                raise CancelledError("the trial was stopped")
            for stream in self._streams:
                if stream.fd in ready:
                    stream.read()
            if self._answers in ready:
                self._buffer += os.read(self._answers, 1 << 16)
            elif self._supervised.reports in ready:
                raise ServerDiedError
            ready = []
        line, _, self._buffer = self._buffer.partition(b"\n")
        return msgspec.json.decode(line, type=Answer)

    def _tidy(self) -> None:
        """Make the server's folders what they were after collection: the next trial is to find nothing of this one."""
        self._wire_file.seek(0, os.SEEK_END)
        if self._wire_file.tell() > MOST_WIRE:
            os.truncate(self.scratch.wire, 0)
            self._wire_file.seek(0)
        with contextlib.suppress(FileNotFoundError):
            self.scratch.lost.unlink()
        with contextlib.suppress(OSError):
            if self.scratch.crash.stat().st_size:
                os.truncate(self.scratch.crash, 0)
        for snapshot in self._snapshots:
            snapshot.put_back()


def collecting(invocation: Invocation, limit: float) -> Request:
    """Return what the environment of a server is made from."""
    return Request(invocation=invocation, target=None, arm=BASELINE, stage=Stage.CONTROL, limit=limit, reach=True)


def hypothesis_seed(invocation: Invocation) -> int | str | None:
    """Return the seed that an invocation gives to hypothesis, which reads whole numbers as such."""
    found = [option[len(HYPOTHESIS_SEED) :] for option in invocation.options if option.startswith(HYPOTHESIS_SEED)]
    if not found:
        return None
    try:
        return int(found[-1])
    except ValueError:
        return found[-1]


def hello_pid(scratch: Scratch) -> int:
    """Return the process id that a probe has told; raises `UnforkableError` if it could not."""
    first = scratch.wire.read_bytes().partition(b"\n")[0]
    try:
        return int(msgspec.json.decode(first)["pid"])
    except (ValueError, KeyError):
        why = read_lost(scratch.lost) or "it is damaged"
        raise UnforkableError(f"the server's record cannot be read: {why}") from None


def children(pid: int) -> tuple[int, ...]:
    """Return the ids of the children of a process: those that it started in that order, then those that it inherited."""
    try:
        return tuple(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_bytes().split()))
    except OSError:  # a kernel without it
        return tuple(
            sorted(
                (child for child in descendants(pid) if parent_of(child) == pid),
                key=lambda child: start_time(child) or 0,
            )
        )


def parent_of(pid: int) -> int:
    """Return the id of a process' parent, 0 if it is gone."""
    try:
        return int(Path("/proc", str(pid), "stat").read_bytes().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


def await_ends(pids: Iterable[int], deadline: float) -> None:
    """Wait until one of these processes has ended, or the deadline."""
    poll = select.poll()
    fds = []
    for pid in pids:
        with contextlib.suppress(OSError):
            fds.append(os.pidfd_open(pid))
            poll.register(fds[-1], select.POLLIN)
    try:
        if fds:
            poll.poll(max(0.0, deadline - time.monotonic()) * 1000)
    finally:
        for fd in fds:
            os.close(fd)
