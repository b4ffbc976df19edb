"""Several processes at one history, and one that is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from triage.model.entry import State
from triage.store.history import History
from triage.store.owner import is_alive, owner

WRITER = """
import sys
from pathlib import Path
from triage.model.arm import BASELINE
from triage.model.outcome import Outcome
from triage.model.trial import Stage, Trial
from triage.store.history import History

count = int(sys.argv[2])
history = History(Path(sys.argv[1]))
print("ready", flush=True)
sys.stdin.readline()
experiment = history.start("t.py::test_b", "/project")
for number in range(1, count + 1):
    trial = Trial(arm=BASELINE, stage=Stage.SCREEN, outcome=Outcome.PASSED, number=number, stdout=f"{number} " * 500)
    history.add(experiment, trial)
    print(number, flush=True)
sys.stdin.readline()
history.close()
"""


def start_writer(path: Path, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), str(count)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_killed_process_loses_no_finished_trial(path: Path) -> None:
    with start_writer(path, 1_000_000) as writer:
        assert writer.stdin
        assert writer.stdout
        writer.stdin.write("\n")
        writer.stdin.flush()
        assert writer.stdout.readline() == "ready\n"
        for line in writer.stdout:
            if line == "20\n":
                break
        with History(path) as history:
            assert history.list()[0].state is State.RUNNING
        writer.kill()
    with History(path) as history:
        report, trials = history.load("latest")
        assert history.list()[0].state is State.INTERRUPTED
    assert len(trials) >= 20
    assert [trial.number for trial in trials] == list(range(1, len(trials) + 1))
    assert all(trial.stdout == f"{trial.number} " * 500 for trial in trials)
    assert "interrupted" in report.summary
    assert not report.complete


def test_two_processes_make_and_fill_one_history(path: Path) -> None:
    with start_writer(path, 40) as one, start_writer(path, 40) as other:
        for writer in (one, other):
            assert writer.stdout
            assert writer.stdout.readline() == "ready\n"
        for writer in (one, other):
            assert writer.stdin
            writer.stdin.write("\n")
            writer.stdin.flush()
        for writer in (one, other):
            writer.communicate("\n")
            assert writer.returncode == 0
    with History(path) as history:
        entries = history.list()
        assert [entry.trials for entry in entries] == [40, 40]
        for entry in entries:
            assert [trial.number for trial in history.load(entry.experiment)[1]] == list(range(1, 41))


def test_owner_is_this_process_and_no_other() -> None:
    assert owner() == owner()
    assert owner() != owner(os.getppid())
    assert is_alive(owner())


def test_ended_process_is_no_owner_even_before_it_is_reaped() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    text = owner(child.pid)
    assert is_alive(text)
    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(text)
    child.communicate()
    assert not is_alive(text)


def test_nonsense_is_no_owner() -> None:
    assert not is_alive("")
    assert not is_alive("x:1")
    assert not is_alive(owner().replace(":", ":9", 1))
