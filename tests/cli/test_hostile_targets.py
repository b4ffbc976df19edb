"""Tests that do what they like with their process, ids of any shape, configurations of any kind: right verdicts, nothing left."""

import uuid

import pytest
from conftest import PLUGINS, ROOT
from hostile_processes import MARK, left_after

ASYNC = ROOT / ".envs" / "py3.11-async"
ONCE = ("--format", "json", "--trials", "1")
"""The first look: what becomes of it is what is asked here."""


def counts(verdict):
    """Failures and trials of all arms."""
    return sum(rate["failed"] for rate in verdict["rates"]), sum(rate["trials"] for rate in verdict["rates"])


def files(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if ".triage" not in path.parts}


BEHAVIOUR = r"""
import os, signal, subprocess, sys, time

def daemon():
    if os.fork() == 0:
        os.setsid()
        if os.fork():
            os._exit(0)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.execv("/bin/sleep", ["sleep", "600"])
    os.wait()

def test_replaces_what_it_can(tmp_path, capfd):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD, signal.SIGXFSZ):
        signal.signal(number, lambda *_: None)
    daemon()
    subprocess.Popen([sys.executable, "-c", "import os; os.fork(); os.execv('/bin/sleep', ['sleep', '600'])"]).returncode = 0
    os.chdir(tmp_path)
    os.umask(0o777)
    sys.stdout = sys.__stdout__ = sys.stderr = None
    time.time = time.monotonic = time.perf_counter = os.fork = None

def test_closes_its_output():
    os.close(1)
    os.close(2)

def test_prints_much():
    block = b"x" * (1 << 20)
    for _ in range(200):
        os.write(sys.__stdout__.fileno(), block)
        os.write(1, b"y")

def test_replaces_and_fails(monkeypatch):
    sys.stdout = None
    time.time = lambda: 0
    os.chdir("/")
    assert 1 == 2

def test_leaves():
    daemon()
    os._exit(0)
"""
EXPECTED = {
    "test_replaces_what_it_can": 0,
    "test_closes_its_output": 0,
    "test_prints_much": 0,
    "test_replaces_and_fails": 1,
    "test_leaves": 1,
}


def test_targets_that_do_what_they_like(project):
    """In fresh processes; forked trials have the same in `integration/runner`."""
    mark = uuid.uuid4().hex
    project.write(test_a=BEHAVIOUR)
    before = files(project.path)
    result = project.triage("run", "test_a.py", *ONCE, env={MARK: mark})
    assert (result.status, result.err) == (0, "")
    seen = {verdict["target"].partition("::")[2]: counts(verdict) for verdict in result.verdicts}
    assert {name: failed / trials for name, (failed, trials) in seen.items()} == EXPECTED
    leaves = next(verdict for verdict in result.verdicts if verdict["target"].endswith("leaves"))
    assert "ends the process (exit status 0)" in leaves["summary"]
    assert left_after(mark) == {}
    assert files(project.path) == before


SHAPES = """
import unittest
import pytest

@pytest.mark.parametrize("value", {values!r})
def test_one(value):
    assert "::" not in value

class TestIt(unittest.TestCase):
    def test_unit(self):
        self.assertEqual(1, 1)

def documented():
    '''
    >>> 1 + 1
    3
    '''

async def test_coroutine():
    pass
"""
VALUES = ("a b [c] d/e f::g", "ü\n\r\x1b[31m\u202e", "k" * 300, "'\"; $(touch x)")
IDS = ("a b [c] d/e f::g", r"\xfc\n\r\x1b[31m\u202e", "value2", "'\"; $(touch x)")
"""As pytest writes them: what is too long has a number."""


def test_ids_of_any_shape_and_items_of_any_kind(project):
    folder = project.path / "a b"
    folder.mkdir()
    (folder / "test_ü.py").write_text(SHAPES.format(values=VALUES), encoding="utf-8")
    failing = {f"test_one[{IDS[0]}]": True, **{f"test_one[{name}]": False for name in IDS[1:]}}
    failing |= {"TestIt::test_unit": False, "test_ü.documented": True, "test_coroutine": True}
    named = [f"a b/test_ü.py::{name}" for name in failing]
    result = project.triage("run", *named, *ONCE, "--", "--doctest-modules")
    assert (result.status, result.err) == (0, "")
    assert {verdict["target"]: bool(counts(verdict)[0]) for verdict in result.verdicts} == dict(
        zip(named, failing.values(), strict=True)
    )
    listed = project.triage("history").out
    assert "\x1b" not in listed
    assert len(listed.splitlines()) == len(named) + 1
    assert "async def functions are not natively supported" in project.triage("show", "latest").out
    assert {path.name for path in project.path.iterdir()} == {"a b", "pytest.ini", ".triage"}


def test_coroutines_with_plugins(project):
    if not (ASYNC / "bin" / "python").exists():
        pytest.skip(f"no environment {ASYNC.name}: `make envs` makes it")
    text = (
        "import asyncio\nimport anyio\nimport pytest\n\n\n@pytest.mark.asyncio\nasync def test_asyncio():\n"
        "    await asyncio.sleep(0)\n\n\n@pytest.mark.anyio\nasync def test_anyio(anyio_backend_name):\n"
        "    await anyio.sleep(0)\n    assert anyio_backend_name == 'trio'\n\n\n"
        "@pytest.fixture\ndef anyio_backend():\n    return 'asyncio'\n"
    )
    result = project.write(test_a=text).triage("run", "test_a.py", *ONCE, env={"VIRTUAL_ENV": str(ASYNC)})
    assert result.status == 0, result.err
    assert [bool(counts(verdict)[0]) for verdict in result.verdicts] == [False, True]
    assert "AssertionError" in result.verdicts[1]["summary"]


EVERYTHING = """
[pytest]
addopts = -n auto --dist loadfile --reruns 2 -x --cov=. --cov-report=xml -p randomly --strict-markers --strict-config
    --junitxml=report.xml --basetemp=base
xfail_strict = true
filterwarnings = error
log_file = run.log
"""


def test_a_configuration_with_everything(project):
    (project.path / "pytest.ini").write_text(EVERYTHING)
    text = (
        "import logging\nimport warnings\nimport pytest\n\n\ndef test_passes(tmp_path):\n    logging.warning('x')\n\n\n"
        "def test_warns():\n    warnings.warn('old')\n\n\n@pytest.mark.xfail\ndef test_unexpected():\n    pass\n"
    )
    before = files(project.write(test_a=text).path)
    result = project.triage("run", "test_a.py", *ONCE, "--skip", "workers", env={"VIRTUAL_ENV": str(PLUGINS)})
    assert (result.status, result.err) == (0, "")
    assert [bool(counts(verdict)[0]) for verdict in result.verdicts] == [False, True, True]
    taken = {said.partition(":")[0] for said in result.verdicts[0]["takeovers"]}
    assert taken >= {"pytest-xdist", "pytest-rerunfailures", "pytest-cov", "pytest-randomly", "-x, --maxfail"}
    assert taken >= {"--junitxml", "--basetemp", "log_file"}
    assert files(project.path) == before, "what the user's own runs write is not touched"


def test_what_a_strict_configuration_refuses(project):
    (project.path / "pytest.ini").write_text("[pytest]\naddopts = --strict-config\nno_such = 1\n")
    result = project.write(test_a="def test_one():\n    pass\n").triage("run", "test_a.py")
    assert result.status == 3
    assert "Unknown config option: no_such" in result.err.splitlines()[0]
    assert len(result.err.splitlines()) == 2, result.err
