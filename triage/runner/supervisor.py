"""Stand-alone script: runs one trial's process tree, ends all of it, and says what came of it.

Started by `triage.runner.process` as `python -I -S supervisor.py` for each trial, so it imports only what starts fast
(no subprocess, json or asyncio) and nothing of `triage`. One `marshal` object (both ends are the same interpreter; bytes
need no escaping) comes in on stdin, preceded by its length; one goes out on stdout. After that stdin is the leash:
any byte on it means "stop and report", its end means that `triage` has died.

On Linux the script is a child subreaper: whatever the target forks, daemonises or leaves behind becomes its child
and is ended before it exits. Elsewhere only the process group of the target is ended, and `subreaper` is false.
"""

from __future__ import annotations

import ctypes
import marshal
import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal  # without the enums of `signal`, a third of the whole start

SPEC_LENGTH = 8
"""Bytes before the spec that hold its length, big-endian."""
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
F_SETPIPE_SZ = 1031
PIPE_BYTES = 1 << 20
CHUNK = 1 << 18
DRAIN_READS = 16
"""Reads at the end: more than a full pipe, and an end to them if somebody beyond our reach keeps writing."""
STUCK = 10.0
"""Seconds after which processes that SIGKILL does not end (other users', uninterruptible) are given up."""
LINUX = sys.platform == "linux"


def main() -> int:
    """Read the spec, supervise, write the result; the exit status is 0 if a result was written."""
    spec = read_spec()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, note_stop)
    result = Supervision(spec).run()
    if result["stopped"] == "orphaned":
        return 1
    data = memoryview(marshal.dumps(result))
    try:
        while data:
            data = data[os.write(1, data) :]
    except BrokenPipeError:
        return 1
    return 0


def read_spec() -> dict[str, object]:
    """Read exactly the spec and not a byte more: what follows belongs to the leash."""
    length = int.from_bytes(read_exactly(SPEC_LENGTH), "big")
    spec: dict[str, object] = marshal.loads(read_exactly(length))  # noqa: S302 - written by our own parent
    return spec


def read_exactly(count: int) -> bytes:
    """Read `count` bytes from stdin; raises EOFError if it ends before."""
    data = b""
    while len(data) < count:
        piece = os.read(0, min(count - len(data), CHUNK))
        if not piece:
            raise EOFError
        data += piece
    return data


STOPS: list[int] = []


def note_stop(number: int, _frame: object) -> None:
    """Remember that somebody asked the supervisor itself to end."""
    STOPS.append(number)


class Stream:
    """The first and the last bytes of a pipe; what lies between is counted and forgotten."""

    def __init__(self, fd: int, head: int, tail: int) -> None:
        self.fd = fd
        self.open = True
        self.head_limit = head
        self.tail_limit = tail
        self.head = bytearray()
        self.tail = bytearray()
        self.dropped = 0
        os.set_blocking(fd, False)

    def read(self) -> bool:
        """Take what is there; returns whether more may follow at once."""
        try:
            data = os.read(self.fd, CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self.open = False
            return False
        room = self.head_limit - len(self.head)
        if room > 0:
            self.head += data[:room]
            data = data[room:]
        self.tail += data
        if len(self.tail) > 2 * self.tail_limit + CHUNK:
            self.trim()
        return True

    def trim(self) -> None:
        """Forget all but the last bytes."""
        excess = len(self.tail) - self.tail_limit
        if excess > 0:
            del self.tail[:excess]
            self.dropped += excess

    def result(self) -> dict[str, object]:
        """Return what was kept."""
        self.trim()
        return {"head": bytes(self.head), "tail": bytes(self.tail), "dropped": self.dropped}


class Supervision:
    """One run of one target: from fork to the last process of its tree."""

    def __init__(self, spec: dict[str, object]) -> None:
        self.spec = spec
        self.limit: float = spec["limit"]  # type: ignore[assignment]
        self.grace: float = spec["grace"]  # type: ignore[assignment]
        self.linger: float = spec["linger"]  # type: ignore[assignment]
        self.parent: int = spec["parent"]  # type: ignore[assignment]
        self.began = time.monotonic()
        self.limit_at = self.began + self.limit
        self.kill_at = self.linger_until = self.give_up_at = float("inf")
        self.main = 0
        self.ended: tuple[int, float, int] | None = None  # wait status, CPU seconds, max RSS in KiB
        self.wall = 0.0
        self.children = True
        self.limit_hit = False
        self.stopped: str | None = None
        self.left: dict[int, str] = {}
        self.subreaper = False
        self.streams: list[Stream] = []
        self.poll = select.poll()

    def run(self) -> dict[str, object]:
        """Start the target, wait for its end, end everything else, and return the result."""
        self.subreaper = prctl(PR_SET_CHILD_SUBREAPER, 1)
        wake, wake_write = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(wake_write, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        self.wake = wake
        self.poll.register(wake, select.POLLIN)
        self.poll.register(0, select.POLLIN)
        self.watch_parent()
        error = self.start()
        if error is None:
            self.supervise()
        else:
            os.waitpid(self.main, 0)
        return self.result(error)

    def watch_parent(self) -> None:
        """Wake up when `triage` dies even if a fork of it still holds the other end of the leash."""
        self.parent_fd = -1
        if hasattr(os, "pidfd_open"):
            try:
                self.parent_fd = os.pidfd_open(self.parent)
            except OSError:
                return
            self.poll.register(self.parent_fd, select.POLLIN)

    def start(self) -> str | None:
        """Fork and execute the target; returns why that failed, or None."""
        out, out_write = os.pipe()
        err, err_write = os.pipe()
        status, status_write = os.pipe()
        null = os.open(os.devnull, os.O_RDONLY)
        own = os.getpid()
        self.main = os.fork()
        if self.main == 0:
            become_target(self.spec, (null, out_write, err_write), status_write, own)
        for fd in (null, out_write, err_write, status_write):
            os.close(fd)
        for fd in (out, err):
            widen(fd)
            self.streams.append(Stream(fd, self.spec["head"], self.spec["tail"]))  # type: ignore[arg-type]
            self.poll.register(fd, select.POLLIN)
        message = b""
        while piece := os.read(status, 4096):  # ends when execve closes the other end
            message += piece
        os.close(status)
        return message.decode("utf-8", "replace") or None

    def supervise(self) -> None:
        """Serve pipes, leash, children and clocks until no process of the tree is left."""
        while self.ended is None or self.children:
            now = time.monotonic()
            if now >= self.give_up_at:
                self.kill_rest()
                break
            deadline = self.tend_main(now) if self.ended is None else self.tend_rest(now)
            self.wait(deadline - now)
            self.reap()
        for stream in self.streams:
            for _ in range(DRAIN_READS):
                if not stream.open or not stream.read():
                    break

    def tend_main(self, now: float) -> float:
        """End the main process if its time is up; returns when to look again."""
        if now >= self.limit_at and not self.limit_hit and not self.stopped:
            self.limit_hit = True
            self.abort()
            self.kill_at = now + self.grace
        if self.stopped:
            self.kill_at = min(self.kill_at, now)
        if now >= self.kill_at:
            send(self.main, signal.SIGKILL)
            self.give_up_at = min(self.give_up_at, now + STUCK)
            return self.give_up_at
        return self.kill_at if self.limit_hit else self.limit_at

    def tend_rest(self, now: float) -> float:
        """End what has outlived the main process; returns when to look again."""
        self.linger_until = min(self.linger_until, now if self.limit_hit or self.stopped else now + self.linger)
        if now < self.linger_until:
            return self.linger_until
        self.give_up_at = min(self.give_up_at, now + STUCK)
        self.kill_rest()
        return now + 0.01

    def wait(self, seconds: float) -> None:
        """Wait for at most this long for anything to happen, and take in what did."""
        for fd, _event in self.poll.poll(min(max(0.0, seconds), 3600.0) * 1000 + 1):
            if fd == self.wake:
                os.read(self.wake, 4096)
            elif fd == 0:
                self.stopped = "request" if os.read(0, 1) else "orphaned"
                self.poll.unregister(0)
            elif fd == self.parent_fd:
                self.stopped = "orphaned"
                self.poll.unregister(fd)
            else:
                stream = next(stream for stream in self.streams if stream.fd == fd)
                stream.read()
                if not stream.open:
                    self.poll.unregister(fd)
        if STOPS and self.stopped is None:
            self.stopped = "signal"

    def reap(self) -> None:
        """Collect every child that has ended; notes the main process' end and whether any child is left."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                self.children = False
                if not self.subreaper and self.ended is not None:
                    kill_group(self.main)
                return
            if pid == 0:
                return
            if pid == self.main:
                self.wall = time.monotonic() - self.began
                divisor = 1024 if sys.platform == "darwin" else 1
                self.ended = (status, usage.ru_utime + usage.ru_stime, int(usage.ru_maxrss) // divisor)

    def abort(self) -> None:
        """Make `faulthandler` write every thread's stack, without a core file in the project.

        Workers of xdist, which have left files of their own, come first: without their controller they would not stay.
        """
        workers = announced(self.spec["workers"])  # type: ignore[arg-type]
        for pid in workers & set(descendants(os.getpid())) if workers else ():
            forbid_core(pid)
            send(pid, signal.SIGABRT)
        forbid_core(self.main)
        send(self.main, signal.SIGABRT)
        send(self.main, signal.SIGCONT)

    def kill_rest(self) -> None:
        """SIGKILL every process below this one; called until none is left, for they may be forking meanwhile."""
        for _ in range(100):
            found = descendants(os.getpid())
            new = [pid for pid in found if pid not in self.left]
            self.left.update(found)
            for pid in found:
                send(pid, signal.SIGKILL)
            if not new:
                return

    def result(self, error: str | None) -> dict[str, object]:
        """Return everything that is known as plain values."""
        status, cpu, rss = self.ended or (0, 0.0, 0)
        killed = self.ended is not None and os.WIFSIGNALED(status)
        stuck = sorted(descendants(os.getpid()).values()) if self.children and error is None else []
        return {
            "pid": self.main,
            "error": error,
            "exit_status": os.WEXITSTATUS(status) if self.ended is not None and not killed else None,
            "signal": os.WTERMSIG(status) if killed else None,
            "core": killed and os.WCOREDUMP(status),
            "wall": self.wall,
            "cpu": cpu,
            "max_rss_kib": rss,
            "limit_hit": self.limit_hit,
            "stopped": self.stopped,
            "leftovers": [self.left[pid] for pid in sorted(self.left)],
            "stuck": stuck,
            "subreaper": self.subreaper,
            "stdout": self.streams[0].result(),
            "stderr": self.streams[1].result(),
        }


def announced(prefix: bytes) -> set[int]:
    """Return the process ids in the first lines of the files whose paths begin with `prefix`."""
    folder, name = os.path.split(prefix)
    found: set[int] = set()
    if not folder:
        return found
    for entry in os.listdir(folder):  # noqa: PTH208
        if entry.startswith(name) and entry != name:
            with open(os.path.join(folder, entry), "rb") as file:  # noqa: PTH118, PTH123
                digits = file.readline(4096).partition(b'"pid":')[2].partition(b",")[0]
            if digits.isdigit():
                found.add(int(digits))
    return found


def become_target(spec: dict[str, object], fds: tuple[int, int, int], status: int, supervisor: int) -> None:
    """In the forked child: set everything as a shell would have it, and execute the target. Never returns.

    Descriptors from 3 on close themselves: Python's are not inheritable, and `triage` handed down no others.
    """
    try:
        os.setsid()
        if prctl(PR_SET_PDEATHSIG, signal.SIGKILL) and os.getppid() != supervisor:
            os._exit(127)
        for target, fd in enumerate(fds):
            os.dup2(fd, target)
        signal.set_wakeup_fd(-1)
        for number in signal.valid_signals():
            try:
                signal.signal(number, signal.SIG_DFL)
            except (OSError, ValueError):  # SIGKILL, SIGSTOP and the C library's own
                continue
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        if not spec["core"]:
            import resource  # noqa: PLC0415 - after the fork, beside the supervisor's own start

            resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        if spec["memory"]:
            import resource  # noqa: PLC0415

            resource.setrlimit(resource.RLIMIT_AS, (spec["memory"], spec["memory"]))  # type: ignore[arg-type]
        if spec["adopts"]:
            prctl(PR_SET_CHILD_SUBREAPER, 1)  # stays over `execve`
        os.chdir(spec["cwd"])  # type: ignore[arg-type]
        argv: list[bytes] = spec["argv"]  # type: ignore[assignment]
        os.execvpe(argv[0], argv, spec["env"])  # type: ignore[arg-type]  # noqa: S606 - the target's own argv
    except BaseException as error:  # noqa: BLE001 - whatever it is, the parent must hear of it
        os.write(status, f"{type(error).__name__}: {error}".encode("utf-8", "backslashreplace"))
    finally:
        os._exit(127)


def prctl(option: int, value: int) -> bool:
    """Set a property of this process; returns whether the system knows it and agreed."""
    return LINUX and ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0


def widen(fd: int) -> None:
    """Make a pipe larger so that a talkative target seldom waits for its reader."""
    if LINUX:
        import fcntl  # noqa: PLC0415

        try:
            fcntl.fcntl(fd, F_SETPIPE_SZ, PIPE_BYTES)
        except OSError:
            return


def forbid_core(pid: int) -> None:
    """Forbid a running process to write a core file."""
    if LINUX:
        import resource  # noqa: PLC0415 - only a trial that hangs pays for it

        try:
            resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
        except OSError:
            return


def send(pid: int, number: int) -> None:
    """Send a signal to a process that may be gone or belong to somebody else."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def kill_group(leader: int) -> None:
    """SIGKILL what is left of the target's own process group."""
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def descendants(root: int) -> dict[int, str]:
    """Return the live processes below `root` by id, each with its name; zombies' children are their reaper's."""
    if not LINUX:
        return {}
    parents: dict[int, int] = {}
    names: dict[int, str] = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", "rb") as file:  # noqa: PTH123
                    stat = file.read()
            except OSError:
                continue
            pid = int(entry)
            opening, closing = stat.index(b"("), stat.rindex(b")")
            state, parent = stat[closing + 2 :].split(None, 2)[:2]
            parents[pid] = int(parent)
            if state not in {b"Z", b"X"}:
                names[pid] = stat[opening + 1 : closing].decode("utf-8", "replace")
    found: dict[int, str] = {}
    below = {root}
    while below:
        below = {pid for pid, parent in parents.items() if parent in below}
        found.update({pid: names[pid] for pid in below if pid in names})
    return found


if __name__ == "__main__":
    os._exit(main())  # nothing to tear down: a few milliseconds of each trial
