"""What becomes of a trial when `triage` itself dies, and who is believed about memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from triage.runner.scratch import new_folder, scratch_folder, start_time, sweep

DRIVER = """
import os, sys, tempfile, threading
from pathlib import Path
from triage.model.arm import BASELINE
from triage.model.invocation import Invocation
from triage.model.trial import Stage
from triage.runner.cold import ColdRunner, Request

root, temporary = Path(sys.argv[1]), sys.argv[2]
tempfile.tempdir = temporary
base = {"PATH": os.environ["PATH"], "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
invocation = Invocation(root=str(root), python=sys.executable, node_ids=("test_d.py::test",))
request = Request(
    invocation=invocation, target="test_d.py::test", arm=BASELINE, stage=Stage.SCOUT, limit=600.0
)
with ColdRunner(root, base) as runner:
"""
RUN = DRIVER + "    print(runner.run(request).trial.outcome, flush=True)\n"
RUN_AND_FORK = (
    DRIVER
    + """\
    threading.Thread(target=runner.run, args=(request,), daemon=True).start()
    sys.stdin.readline()
    if os.fork() == 0:
        os.write(1, b"forked\\n")  # and holds a copy of every descriptor, until our stdin ends
        os.read(0, 1)
        os._exit(0)
    threading.Event().wait()
"""
)
TARGET = """
import os, signal, time
def test():
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_IGN)
    held = os.open(WITNESS, os.O_WRONLY)
    os.write(held, b"%d %d\\n" % (os.getpid() == os.getsid(0), os.getppid()))
    while True:
        time.sleep(1000)
"""


@pytest.fixture
def project(folder: Path) -> Path:
    root = folder / "p"
    root.mkdir()
    (root / "pytest.ini").write_text("[pytest]\n")
    (root / "test_d.py").write_text(TARGET.replace("WITNESS", repr(str(folder / "witness"))))
    return root


@pytest.fixture
def drivers() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.communicate()


def drive(drivers: list[subprocess.Popen[bytes]], code: str, project: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(project), str(project.parent / "tmp")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    drivers.append(process)
    return process


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_every_process_of_a_trial_dies_with_triage(drivers: list, project: Path, folder: Path, witness, number: int):
    process = drive(drivers, RUN, project)
    witness.lines(2)
    process.send_signal(number)
    witness.wait_for_end()
    process.wait()
    left = list((folder / "tmp").iterdir())
    assert len(left) == 1
    assert sweep() == 1
    assert list((folder / "tmp").iterdir()) == []


def test_a_fork_of_triage_does_not_keep_the_trial_alive(drivers: list, project: Path, witness):
    process = drive(drivers, RUN_AND_FORK, project)
    assert process.stdin is not None
    assert process.stdout is not None
    witness.lines(2)
    process.stdin.write(b"now\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"forked\n"
    process.kill()
    witness.wait_for_end()


def test_a_supervisor_that_is_killed_breaks_the_trial_and_leaves_nothing(
    drivers: list, project: Path, folder: Path, witness
):
    process = drive(drivers, RUN, project)
    supervisor = next(int(line.split()[1]) for line in witness.lines(2) if line.startswith("1"))
    os.kill(supervisor, signal.SIGKILL)
    witness.wait_for_end()
    assert process.stdout is not None
    assert process.stdout.readline() == b"broken\n"
    process.wait()
    assert list((folder / "tmp").iterdir()) == []


def test_only_folders_of_the_dead_are_swept(folder: Path):
    temporary = folder / "tmp"
    (temporary / "tri-other").mkdir()
    own = new_folder()
    dead = temporary / f"tri-{os.getpid():x}-{(start_time(os.getpid()) or 0) + 1:x}-1"
    with scratch_folder() as living:
        impostor = living.folder.rename(dead.with_name(dead.name + "1"))  # a process id of another namespace
        dead.mkdir()
        (temporary / (dead.name + "2")).symlink_to(folder / "p")
        assert sweep() == 1
        assert impostor.is_dir()
        impostor.rename(living.folder)
    assert {path.name for path in temporary.iterdir()} == {"tri-other", own.name, dead.name + "2"}


MEMORY = """
import sys, os
from pathlib import Path
Path(sys.argv[1], "cgroup.procs").write_text(str(os.getpid()))
from triage.runner.process import run_supervised
code = "block = bytearray(400_000_000); print(len(block))"
end = run_supervised([sys.executable, "-c", code], cwd=Path("/"), environment={}, limit=60, log_file=Path(sys.argv[2]))
print(end.signal, end.oom)
"""


def test_the_kernels_word_on_memory(folder: Path):
    root = Path("/sys/fs/cgroup/memory") if Path("/sys/fs/cgroup/memory").is_dir() else Path("/sys/fs/cgroup")
    group = root / f"triage-test-{os.getpid()}"
    try:
        group.mkdir()
    except OSError:
        pytest.skip("needs the right to make a memory cgroup")
    try:
        limit = next(
            (group / name for name in ("memory.limit_in_bytes", "memory.max") if (group / name).exists()), None
        )
        if limit is None:
            pytest.skip("needs a memory controller")
        limit.write_text(str(150_000_000))
        swap = group / "memory.swap.max"
        if swap.exists():
            swap.write_text("0")
        command = [sys.executable, "-c", MEMORY, str(group), str(folder / "log")]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        group.rmdir()
    assert result.stdout == "9 True\n", result.stderr
