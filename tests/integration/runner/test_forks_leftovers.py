"""What a forked trial starts is its own and ends with it; what `triage` starts ends with `triage`."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from triage.runner.scratch import sweep
from triage.runner.supervisor import descendants

SERVES = """
import os, signal, subprocess, sys, time
import pytest
DAEMON = '''
import os, signal, sys
os.setsid()
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork(): os._exit(0)
held = os.open(sys.argv[1], os.O_WRONLY)
os.write(held, b"daemon %d\\\\n" % os.getpid())
while True: signal.pause()
'''
@pytest.fixture(scope="session")
def server():
    serving = subprocess.Popen([sys.executable, "-S", "-c", DAEMON, WITNESS])
    serving.wait()
    sleeping = subprocess.Popen(["/bin/sleep", "1000"])
    yield sleeping.pid
def test(server):
    open("seen", "a").write(f"{server} {os.getpid()}\\n")
"""


def test_each_trial_has_its_own_server_and_none_is_left(forks: Any, witness: Any):
    forks.write("test_s.py", SERVES.replace("WITNESS", repr(str(witness.path))))
    pids: set[str] = set()
    for _ in range(3):
        finished = forks.run("test_s.py::test")
        assert finished.trial.outcome == "passed"
        seen = forks.seen()[0].split()
        assert pids.isdisjoint(seen)
        pids.update(seen)
        assert sorted(finished.leftovers) in (["python", "sleep"], ["python3", "sleep"], ["python3.11", "sleep"])
        assert finished.trial.leftovers == 2
        assert witness.lines()[0].startswith("daemon ")
        witness.wait_for_end()
        assert descendants(forks.server.pid) == {}
        assert not any(Path("/proc", pid).exists() for pid in seen)


def test_what_ends_by_itself_in_time_is_no_leftover(forks: Any, witness: Any):
    code = (
        f"import os\ndef test():\n    if os.fork() == 0:\n        held = os.open({str(witness.path)!r}, os.O_WRONLY)\n"
        "        os._exit(0)\n"
    )
    forks.write("test_s.py", code)
    for _ in range(3):
        assert forks.run("test_s.py::test").leftovers == ()
        witness.wait_for_end()


def test_processes_that_fork_all_the_time_are_caught(forks: Any):
    code = (
        "import os, time\ndef test():\n    if os.fork() == 0:\n        while True:\n"
        "            if os.fork(): os._exit(0)\n            time.sleep(0.001)\n"
    )
    forks.write("test_s.py", code)
    for _ in range(2):
        finished = forks.run("test_s.py::test")
        assert finished.trial.outcome == "passed"
        assert descendants(forks.server.pid) == {}


def count(folder: str) -> int:
    return len(list(Path(folder).iterdir()))


def test_many_trials_leave_nothing_behind(forks: Any, folder: Path):
    forks.write(
        "test_m.py",
        "import os, subprocess\ndef test_a(tmp_path): open(tmp_path / 'x', 'x')\n"
        "def test_b(): os._exit(3)\n"
        "def test_c():\n    if os.fork() == 0: os._exit(0)\n"
        "def test_d(): print('x' * 10000)\n",
    )

    def some(number: int) -> None:
        for name in "abcd" * number:
            outcome = forks.run(f"test_m.py::test_{name}", around=("test_m.py",), options=("-s",)).trial.outcome
            assert outcome == ("crashed" if name == "b" else "passed")

    some(2)
    server = forks.server.pid
    places = ("/proc/self/fd", f"/proc/{server}/fd", str(forks.server.scratch.folder), str(folder / "tmp"))
    before = {place: count(place) for place in places}
    some(73)
    assert forks.server.pid == server
    assert {place: count(place) for place in places} == before
    children = [line for pid in (server, os.getpid()) for line in states(pid)]
    assert [line for line in children if line == "Z"] == []
    assert states(server) == []
    assert forks.server.scratch.wire.stat().st_size < (5 << 20)
    forks.pool.close()
    assert list((folder / "tmp").iterdir()) == []


def states(parent: int) -> list[str]:
    """Return the states of a process' children."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == parent:
            found.append(fields[0])
    return found


def test_a_trial_has_the_descriptors_of_a_process_of_its_own(forks: Any):
    """Those of the server's pipes are closed; the two files of the probe are at high numbers in both."""
    forks.write(
        "test_m.py",
        "import os\nfrom seeing import see\ndef test():\n    numbers = sorted(map(int, os.listdir('/proc/self/fd')))\n"
        "    high = [os.readlink(f'/proc/self/fd/{n}').rpartition('/')[2] for n in numbers if n >= 200]\n"
        "    see([n for n in numbers if n < 200], sorted(high))\n",
    )
    forks.run("test_m.py::test")
    forks.cold("test_m.py::test")
    forked, cold = forks.seen()
    assert forked == cold
    assert "wire" in forked


def test_what_is_recorded_is_emptied_before_it_grows(forks: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("triage.runner.fork_server.MOST_WIRE", 2000)
    forks.write("test_m.py", "def test(): assert 0\n")
    for _ in range(20):
        trial = forks.run("test_m.py::test").trial
        assert (trial.outcome, trial.sequence) == ("failed", ("test_m.py::test",))
        assert forks.server.scratch.wire.stat().st_size <= 4000


def test_only_so_many_servers_are_kept(forks: Any):
    forks.write("test_m.py", "".join(f"def test_{number}(): pass\n" for number in range(5)))
    for number in range(5):
        forks.run(f"test_m.py::test_{number}")
        assert len(forks.pool._servers) == min(number + 1, forks.pool.MOST)
    kept = forks.server.pid
    forks.run("test_m.py::test_3")
    forks.run("test_m.py::test_4")
    assert forks.server.pid == kept
    forks.run("test_m.py::test_4", generation=1)
    assert forks.server.pid != kept
    assert not Path("/proc", str(kept)).exists()


DRIVER = """
import os, sys, tempfile
from pathlib import Path
from triage.model.arm import BASELINE
from triage.model.invocation import Invocation
from triage.model.trial import Stage
from triage.runner.cold import ColdRunner, Request
from triage.runner.forks import ForkPool

root, tempfile.tempdir = Path(sys.argv[1]), sys.argv[2]
base = {"PATH": os.environ["PATH"], "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
def request(name):
    target = "test_d.py::" + name
    invocation = Invocation(root=str(root), python=sys.executable, node_ids=(target,))
    return Request(invocation=invocation, target=target, arm=BASELINE, stage=Stage.SCOUT, limit=600.0)
with ColdRunner(root, base) as runner, ForkPool(runner) as pool:
    for name in ("test_passes", "test_waits"):
        pool.run(request(name), ("test_d.py",))
"""
TARGET = """
import os, signal, time
def hold():
    held = os.open(WITNESS, os.O_WRONLY)
    os.write(held, b"%d %d\\n" % (os.getpid(), os.getppid()))
    while True: signal.pause()
def test_passes(): pass
def test_waits():
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
    hold()
"""


@pytest.fixture
def driver(folder: Path, witness: Any) -> Iterator[subprocess.Popen[bytes]]:
    root = folder / "p"
    root.mkdir()
    (root / "pytest.ini").write_text("[pytest]\n")
    (root / "test_d.py").write_text(TARGET.replace("WITNESS", repr(str(witness.path))))
    process = subprocess.Popen([sys.executable, "-c", DRIVER, str(root), str(folder / "tmp")])
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_server_trial_and_what_it_started_die_with_triage(driver: Any, folder: Path, witness: Any, number: int):
    pids = {int(word) for line in witness.lines(2) for word in line.split()}
    assert len(pids) >= 3  # the server, the trial, and what it has sent away
    os.kill(driver.pid, number)
    witness.wait_for_end()
    driver.wait()
    for pid in pids:
        await_end(pid)
    assert len(list((folder / "tmp").iterdir())) == 1
    assert sweep() == 1
    assert list((folder / "tmp").iterdir()) == []


def await_end(pid: int) -> None:
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        assert select.select([fd], [], [], 60)[0], "a process is still alive"
    finally:
        os.close(fd)
