"""Folders that cannot be written, disks that are full, a history of the future, two at once, secrets."""

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest
from conftest import command, environment
from hostile_processes import MARK, NOBODY, as_ordinary_user, left_after, run, small_disk

from triage.store.history import History

__all__ = ["small_disk"]
PASSES = "def test_one():\n    assert True\n"
FEW = ("--format", "json", "--trials", "3", "--skip", "repeat")


def names(folder):
    return {path.name for path in Path(folder).iterdir()}


def test_a_project_that_an_ordinary_user_cannot_write(project, tmp_path):
    project.write(test_a=PASSES)
    before = names(tmp_path)
    outside = Path("/tmp" if os.getuid() == 0 else tmp_path) / f"triage-test-{os.getpid()}"
    outside.mkdir()
    if os.getuid() == 0:
        os.chown(outside, NOBODY, NOBODY)
    tmp_path.chmod(0o555)
    words = as_ordinary_user(command("run", "test_a.py", *FEW))
    try:
        done = run(words, cwd=tmp_path, env=environment(TMPDIR=str(outside), HOME=str(outside), **{MARK: "readonly"}))
        if done.returncode == 99:
            pytest.skip("this process may not become an ordinary user who can read the interpreter")
        left = names(outside)
    finally:
        tmp_path.chmod(0o755)
        shutil.rmtree(outside)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rates"][0]["failed"] == 0
    (note,) = done.stderr.splitlines()
    assert note.startswith("note: `.triage` cannot be written (permission denied): nothing of this run is kept")
    assert names(tmp_path) == before
    assert not {name for name in left if name.startswith("tri-")}
    assert left_after("readonly") == {}


def test_a_project_on_a_full_disk(project, small_disk):
    root = small_disk.path
    (root / "pytest.ini").write_text("[pytest]\n")
    (root / "test_a.py").write_text(PASSES)
    small_disk.fill()
    before = names(root)
    done = run(command("run", "test_a.py", *FEW), cwd=root, env=environment())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rates"][0]["failed"] == 0
    assert "(no space left on device): nothing of this run is kept" in done.stderr
    assert "Traceback" not in done.stderr
    assert names(root) == before


FILLS = """
import os, tempfile

def fill():
    fd, _ = tempfile.mkstemp()
    try:
        while True:
            os.write(fd, b"x" * 4096)
    except OSError:
        os.close(fd)

def test_fills():
    fill()

def test_fails():
    fill()
    raise AssertionError("a long message" * 700)
"""


def test_a_test_that_fills_the_disk_of_its_temporary_files(project, small_disk):
    project.write(test_a=FILLS)
    result = project.triage("run", "test_a.py", *FEW, env={"TMPDIR": str(small_disk.path)})
    fills, fails = result.verdicts
    assert fills["verdict"] != "stable_fail"
    assert all(rate["failed"] == 0 for rate in fills["rates"])
    assert fails["cause"] is None
    assert fails["summary"].startswith("Nothing was found out: no trial came to an end: the probe could not write all")
    assert "no space left on device" in fails["summary"]
    assert result.status == 3
    assert names(small_disk.path) == set()


def test_no_room_for_temporary_files(project, small_disk):
    project.write(test_a=PASSES)
    small_disk.fill(leave=6 * 4096)
    result = project.triage("run", "test_a.py", *FEW, env={"TMPDIR": str(small_disk.path)})
    assert result.status == 3
    told, hint = result.err.splitlines()
    assert told.startswith("error: no room for trials: only ")
    assert f"KiB are free in `{small_disk.path}`" in told
    assert hint == "hint: free space there, or set TMPDIR to a folder that has some"
    assert result.verdict["next"] == hint.removeprefix("hint: ")
    assert names(small_disk.path) == {"filler"}


def test_a_history_of_a_newer_version_is_read_only(project):
    project.write(test_a=PASSES)
    path = project.path / ".triage" / "history.db"
    with History(path) as history:
        first = history.start("test_a.py::test_one", str(project.path))
    with contextlib.closing(sqlite3.connect(path)) as database:
        (version,) = database.execute("pragma user_version").fetchone()
        database.execute(f"pragma user_version = {version + 1}")
    before = path.read_bytes()
    result = project.triage("run", "test_a.py", *FEW)
    assert result.status == 0
    assert result.verdict["rates"][0]["failed"] == 0
    (note,) = result.err.splitlines()
    assert note.startswith("note: this experiment is not recorded any further: ")
    assert "was written by a newer version of triage and is not changed" in note
    assert path.read_bytes() == before
    assert project.triage("show", "--format", "json").verdict["experiment"] == first


READS = "import os\n\n\ndef test_one():\n    number = len(os.environ['API_TOKEN'])\n    assert number == 0\n"


def test_two_at_once_keep_apart_and_keep_no_secret(project):
    """The same test of the same project, with a secret in the environment that the test uses and does not print."""
    secret = "hunter2-of-the-environment"
    project.write(test_a=READS)
    both = [
        subprocess.Popen(
            command("run", "test_a.py", *FEW),
            cwd=project.path,
            env=environment(API_TOKEN=secret, PYTEST_ADDOPTS=f"-o junit_suite_name={secret}"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert [err for _, err in said] == ["", ""]
    verdicts = [json.loads(out) for out, _ in said]
    assert [verdict["rates"][0]["failed"] > 0 for verdict in verdicts] == [True, True]
    with History(project.path / ".triage" / "history.db") as history:
        kept = {entry.experiment for entry in history.list()}
    assert kept == {verdict["experiment"] for verdict in verdicts}
    assert len(kept) == 2
    assert secret not in str(said)
    files = [path for path in (project.path / ".triage").rglob("*") if path.is_file()]
    assert [path for path in files if secret.encode() in path.read_bytes()] == []
