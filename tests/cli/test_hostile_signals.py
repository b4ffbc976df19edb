"""Ctrl-C and SIGKILL at any moment: a line that says where it was, nothing alive, a history that opens."""

import json
import os
import random
import select
import signal
import sqlite3
import subprocess
import uuid

import pytest
from conftest import command, environment
from hostile_processes import MARK, left_after

TELLS = """
import os

def tell(word):
    try:
        fd = os.open(os.environ["TELLS"], os.O_WRONLY | os.O_NONBLOCK)
    except OSError:
        return
    os.write(fd, (word + "\\n").encode())
    os.close(fd)

def pytest_collection():
    tell("collects")

def pytest_runtest_setup(item):
    tell(item.name)
"""
TEST = """
import os

def test_one():
    if os.fork() == 0:
        os.setsid()
        os.execv("/bin/sleep", ["sleep", "600"])
"""
KILLS = int(os.environ.get("TRIAGE_TEST_KILLS", "3"))
"""Moments at which it is killed; more of them by hand."""


class Hostile:
    """A project whose pytest processes tell what they do, and a `triage` of which everything can be found."""

    def __init__(self, project):
        self.path = project.path
        self.temporary = self.path / "tmp"
        self.temporary.mkdir()
        self.mark = uuid.uuid4().hex
        self.fifo = self.path / "tells"
        os.mkfifo(self.fifo)
        project.write(test_a=TEST, telling=TELLS)

    def start(self, *more):
        return subprocess.Popen(
            command("run", "test_a.py", "--format", "json", "--budget", "6s", *more),
            cwd=self.path,
            env=environment(
                **{MARK: self.mark},
                TMPDIR=str(self.temporary),
                PYTEST_PLUGINS="telling",
                PYTHONPATH=str(self.path),
                TELLS=str(self.fifo),
            ),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for(self, word):
        """Return when a pytest process tells this."""
        fd = os.open(self.fifo, os.O_RDWR | os.O_NONBLOCK)
        seen = b""
        try:
            while f"{word}\n".encode() not in seen:
                assert select.select([fd], [], [], 60)[0], f"never told: {word}"
                seen += os.read(fd, 4096)
        finally:
            os.close(fd)

    def history_is_sound(self):
        path = self.path / ".triage" / "history.db"
        if not path.exists():
            return True
        with sqlite3.connect(path) as history:
            return history.execute("pragma integrity_check").fetchone() == ("ok",)


@pytest.fixture
def hostile(project):
    return Hostile(project)


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("collects", "interrupted while collecting, before the first trial"),
        ("control_hangs", "interrupted while running the controls, before the first trial"),
    ],
)
def test_an_interrupt_before_the_first_trial_says_where_it_was(hostile, word, says):
    process = hostile.start()
    hostile.wait_for(word)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    verdict = json.loads(out)
    assert (verdict["verdict"], verdict["complete"]) == ("undetermined", False)
    assert err == f"error: {says}\nhint: run the same command again\n"
    assert says in verdict["summary"]
    assert left_after(hostile.mark) == {}
    assert list(hostile.temporary.iterdir()) == []
    assert hostile.history_is_sound()


@pytest.mark.parametrize("module", ["typer.models", "msgspec._core", "triage.runner.cold"])
def test_an_interrupt_while_it_imports_is_one_line(project, module):
    """Told by `-X importtime`; before the first of these modules there is nothing of ours that could catch it."""
    words = command("run", "test_a.py")
    process = subprocess.Popen(
        [words[0], "-X", "importtime", *words[1:]],
        cwd=project.write(test_a=TEST).path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stderr:
        if line.rstrip().endswith(f" {module}"):
            break
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    said = [line for line in err.splitlines() if not line.startswith("import time:")]
    assert (process.returncode, out) == (130, ""), err
    assert len(said) <= 2, said
    assert said[0].startswith("error: interrupted")


def test_killed_at_any_moment_it_leaves_nothing_alive_and_goes_on(hostile):
    seed = random.SystemRandom().randrange(1 << 32)
    moments = random.Random(seed)
    for _ in range(KILLS):
        process = hostile.start()
        moment = moments.uniform(0.1, 4.5)
        try:
            process.wait(moment)
        except subprocess.TimeoutExpired:
            process.kill()
        process.communicate(timeout=60)
        assert left_after(hostile.mark) == {}, f"killed after {moment} s (seed {seed})"
        assert hostile.history_is_sound(), f"killed after {moment} s (seed {seed})"
    process = hostile.start()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert json.loads(out)["trials"] > 0
    assert list(hostile.temporary.iterdir()) == [], "the folders of the killed were swept"
    assert left_after(hostile.mark) == {}
