"""What one forked trial leaves in folders is not there in the next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


def passes_twice(forks: Any, code: str, **more: Any) -> list[str]:
    """A test that fails if the one before it has left anything; returns what both told."""
    forks.write("test_d.py", "import os, pathlib, tempfile\nfrom seeing import see\n" + code)
    for _ in range(3):
        trial = forks.run("test_d.py::test", **more).trial
        assert trial.outcome == "passed", trial.failure
    return forks.seen()


@pytest.mark.parametrize(
    "code",
    [
        "def test():\n    tempfile.mkstemp()\n    see(len(os.listdir(os.environ['TMPDIR'])))",
        "def test():\n    os.makedirs(tempfile.gettempdir() + '/a/b')\n    see(len(os.listdir(tempfile.gettempdir())))",
        "here = tempfile.gettempdir()\ndef test():\n    open(here + '/x', 'x')\n    see(1)",
        "def test():\n    os.symlink('/', tempfile.gettempdir() + '/x')\n    see(1)",
        "def test():\n    os.mkdir(tempfile.gettempdir() + '/x', 0)\n    see(1)",
        "def test():\n    os.mkdir(tempfile.gettempdir() + '/x')\n    os.chmod(tempfile.gettempdir(), 0o500)\n    see(1)",
        "def test():\n    os.rmdir(tempfile.gettempdir())\n    see(1)",
        "def test():\n    t = tempfile.gettempdir()\n    os.rmdir(t)\n    os.symlink('.', t)\n    see(1)",
        "def test():\n    t = tempfile.gettempdir()\n    os.rmdir(t)\n    open(t, 'x')\n    see(1)",
    ],
    ids=["mkstemp", "folders", "file", "link", "locked", "readonly", "removed", "a link instead", "a file instead"],
)
def test_the_folder_for_temporary_files(forks: Any, code: str):
    assert passes_twice(forks, code) == ["1"] * 3
    status = forks.server.scratch.temporary.lstat()
    assert (status.st_mode & 0o7777, list(forks.server.scratch.temporary.iterdir())) == (0o755, [])


def test_folders_that_pytest_makes_are_numbered_from_the_start(forks: Any):
    seen = passes_twice(forks, "def test(tmp_path, tmpdir):\n    see(tmp_path)\n")
    assert len(set(seen)) == 1
    assert seen[0].endswith("/pytest-0/test0")


def test_a_base_folder_given_by_the_user(forks: Any, folder: Path):
    code = (
        "def test(tmp_path):\n    assert not os.listdir(tmp_path)\n    open(tmp_path / 'x', 'x')\n    see(tmp_path)\n"
    )
    assert set(passes_twice(forks, code, options=(f"--basetemp={folder}/base",))) == {f"{folder}/base/test0"}


def test_pytest_s_cache(forks: Any):
    passes_twice(
        forks,
        "def test(cache):\n    assert cache.get('a/b', None) is None\n    cache.set('a/b', 1)\n    cache.mkdir('c')\n",
    )


def test_what_a_cache_held_after_collection_is_put_back(forks: Any):
    forks.write(
        "conftest.py",
        "import os\nfrom seeing import see\ndef pytest_configure(config):\n    config.cache.set('a/b', [1])\n"
        "    config.cache.set('a/c', 2)\n    config.cache.mkdir('d')\n",
    )
    code = """
def test(cache, pytestconfig):
    assert (cache.get("a/b", None), cache.get("a/c", None)) == ([1], 2)
    assert os.path.isdir(cache._cachedir / "d/d")
    cache.set("a/b", [2])
    os.unlink(cache._cachedir / "v/a/c")
    os.rmdir(cache._cachedir / "d/d")
    os.rmdir(cache._cachedir / "d")
"""
    passes_twice(forks, code)


def test_the_last_failures_are_no_news(forks: Any):
    forks.write(
        "test_d.py",
        "from seeing import see\ndef test(cache):\n    see(cache.get('cache/lastfailed', {}))\n    assert 0\n",
    )
    for _ in range(2):
        assert forks.run("test_d.py::test", options=("--lf",)).trial.outcome == "failed"
    assert forks.seen() == ["{}", "{}"]


REPLAYED = """
from hypothesis import given, settings, strategies as st, HealthCheck
from seeing import see
drawn = []
@settings(max_examples=300)
@given(st.integers(0, 10**9))
def test(n):
    if not drawn:
        see(n)
    drawn.append(n)
    assert n < 1000
"""


def test_an_example_that_hypothesis_found_is_not_replayed(forks: Any):
    """hypothesis begins with the simplest example unless its database has one that failed."""
    forks.env = "py3.11-plugins"
    forks.write("test_d.py", REPLAYED)
    for _ in range(3):
        assert forks.run("test_d.py::test").trial.outcome == "failed"
        assert not list(forks.server.scratch.cache.rglob("examples/*"))
    assert "1000" not in forks.seen()


@pytest.mark.parametrize(
    "code",
    [
        "import tempfile\nkept = tempfile.mkdtemp(prefix='left')\n",
        "import os\nopen(os.environ['TMPDIR'] + '/left', 'w').close()\n",
    ],
)
def test_what_collection_leaves_every_trial_would_have(forks: Any, code: str):
    forks.write("test_d.py", code + "def test(): pass\n")
    reason = forks.refusal("test_d.py::test")
    assert "collection left `left" in reason
    assert "in the folder for temporary files" in reason


def test_a_base_folder_that_collection_made(forks: Any):
    forks.write(
        "conftest.py", "def pytest_collection_finish(session):\n    session.config._tmp_path_factory.getbasetemp()\n"
    )
    forks.write("test_d.py", "def test(): pass\n")
    assert "collection made pytest's base temporary folder" in forks.refusal("test_d.py::test")


def test_what_cannot_be_removed_ends_the_server(forks: Any, monkeypatch: pytest.MonkeyPatch):
    forks.write("test_d.py", "import os, tempfile\ndef test(): os.mkdir(tempfile.gettempdir() + '/left')\n")
    with monkeypatch.context() as patched:
        patched.setattr("triage.runner.snapshot.remove", lambda _: None)
        assert forks.run("test_d.py::test").trial.outcome == "passed"
    assert forks.pool._servers == {}
    assert forks.run("test_d.py::test").trial.outcome == "passed"


def test_where_no_server_can_be_started(forks: Any, folder: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: Any) -> None:
        raise PermissionError(1, "no pipes here")

    forks.write("test_d.py", "def test(): pass\n")
    monkeypatch.setattr("triage.runner.fork_server.os.mkfifo", fail)
    assert forks.refusal("test_d.py::test") == "no server could be started: no pipes here"
    assert list((folder / "tmp").iterdir()) == []
