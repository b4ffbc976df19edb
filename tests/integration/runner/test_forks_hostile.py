"""A forked trial that replaces what it can reach: judged as it ends, and the next one finds nothing of it."""

from __future__ import annotations

from typing import Any

REPLACES = """
import os, signal, subprocess, sys, time

def test_replaces(tmp_path):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGXFSZ):
        signal.signal(number, lambda *_: None)
    subprocess.Popen([sys.executable, "-c", "import os; os.fork(); os.execv('/bin/sleep', ['sleep', '600'])"]).returncode = 0
    os.chdir(tmp_path)
    os.umask(0o777)
    os.environ.clear()
    os.environ["PYTEST_CURRENT_TEST"] = ""
    sys.stdout = sys.__stdout__ = sys.stderr = None
    time.time = time.monotonic = time.perf_counter = os.fork = os.getpid = os.write = os.open = os._exit = None

def test_replaces_and_fails():
    sys.stdout = time.time = os.write = os.fork = os._exit = None
    assert 1 == 2

def test_prints_much():
    block = b"x" * (1 << 20)
    for _ in range(200):
        os.write(sys.__stdout__.fileno(), block)

def test_is_as_before():
    assert time.time() and os.getpid() and os.environ["HOME"] and os.getcwd() == os.path.dirname(__file__)
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
"""


def test_targets_that_do_what_they_like(forks: Any) -> None:
    forks.write("test_h.py", REPLACES)
    names = ("replaces", "is_as_before", "replaces_and_fails", "is_as_before", "prints_much", "is_as_before")
    around = tuple(f"test_h.py::test_{name}" for name in dict.fromkeys(names))
    ended = [forks.run(f"test_h.py::test_{name}", around=around) for name in names]
    outcomes = [str(one.trial.outcome) for one in ended]
    assert outcomes == ["passed", "passed", "failed", "passed", "passed", "passed"]
    assert ended[0].leftovers
    assert len(ended[4].trial.stdout) < 1_000_000
