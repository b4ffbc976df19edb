"""The supervisor against targets that do everything a test may do to its process tree."""

from __future__ import annotations

import array
import json
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from triage.runner import process
from triage.runner.process import HEAD_BYTES, TAIL_BYTES, CancelledError, ProcessEnd

Supervise = Callable[..., ProcessEnd]
PATIENCE = 60.0
LIMIT = 2.0
"""Seconds; each hang costs as many."""

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs a child subreaper")

GRANDCHILD = """
import os, signal, time
def daemon():
    # Detached as daemons are: two forks, a session of its own; it holds the pipes and ignores polite signals.
    if os.fork():
        return
    os.setsid()
    if os.fork():
        os._exit(0)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    held = os.open(w, os.O_WRONLY)
    os.write(held, b"ready\\n")
    while True:
        time.sleep(1000)
"""


def test_the_target_starts_as_a_shell_would_start_it(supervise: Supervise, folder: Path):
    code = """
import json, os, signal, sys
print(json.dumps({
    "fds": sorted(int(fd) for fd in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + fd)),
    "stdin": os.read(0, 1).decode(), "sid": os.getsid(0) == os.getpid(),
    "apart": os.getsid(os.getppid()) == os.getppid(), "cwd": os.getcwd(), "env": dict(os.environ),
    "mask": len(signal.pthread_sigmask(signal.SIG_BLOCK, [])), "argv": [os.fsencode(a).decode("latin-1") for a in sys.argv],
    "status": [line for line in open("/proc/self/status") if line.startswith("SigIgn")],
}))
"""
    script = folder / "look.py"
    script.write_text(code)
    leaked = os.dup(0)
    os.set_inheritable(leaked, True)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    ignored = signal.signal(signal.SIGUSR2, signal.SIG_IGN)
    try:
        argv = [sys.executable, "-I", "-S", str(script), "caf\udce9 \u20ac"]
        end = supervise("", argv=argv, env={"A": "\udcff", "PATH": ""})
    finally:
        signal.signal(signal.SIGUSR2, ignored)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGUSR1])
        os.close(leaked)
    assert end.exit_status == 0, end.stderr
    seen = json.loads(end.stdout)
    assert seen["fds"] == [0, 1, 2]
    assert (seen["stdin"], seen["sid"], seen["mask"]) == ("", True, 0)
    assert seen["apart"]  # no Ctrl-C in the terminal of `triage` reaches the supervisor
    assert Path(seen["cwd"]) == folder.resolve()
    assert seen["env"] == {"A": "\udcff", "PATH": ""} | {
        name: value for name, value in seen["env"].items() if name == "LC_CTYPE"
    }
    assert seen["argv"][1].encode("latin-1") == os.fsencode("caf\udce9 \u20ac")
    # The interpreter itself ignores these two (SIGPIPE, SIGXFSZ); nothing else was inherited. Signals above 31 are left
    # out: the C library keeps two of them for itself, which no program can set back.
    assert int(seen["status"][0].split()[1], 16) & 0x7FFFFFFF == 1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)


@pytest.mark.parametrize("status", [0, 1, 77, 255])
def test_exit_status(supervise: Supervise, status: int):
    end = supervise(f"import os; os._exit({status})")
    assert (end.error, end.exit_status, end.signal, end.limit_hit) == (None, status, None, False)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGKILL, signal.SIGTERM, signal.SIGPIPE])
def test_signal(supervise: Supervise, number: int, folder: Path):
    code = f"import os, signal; signal.signal({signal.SIGPIPE}, signal.SIG_DFL); os.kill(os.getpid(), {number:d})"
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    try:
        end = supervise(code)
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))
    assert (end.exit_status, end.signal, end.stopped) == (None, number, None)
    assert not list(folder.glob("core*"))


def test_time_and_memory_are_the_targets(supervise: Supervise):
    end = supervise("import time\nblock = b'x' * 50_000_000\nwhile time.process_time() < 0.2: pass")
    assert 0.2 <= end.cpu <= 60
    assert end.wall >= 0.2
    assert end.max_rss_kib > 48_000


def test_output_is_kept_at_both_ends(supervise: Supervise):
    count = 200 * 1024 * 1024
    code = f"""
import os, sys
os.write(1, b"BEGIN")
for _ in range({count} // 65536):
    os.write(1, b"x" * 65536)
os.write(1, b"END")
for line in open(f"/proc/{{os.getppid()}}/status"):
    if line.startswith("VmHWM"):
        os.write(2, line.split()[1].encode())
"""
    end = supervise(code)
    assert end.stdout.startswith("BEGINxxx")
    assert end.stdout.endswith("xxxEND")
    dropped = count + len("BEGINEND") - HEAD_BYTES - TAIL_BYTES
    assert f"\n[... {dropped} bytes dropped ...]\n" in end.stdout
    assert len(end.stdout) < HEAD_BYTES + TAIL_BYTES + 100
    assert int(end.stderr) < 64 * 1024  # the supervisor's own memory, KiB


def test_short_output_is_kept_whole_with_undecodable_bytes(supervise: Supervise):
    end = supervise("import os; os.write(1, b'a\\xff\\n'); os.write(2, '\u20ac'.encode())")
    assert (end.stdout, end.stderr) == ("a\ufffd\n", "\u20ac")


def test_a_target_that_closes_its_output(supervise: Supervise):
    end = supervise("import os\nos.close(0); os.close(1); os.close(2)\nos.listdir('/')\nos._exit(5)")
    assert (end.exit_status, end.limit_hit) == (5, False)


def test_the_limit_makes_faulthandler_write_the_stacks(supervise: Supervise):
    code = "import faulthandler, threading\nfaulthandler.enable()\ndef stuck(): threading.Event().wait()\nstuck()"
    end = supervise(code, limit=LIMIT, grace=30)
    assert (end.limit_hit, end.signal, end.stopped) == (True, signal.SIGABRT, None)
    assert "in stuck" in end.stderr


def test_a_hang_writes_no_core_file_into_the_project(supervise: Supervise, folder: Path):
    code = """
import resource, time
hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
for limit in (hard, resource.RLIM_INFINITY):
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))
    except ValueError:
        pass
time.sleep(1000)
"""
    end = supervise(code, limit=LIMIT)
    assert (end.signal, end.core) == (signal.SIGABRT, False)
    assert not list(folder.glob("core*"))


@pytest.mark.parametrize(
    "code",
    [
        "import signal, time\nfor n in (6, 15, 2): signal.signal(n, signal.SIG_IGN)\ntime.sleep(1000)",
        "import signal, time\nsignal.signal(6, lambda *_: None)\nwhile True: time.sleep(1000)",
        "import os, signal, time\nsignal.pthread_sigmask(0, [6, 15])\ntime.sleep(1000)",
    ],
    ids=["ignores", "handles", "blocks"],
)
def test_a_target_that_does_not_die_of_sigabrt(supervise: Supervise, code: str):
    end = supervise(code, limit=LIMIT, grace=0.2)
    assert (end.limit_hit, end.signal) == (True, signal.SIGKILL)


def test_a_stopped_target_is_ended_too(supervise: Supervise):
    end = supervise("import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)", limit=LIMIT)
    assert (end.limit_hit, end.signal) == (True, signal.SIGABRT)


@linux_only
@pytest.mark.parametrize("last", ["os._exit(0)", "os.abort()", "time.sleep(1000)"], ids=["exit", "crash", "hang"])
def test_daemons_that_hold_the_pipes_are_ended_and_named(supervise: Supervise, witness, last: str):
    code = f"""
import ctypes, os, signal, time
ready = os.pipe()
for number in range(3):
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(15, b"daemon-%d" % number, 0, 0, 0)
        os.setsid()
        if os.fork():
            os._exit(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        held = os.open(w, os.O_WRONLY)
        os.write(ready[1], b"x")
        while True:
            time.sleep(1000)
for number in range(3):
    os.read(ready[0], 1)
{last}
"""
    end = supervise(code, limit=LIMIT if "sleep" in last else PATIENCE)
    assert sorted(end.leftovers) == ["daemon-0", "daemon-1", "daemon-2"]
    assert (end.stuck, end.subreaper) == ((), True)
    witness.wait_for_end()


@linux_only
def test_a_child_that_ends_with_the_main_process_is_no_leftover(supervise: Supervise, witness):
    code = """
import os, time
down, up = os.pipe(), os.pipe()
if os.fork() == 0:
    os.open(w, os.O_WRONLY)
    os.close(down[1])
    os.write(up[1], b"x")
    os.read(down[0], 1)  # ends when the parent does
    while time.process_time() < 0.3:
        pass
    os._exit(0)
os.read(up[0], 1)
"""
    assert supervise(code, linger=60).leftovers == ()
    witness.wait_for_end()


@linux_only
def test_a_process_that_never_stays_is_caught(supervise: Supervise, witness):
    code = """
import os
ready = os.pipe()
if os.fork() == 0:
    os.open(w, os.O_WRONLY)
    os.setsid()
    os.write(ready[1], b"x")
    while True:
        if os.fork():
            os._exit(0)
os.read(ready[0], 1)
"""
    end = supervise(code)
    assert (end.exit_status, end.stuck) == (0, ())
    witness.wait_for_end()


def test_an_output_pipe_held_by_somebody_else_is_not_waited_for(supervise: Supervise, folder: Path):
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(folder / "s"))
    server.listen()
    code = """
import array, socket
s = socket.socket(socket.AF_UNIX)
s.connect("s")
s.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [2]))])
s.recv(1)
print("done")
"""

    def take_and_keep_writing() -> None:
        connection, _ = server.accept()
        _, ancillary, _, _ = connection.recvmsg(1, socket.CMSG_LEN(4))
        held = array.array("i", ancillary[0][2])[0]
        connection.close()
        try:
            while True:
                os.write(held, b"x" * 65536)
        except BrokenPipeError:
            os.close(held)

    thread = threading.Thread(target=take_and_keep_writing)
    thread.start()
    try:
        end = supervise(code)
    finally:
        thread.join()
        server.close()
    assert (end.exit_status, end.stdout) == (0, "done\n")


def test_a_command_that_does_not_exist(supervise: Supervise, folder: Path):
    end = supervise("", argv=[str(folder / "missing")])
    assert end.error is not None
    assert "No such file" in end.error


def test_a_folder_that_does_not_exist(supervise: Supervise, folder: Path):
    end = supervise("", cwd=folder / "missing")
    assert end.error is not None
    assert "missing" in end.error


@linux_only
def test_a_supervisor_that_is_killed_takes_its_target_with_it(supervise: Supervise, witness):
    code = "import os, time\nos.open(w, os.O_WRONLY)\nos.kill(os.getppid(), 9)\nwhile True: time.sleep(1000)"
    end = supervise(code)
    assert end.error == "the supervisor ended with status -9 and no report"
    witness.wait_for_end()


@linux_only
def test_a_supervisor_that_is_stopped_is_given_up(supervise: Supervise, witness, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(process, "PATIENCE", 1.0)
    code = "import os, time\nos.open(w, os.O_WRONLY)\nos.kill(os.getppid(), 19)\nwhile True: time.sleep(1000)"
    assert supervise(code, limit=LIMIT).error == "the supervisor did not report in time"
    witness.wait_for_end()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_supervisor_that_is_told_to_end_says_so(supervise: Supervise, number: int):
    end = supervise(f"import os, time\nos.kill(os.getppid(), {number:d})\nwhile True: time.sleep(1000)")
    assert (end.stopped, end.signal, end.limit_hit) == ("signal", signal.SIGKILL, False)


def test_a_cancelled_trial_ends_with_all_its_processes(supervise: Supervise, witness):
    told, tell = os.pipe()

    def cancel() -> None:
        witness.lines()
        os.write(tell, b"x")

    thread = threading.Thread(target=cancel)
    thread.start()
    try:
        with pytest.raises(CancelledError):
            supervise(f"{GRANDCHILD}\ndaemon()\nwhile True: time.sleep(1000)", cancelled=told)
    finally:
        thread.join()
        os.close(told)
        os.close(tell)
    witness.wait_for_end()


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_trial_ends_with_all_its_processes(supervise: Supervise, witness):
    def interrupt() -> None:
        witness.lines()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            supervise(f"{GRANDCHILD}\ndaemon()\nwhile True: time.sleep(1000)")
    finally:
        thread.join()
    witness.wait_for_end()
