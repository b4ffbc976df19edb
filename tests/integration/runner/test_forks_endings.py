"""However a forked trial ends: what it is taken for, and that the next one knows nothing of it."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from triage.model.outcome import Outcome
from triage.runner import fork_server as engine
from triage.runner.cold import Finished
from triage.runner.forks import UnforkableError
from triage.runner.process import CancelledError
from triage.runner.supervisor import descendants

ENDINGS = """
import faulthandler, os, signal, sys, threading, time
import pytest

def test_passes(): pass
def test_fails(): assert [1] == [2]
def test_leaves(): os._exit(3)
def test_leaves_in_peace(): os._exit(0)
def test_exits(): sys.exit(4)
def test_interrupts(): raise KeyboardInterrupt
def test_ends_session(): pytest.exit("enough", returncode=7)
def test_has_a_session_of_its_own(): os.setsid()
def test_closes_everything():
    os.closerange(3, 4096)
def test_closes_everything_and_fails():
    os.closerange(3, 4096)
    assert 0
def test_kills_its_group(): os.killpg(0, signal.SIGKILL)
def test_is_killed(): os.kill(os.getpid(), signal.SIGKILL)
def test_is_terminated(): os.kill(os.getpid(), signal.SIGTERM)
def test_aborts(): os.abort()
def test_overflows():
    sys.setrecursionlimit(10**9)
    def deeper(n): return [deeper(n + 1)]
    faulthandler._stack_overflow()
def test_skips(): pytest.skip("not here")
@pytest.mark.xfail
def test_xfails(): assert 0
@pytest.mark.xfail(strict=True)
def test_strict(): pass
@pytest.fixture
def broken(): raise ValueError
def test_setup(broken): pass
@pytest.fixture
def leaky():
    yield
    raise ValueError
def test_teardown(leaky): pass
"""


def run(forks: Any, name: str, **more: Any) -> Finished:
    finished: Finished = forks.run(f"test_e.py::test_{name}", around=("test_e.py",), **more)
    return finished


@pytest.mark.parametrize("option", ["--capture=fd", "-s"])
def test_endings_are_judged_as_those_of_cold_trials(forks: Any, option: str):
    """All in one server, each followed by a trial that passes."""
    forks.options = (option,)
    forks.write("test_e.py", ENDINGS)
    names = [line.split()[1].partition("(")[0][5:] for line in ENDINGS.splitlines() if line.startswith("def test_")]
    for name in names:
        forked = run(forks, name).trial
        assert run(forks, "passes").trial.outcome is Outcome.PASSED, name
        cold = forks.cold(f"test_e.py::test_{name}").trial
        if (
            cold.failure is not None and cold.failure.phase == "exit"
        ):  # of the interpreter, which is no part of a forked trial
            assert forked.outcome is Outcome.PASSED
            continue
        assert (forked.outcome, forked.signal, forked.sequence) == (cold.outcome, cold.signal, cold.sequence), name
        assert (forked.failure is None) == (cold.failure is None), name
        if cold.failure is not None:
            same = ("phase", "exception", "message", "source")
            for field in same:
                assert getattr(forked.failure, field) == getattr(cold.failure, field), (name, field)
            assert forked.failure.frames[-1:] == cold.failure.frames[-1:], name
    assert len(forks.pool._servers) == 1


HANGS = """
import os, subprocess, threading, time
def test_hangs():
    subprocess.Popen(["/bin/sleep", "1000"])
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0: forgotten()
        os._exit(0)
    stuck()
def stuck(): threading.Event().wait()
def forgotten():
    open(WITNESS, "w")
    held = os.open(WITNESS, os.O_WRONLY)
    os.write(held, b"ready\\n")
    time.sleep(1000)
def test_passes(): pass
"""


def test_a_hang_has_its_own_stack_and_leaves_nothing(forks: Any, witness: Any):
    forks.write("test_e.py", HANGS.replace("WITNESS", repr(str(witness.path))))
    run(forks, "passes")
    for _ in range(2):
        trial = run(forks, "hangs", limit=2.0).trial
        assert trial.outcome is Outcome.HUNG
        functions = [frame.function for frame in trial.failure.frames]
        assert functions[functions.index("test_hangs") :][:3] == ["test_hangs", "stuck", "wait"]
        assert "forgotten" not in trial.failure.text + trial.stderr
        assert trial.leftovers >= 2
        assert witness.lines() == ["ready"]
        witness.wait_for_end()
        assert run(forks, "passes").trial.outcome is Outcome.PASSED
    assert len(forks.pool._servers) == 1


def test_a_hang_that_no_signal_but_one_ends(forks: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engine, "GRACE", 0.1)
    forks.write(
        "test_e.py",
        "import os, signal, time\ndef test_stops():\n    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGABRT})\n"
        "    while True: os.kill(os.getpid(), signal.SIGSTOP)\ndef test_passes(): pass\n",
    )
    run(forks, "passes")
    assert run(forks, "stops", limit=0.5).trial.outcome is Outcome.HUNG
    assert run(forks, "passes").trial.outcome is Outcome.PASSED


def test_a_kill_from_outside(forks: Any, witness: Any):
    forks.write(
        "test_e.py",
        f"import os, time\ndef test_waits():\n    held = os.open({str(witness.path)!r}, os.O_WRONLY)\n"
        "    os.write(held, b'%d\\n' % os.getpid())\n    time.sleep(1000)\ndef test_passes(): pass\n",
    )
    run(forks, "passes")
    server = forks.server.pid

    def kill() -> None:
        os.kill(int(witness.lines()[0]), signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    finished = run(forks, "waits")
    thread.join()
    assert (finished.trial.outcome, finished.trial.signal) == (Outcome.KILLED, "SIGKILL")
    assert run(forks, "passes").trial.outcome is Outcome.PASSED
    assert forks.server.pid == server


@pytest.mark.parametrize(("counts", "words"), [((4, 5), "out of memory"), ((4, 4), "by whom is not known")])
def test_the_kernel_s_word_on_memory(forks: Any, monkeypatch: pytest.MonkeyPatch, counts: tuple[int, int], words: str):
    """Of a counter that stands for the memory cgroup's, which only a privileged user could make rise."""
    forks.write("test_e.py", ENDINGS)
    monkeypatch.setattr(engine, "oom_kills", lambda: counts[0])
    run(forks, "passes")
    monkeypatch.setattr("triage.runner.oom.oom_kills", lambda: counts[1])
    trial = run(forks, "is_killed").trial
    assert trial.outcome is Outcome.KILLED
    assert words in (trial.reason or "")


SERVER = """
import os, signal
def test_kills(): os.kill(os.getppid(), signal.SIGKILL)
def test_kills_slowly():
    os.kill(os.getppid(), signal.SIGKILL)
    held = os.open(WITNESS, os.O_WRONLY)
    signal.pause()
def test_interrupts(): os.kill(os.getppid(), signal.SIGINT)
def test_passes(): pass
"""


@pytest.mark.parametrize("name", ["kills", "kills_slowly", "interrupts"])
def test_the_end_of_the_server(forks: Any, folder: Path, witness: Any, name: str):
    forks.write("test_e.py", SERVER.replace("WITNESS", repr(str(witness.path))))
    for _ in range(2):  # never twice in a row
        assert run(forks, "passes").trial.outcome is Outcome.PASSED
        server = forks.server.pid
        trial = run(forks, name).trial
        assert (trial.outcome, trial.failure) == (Outcome.BROKEN, None)
        assert "forked from" in (trial.reason or "")
        assert not trial.is_evidence
        assert forks.pool._servers == {}
        assert list((folder / "tmp").iterdir()) == []
        assert run(forks, "passes").trial.outcome is Outcome.PASSED
        assert forks.server.pid != server
    assert run(forks, name).trial.outcome is Outcome.BROKEN
    with pytest.raises(UnforkableError, match="ended meanwhile"):
        run(forks, name)
    with pytest.raises(UnforkableError, match="ended meanwhile"):
        run(forks, "passes")
    assert forks.pool._servers == {}
    assert descendants(os.getpid()) == {}


def test_the_end_of_the_supervisor(forks: Any, folder: Path, witness: Any):
    """Whoever kills it kills the server with it; the trial has no parent then, and is found by its environment."""
    forks.write(
        "test_e.py",
        f"import os, signal, pathlib\nheld = None\ndef test_kills():\n    held = os.open({str(witness.path)!r}, os.O_WRONLY)\n"
        "    above = int(pathlib.Path(f'/proc/{os.getppid()}/stat').read_text().rpartition(')')[2].split()[1])\n"
        "    os.kill(above, signal.SIGKILL)\n    while True: signal.pause()\ndef test_passes(): pass\n",
    )
    run(forks, "passes")
    assert run(forks, "kills").trial.outcome is Outcome.BROKEN
    witness.wait_for_end()
    assert list((folder / "tmp").iterdir()) == []
    assert run(forks, "passes").trial.outcome is Outcome.PASSED


MEMORY = """
import pytest, mmap
def test_takes(): assert len(bytearray(400 << 20))
def test_takes_and_dies():
    try:
        block = bytearray(400 << 20)
    except MemoryError:
        import os
        os.abort()
def test_fails(): assert 0
def test_passes(): pass
"""


def address_space(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("kind", ["forked", "cold"])
def test_a_limit_of_memory(forks: Any, kind: str):
    forks.write("test_e.py", MEMORY)
    run(forks, "passes")
    limit = address_space(forks.server.pid) + (300 << 20)
    run_one: Callable[..., Finished] = {"forked": forks.run, "cold": forks.cold}[kind]
    for name, outcome in (("takes", "broken"), ("takes_and_dies", "broken"), ("fails", "failed"), ("passes", "passed")):
        trial = run_one(f"test_e.py::test_{name}", memory=limit).trial
        assert trial.outcome == outcome, (name, trial)
        assert ("tool-made" in (trial.reason or "")) == (outcome == "broken")
        assert run_one(f"test_e.py::test_{name}").trial.outcome == ("failed" if name == "fails" else "passed")


@pytest.mark.parametrize("moment", ["trial", "collection"])
def test_cancel(forks: Any, folder: Path, witness: Any, moment: str):
    waits = f"held = os.open({str(witness.path)!r}, os.O_WRONLY)\n    os.write(held, b'ready\\n')\n    signal.pause()\n"
    code = f"if {moment == 'collection'}:\n    {waits}def test_waits():\n    {waits}def test_passes(): pass\n"
    forks.write("test_e.py", "import os, signal\n" + code)
    if moment == "trial":
        run(forks, "passes")

    def cancel() -> None:
        witness.lines()
        forks.pool.runner.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(CancelledError):
        run(forks, "waits")
    thread.join()
    witness.wait_for_end()
    assert forks.pool._servers == {}
    assert descendants(os.getpid()) == {}
    assert list((folder / "tmp").iterdir()) == []
    with pytest.raises(CancelledError):
        run(forks, "passes")


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_leaves_nothing(forks: Any, folder: Path, witness: Any):
    waits = f"held = os.open({str(witness.path)!r}, os.O_WRONLY)\n    os.write(held, b'ready\\n')\n    signal.pause()\n"
    forks.write("test_e.py", f"import os, signal\ndef test_waits():\n    {waits}def test_passes(): pass\n")
    run(forks, "passes")

    def interrupt() -> None:
        witness.lines()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run(forks, "waits")
    finally:
        thread.join()
    witness.wait_for_end()
    assert forks.pool._servers == {}
    assert list((folder / "tmp").iterdir()) == []
    assert run(forks, "passes").trial.outcome is Outcome.PASSED


def test_a_collection_that_takes_too_long(forks: Any, monkeypatch: pytest.MonkeyPatch, witness: Any):
    forks.write("test_e.py", f"import os, signal\nheld = os.open({str(witness.path)!r}, os.O_WRONLY)\nsignal.pause()\n")
    began = time.monotonic()
    with pytest.raises(UnforkableError, match="had not collected after 2 s"):
        engine.ForkServer(forks.pool.runner, forks.request("test_e.py::test").invocation, 2.0)
    assert time.monotonic() - began < 20
    witness.wait_for_end()


def test_repeats_stop_at_the_first_failure(forks: Any):
    forks.write(
        "test_e.py", "runs = []\ndef test():\n    runs.append(1)\n    assert len(runs) < 3\ndef test_passes(): pass\n"
    )
    for _ in range(2):
        trial = forks.run("test_e.py::test", repeat=5, levels=("repeat=5",)).trial
        assert (trial.outcome, trial.index, trial.sequence) == (Outcome.FAILED, 3, ("test_e.py::test",) * 3)
    trial = forks.run("test_e.py::test", repeat=2, levels=("repeat=2", "rng_seed=3")).trial
    assert (trial.outcome, trial.sequence) == (Outcome.PASSED, ("test_e.py::test",) * 2)
    assert len(forks.pool._servers) == 1


def test_a_plugin_is_left_out_of_the_server(forks: Any):
    forks.write("extra.py", "import builtins\ndef pytest_runtest_setup(): builtins.was_there = True\n")
    forks.write("test_e.py", "import builtins\ndef test(): assert hasattr(builtins, 'was_there')\n")
    forks.options = ("-p", "extra")
    variables = (("PYTHONPATH", str(forks.root)),)
    assert forks.run("test_e.py::test", env=variables).trial.outcome is Outcome.PASSED
    trial = forks.run("test_e.py::test", env=variables, levels=("without=extra", "rng_seed=1")).trial
    assert trial.outcome is Outcome.FAILED
    assert len(forks.pool._servers) == 2
