"""Everything once, compactly, on every other pair of Python and pytest."""

from __future__ import annotations

import json

PASSED = [("setup", "passed"), ("call", "passed"), ("teardown", "passed")]
FAILED = [("setup", "passed"), ("call", "failed"), ("teardown", "passed")]

TESTS = """\
import asyncio, json, os, socket, subprocess, sys, threading, time, unittest
from unittest import mock
import pytest

@pytest.fixture
def broken(): raise OSError("setup")
@pytest.fixture
def untidy():
    yield
    raise OSError("teardown")
class OddError(Exception):
    def __str__(self): raise RuntimeError("no")
    __repr__ = __str__

def test_pass(): pass
def test_fail():
    try:
        json.loads("{")
    except ValueError as error:
        raise KeyError("second") from error
def test_odd(): raise OddError
def test_surrogate(): raise ValueError(chr(0xD800) + chr(0) + "\\u00fc")
def test_exit(): sys.exit(3)
def test_setup(broken): pass
def test_teardown(untidy): pass
@pytest.mark.skip(reason="not here")
def test_skip(): pass
@pytest.mark.xfail(reason="known")
def test_xfail(): assert 0
@pytest.mark.xfail(reason="strictly", strict=True)
def test_xpass(): pass
@pytest.mark.parametrize("word", ["a b[c]"])
def test_param(word): pass
class TestUnit(unittest.TestCase):
    def test_unit(self): self.assertEqual(1, 1)
    def test_unit_fail(self): self.assertEqual(1, 2)
@pytest.mark.parametrize(
    "name", ["time.time", "time.perf_counter", "os.getpid", "os.write", "builtins.open", "json.dumps"]
)
def test_mock(monkeypatch, name): monkeypatch.setattr(name, mock.Mock(side_effect=RuntimeError))
def test_facts(tmp_path):
    thread = threading.Thread(target=int); thread.start(); thread.join()
    time.sleep(0)
    subprocess.run([sys.executable, "-c", ""], check=True)
    if os.fork() == 0: os._exit(0)
    os.wait()
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0)); server.listen()
        with socket.create_connection(server.getsockname()): pass
def test_environment():
    assert not [name for name in os.environ if name.startswith("TRIAGE") or name in ("PYTHONPATH", "PYTEST_PLUGINS")]
    assert not [path for path in sys.path if path.endswith(("/outside/probe", "/.triage/plugins"))]
def test_fork():
    if os.fork() == 0: assert 0, "in the child"
    os.wait()
"""


def test_the_recorder(other_project):
    other_project.write("test_a.py", TESTS)
    result = other_project.run("-s", "--tb=short", plan={"collect": True, "facts": True}).complete()
    assert [event["index"] for event in result.of("start")] == [1] * 22
    assert len(result.of("finish")) == len(result.of("facts")) == 22
    special = {
        "test_setup": [("setup", "failed"), ("teardown", "passed")],
        "test_teardown": [("setup", "passed"), ("call", "passed"), ("teardown", "failed")],
        "test_skip": [("setup", "skipped"), ("teardown", "passed")],
        "test_xfail": [("setup", "passed"), ("call", "skipped"), ("teardown", "passed")],
    }
    failing = ("test_fail", "test_odd", "test_surrogate", "test_exit", "test_xpass", "test_unit_fail")
    for name in result.started():
        short = name.rpartition("::")[2]
        assert result.phases(short) == special.get(short, FAILED if short in failing else PASSED), short
    failure = result.failure("test_fail")
    assert (failure["exception"], failure["message"]) == ("KeyError", "'second'")
    assert failure["source"] == 'raise KeyError("second") from error'
    assert result.failure("test_odd")["message"] == "<no message: __str__ raised RuntimeError>"
    assert result.failure("test_surrogate")["message"] == "\\ud800\0\u00fc"
    assert result.failure("test_exit")["exception"] == "SystemExit"
    assert result.failure("test_unit_fail")["source"].endswith("self.assertEqual(1, 2)")
    (facts,) = [event for event in result.of("facts") if event["id"].endswith("::test_facts")]
    counts = {name: facts[name] for name in ("threads", "processes", "forks", "sleeps")}
    assert counts == {"threads": 1, "processes": 1, "forks": 1, "sleeps": 1}
    assert len(facts["connects"]) == 1
    assert facts["binds"] == ["127.0.0.1:0"]
    items = result.one("collected")["items"]
    assert items[0] == {"id": "test_a.py::test_pass", "file": "test_a.py", "line": 15, "marks": []}
    assert dict(result.one("packages")["packages"])["pytest"] == result.one("hello")["pytest"]
    assert not (other_project.folder / ".pytest_cache").exists()


def test_crashes_in_a_test_and_at_exit(other_project):
    crash = "import ctypes; ctypes.string_at(0)"
    other_project.write("test_a.py", f"def test_crash():\n    {crash}\n")
    result = other_project.run()
    assert (result.status, result.started(), result.of("finish")) == (-11, ["test_crash"], [])
    assert "in test_crash" in result.crash
    other_project.write(
        "test_a.py", f"import atexit\ndef bye():\n    {crash}\natexit.register(bye)\ndef test_it(): pass\n"
    )
    result = other_project.run()
    assert (result.status, result.events[-1]["e"]) == (-11, "end")
    assert "in bye" in result.crash


LEVELS = '''\
import pathlib, random, unittest
import pytest
drawn = random.random()
log = []
@pytest.fixture(scope="module", autouse=True)
def module():
    log.append("+module"); yield; log.append("-module"); print("LOG", *log)
@pytest.fixture
def own():
    log.append("+own"); yield; log.append("-own")
class TestIt:
    def test_it(self, own):
        assert not hasattr(self, "mark")
        self.mark = 1
        assert (drawn, random.random()) == (random.Random(7).random(),) * 2
        assert random.random() != drawn
    def test_not_selected(self): pass
class TestUnit(unittest.TestCase):
    def test_unit(self):
        assert not hasattr(self, "mark")
        self.mark = 1
def test_stops(own):
    log.append("stops")
    assert log.count("stops") < 2
def documented():
    """
    >>> documented()
    1
    """
    return 1
'''


def test_all_levels(other_project):
    other_project.write("pytest.ini", "[pytest]\nfilterwarnings = error\naddopts = --doctest-modules\n")
    other_project.write("test_a.py", LEVELS)
    other_project.write("test_b.py", "def test_last(): pass\n")
    names = ["test_stops", "TestUnit::test_unit", "TestIt::test_it", "test_a.documented"]
    ids = [*(f"test_a.py::{name}" for name in names), "test_b.py::test_last"]
    other_project.write("ids.json", json.dumps(ids))
    result = other_project.run("-s", levels="rng_seed=7 order=ids.json repeat=3 without=cacheprovider").complete()
    expected = ["test_stops"] * 2 + [name for name in names[1:] for _ in range(3)] + ["test_last"] * 3
    assert result.started() == expected
    assert "1 failed, 13 passed, 1 deselected" in result.stdout
    own = "+own stops -own " * 2 + "+own -own " * 3
    assert f"LOG +module {own}-module\n" in result.stdout
    failed = [event["id"] for event in result.of("phase") if event["failure"]]
    assert failed == ["test_a.py::test_stops"]


def test_a_usage_error(other_project):
    other_project.write("test_a.py", "def test_it(): pass\n")
    result = other_project.run(levels="colour=red")
    assert result.status == 4
    assert "ERROR: TRIAGE_LEVELS: unknown level `colour=red`" in result.stderr
