"""What makes a process unfit for being forked, and what does not."""

from __future__ import annotations

from typing import Any

import pytest

from triage.model.arm import Arm, Level
from triage.runner.forks import UnforkableError


def refusal(forks: Any, code: str, **more: Any) -> str:
    """Return why a module with this code at import cannot be forked; it is said every time, and at once the second time."""
    forks.write("test_u.py", code + "\ndef test(): pass\n")
    reason = forks.refusal("test_u.py::test", **more)
    assert forks.pool._servers == {}
    assert forks.refusal("test_u.py::test", **more) == reason
    return reason


def fits(forks: Any, code: str, **more: Any) -> None:
    forks.write("test_u.py", code + "\ndef test(): pass\n")
    assert forks.run("test_u.py::test", **more).trial.outcome == "passed"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import threading as t\nt.Thread(target=t.Event().wait, daemon=True, name='pump').start()", "1 thread(s) (pump)"),
        ("import _thread as t\nlock = t.allocate_lock()\nlock.acquire()\nt.start_new_thread(lock.acquire, ())", "1 thread(s)"),
        ("import faulthandler\nfaulthandler.dump_traceback_later(600)", "1 thread(s)"),
        ("import asyncio\nloop = asyncio.new_event_loop()", "an eventpoll"),
        ("import asyncio\nloop = asyncio.new_event_loop()", "a socket"),
        ("import socket\nopened = socket.socket()", "a socket"),
        ("import os\nopened = os.pipe()", "a pipe"),
        ("import sqlite3\nopened = sqlite3.connect('kept.db')\nopened.execute('pragma user_version = 1')", "the file kept.db"),
        ("opened = open('seeing.py')", "the file seeing.py"),
        ("import os\nos.dup2(os.open('out.txt', os.O_CREAT | os.O_WRONLY), 2)", "the file out.txt"),
        ("import mmap\nshared = mmap.mmap(-1, 4096)", "memory that children would share"),
        ("from multiprocessing import shared_memory\nshared = shared_memory.SharedMemory(create=True, size=10)", "/dev/shm/psm_"),
        ("import multiprocessing\nshared = multiprocessing.Semaphore()", "/dev/shm/sem."),
        ("import subprocess\nstarted = subprocess.Popen(['/bin/sleep', '600'])", "the process `sleep`"),
        ("import os\nif os.fork() == 0: os._exit(0)", "did not wait for its end"),
        ("import signal\nsignal.alarm(600)", "a timer is running"),
        ("import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)", "SIGCHLD is ignored"),
        ("import os, signal\nsignal.signal(signal.SIGCHLD, lambda *_: os.waitpid(-1, os.WNOHANG))", "or handled"),
        ("import os\nos.register_at_fork(before=print)", "`test_u` asked to be told of forks"),
        ("import os, threading\nos.register_at_fork(before=threading.Lock().acquire)", "`test_u` asked to be told of forks"),
        ("import sys\nsys.settrace(lambda *_: None)", "a trace function is set (`test_u`)"),
        ("import sys\nsys.setprofile(lambda *_: None)", "a profile function is set (`test_u`)"),
        ("assert 0", "collection of `test_u.py` failed: assert 0"),
        ("import os\nos._exit(9)", "pytest ended before a trial could be forked"),
    ],
)  # fmt: skip
def test_what_collection_left_alive(forks: Any, code: str, words: str):
    assert words in refusal(forks, code)


def test_a_file_that_cannot_be_collected(forks: Any):
    assert "1 error(s) during collection" in refusal(forks, "assert 0", around=("test_u.py",))


def test_a_module_with_a_private_name_asks_for_forks(forks: Any):
    forks.write("_project.py", "import os\nos.register_at_fork(after_in_child=lambda: None)\n")
    assert "`_project` asked" in refusal(forks, "import _project")


def test_the_standard_library_may_ask_for_forks(forks: Any):
    fits(
        forks,
        "import asyncio, concurrent.futures.thread, logging.config, multiprocessing, random, threading, weakref\n"
        "import concurrent.futures.process, multiprocessing.util, multiprocessing.resource_tracker\n"
        "logging.basicConfig()\npool = concurrent.futures.ThreadPoolExecutor()",
    )


def test_what_was_closed_before_the_end_of_collection(forks: Any):
    fits(
        forks,
        "import asyncio, subprocess, threading, tempfile, signal\n"
        "async def nothing(): pass\nasyncio.run(nothing())\nsubprocess.run(['/bin/true'], check=True)\n"
        "thread = threading.Thread(target=int)\nthread.start()\nthread.join()\n"
        "with tempfile.TemporaryFile() as file: pass\n"
        "signal.alarm(600)\nsignal.alarm(0)\nopened = open('/dev/null')",
    )


@pytest.mark.parametrize("env", ["py3.12-pytest9", "py3.13-pytest9"])
@pytest.mark.parametrize("strict", [False, True])
def test_python_s_own_warning_of_threads_is_no_fault(forks: Any, env: str, strict: bool):
    """From 3.12 on, forking beside threads is warned of."""
    forks.env = env
    variables = (("PYTHONWARNINGS", "error"),) if strict else ()
    code = "import threading\nthreading.Thread(target=threading.Event().wait, daemon=True).start()"
    assert "1 thread(s)" in refusal(forks, code, env=variables)


@pytest.mark.parametrize("env", ["py3.12-pytest9", "py3.13-pytest9"])
def test_a_tool_that_monitors(forks: Any, env: str):
    forks.env = env
    assert "`spy` uses sys.monitoring" in refusal(forks, "import sys\nsys.monitoring.use_tool_id(3, 'spy')")


@pytest.mark.parametrize("core", ["ctrace", "pytrace"])
def test_coverage(forks: Any, core: str):
    forks.env = "py3.11-plugins"
    options = ("-p", "pytest_cov", "--cov=.", "--cov-report=")
    reason = refusal(forks, "", options=options, env=(("COVERAGE_CORE", core),))
    assert "a trace function is set (`coverage" in reason


def test_threads_that_end_themselves_before_a_fork(forks: Any):
    """OpenBLAS' do, and are started anew when they are needed."""
    forks.env = "py3.11-plugins"
    code = """
import os, numpy
from seeing import see
numpy.ones((400, 400)) @ numpy.ones((400, 400))
see(len(os.listdir("/proc/self/task")) > 1)
def test(): assert (numpy.ones((400, 400)) @ numpy.ones((400, 400)))[0, 0] == 400
"""
    forks.write("test_u.py", code)
    for _ in range(2):
        assert forks.run("test_u.py::test", env=(("OPENBLAS_NUM_THREADS", "2"),)).trial.outcome == "passed"
    assert forks.seen() == ["True"]


def test_a_plugin_s_thread(forks: Any):
    """pytest-rerunfailures serves its counts by a thread if xdist is there."""
    forks.env = "py3.11-plugins"
    options = ("-p", "xdist", "-p", "pytest_rerunfailures")
    reason = refusal(forks, "", options=options)
    assert "1 thread(s)" in reason
    assert "a socket" in reason
    fits(forks, "", options=options[2:])


def test_a_test_that_was_not_collected_refuses_no_other(forks: Any):
    forks.write("test_u.py", "from seeing import see\ndef test_a(): see('a')\ndef test_b(): see('b')\n")
    forks.write("test_v.py", "from seeing import see\ndef test_c(): see('c')\n")
    around = ("test_u.py", "test_v.py::test_c")
    a, b, c = "test_u.py::test_a", "test_u.py::test_b", "test_v.py::test_c"
    orders = [(c, b), (b, c), (), (b, "test_u.py::test_gone")]
    for ids in orders:
        request = forks.request(a, arm=Arm((Level(factor="order", value="x", ids=ids),)), levels=("order=x.json",))
        if "test_u.py::test_gone" in ids:
            with pytest.raises(UnforkableError, match="test_gone` was not collected"):
                forks.pool.run(request, around)
        else:
            trial = forks.pool.run(request, around)[0].trial
            assert trial.sequence == (*ids, a)
    assert forks.seen() == ["c", "b", "a", "b", "c", "a", "a"]
    assert forks.run(a, around=around).trial.outcome == "passed"
    assert len(forks.pool._servers) == 1
