"""Forked trials of every Python and pytest, and under configurations that take parts of pytest away."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from triage.model.outcome import Outcome

CASES = """
import faulthandler, random, threading
from seeing import see
def test_passes(tmp_path): (tmp_path / "x").write_text("")
def test_fails(): assert [1] == [2]
def test_crashes(): faulthandler._sigsegv()
def test_hangs(): threading.Event().wait()
def test_draws(): see(random.random())
"""
ENDS = {"passes": Outcome.PASSED, "fails": Outcome.FAILED, "crashes": Outcome.CRASHED, "hangs": Outcome.HUNG}


def smoke(forks: Any, *, temporary: bool = True) -> None:
    forks.write("test_s.py", CASES)
    ends = [*ENDS.items(), ("passes", Outcome.PASSED), ("draws", Outcome.PASSED), ("draws", Outcome.PASSED)]
    for name, usual in ends:
        limit = 1.0 if name == "hangs" else 60.0
        trial = forks.run(f"test_s.py::test_{name}", around=("test_s.py",), limit=limit).trial
        assert trial.outcome is (usual if temporary or name != "passes" else Outcome.ERROR), trial
        if name in {"crashes", "hangs"}:
            assert f"test_{name}" in [frame.function for frame in trial.failure.frames]
    assert len(set(forks.seen())) == 2
    assert len(forks.pool._servers) == 1


@pytest.mark.parametrize(
    "env",
    [
        "py3.8-pytest7",
        "py3.12-pytest8",
        "py3.13-pytest9",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("py3.9-pytest8", "py3.10-pytest9", "py3.11-pytest7", "py3.12-pytest9")
        ),
    ],
)
def test_versions(forks: Any, env: str):
    forks.env = env
    smoke(forks)


@pytest.mark.parametrize("env", [pytest.param("py3.8-pytest7", marks=pytest.mark.slow), "py3.11-pytest9"])
@pytest.mark.parametrize(
    "options",
    [
        ("-p", "no:capture"),
        ("-s",),
        ("--capture=sys",),
        ("--capture=tee-sys",),
        ("-p", "no:terminal"),
        ("-p", "no:faulthandler"),
        ("-p", "no:tmpdir"),
        ("-p", "no:cacheprovider"),
        ("-p", "no:logging"),
        ("-q", "-x", "--tb=no"),
        ("-o", "xfail_strict=true", "-W", "error"),
    ],
    ids=" ".join,
)
def test_configurations(forks: Any, env: str, options: tuple[str, ...]):
    forks.env = env
    forks.options = options
    smoke(forks, temporary="no:tmpdir" not in options)


ITEMS = """
import unittest
import pytest

class TestThings(unittest.TestCase):
    @classmethod
    def setUpClass(cls): cls.made = []
    def setUp(self): self.made.append(1)
    def test_method(self): self.assertEqual(self.made, [1])
    def test_fails(self): self.assertEqual(self.made, [])
    @unittest.skip("no")
    def test_skips(self): pass

class TestPlain:
    def test_method(self): assert not vars(self)

@pytest.mark.parametrize("word", ["a b", "[x]", "\\u00e9\\U0001f600", "::", "a/b"])
def test_words(word): assert word

async def test_async(): assert 0

@pytest.mark.xfail
def test_passes_all_the_same(): pass

def double(n):
    '''
    >>> double(2)
    4
    '''
    return 2 * n
"""


@pytest.mark.parametrize(
    "env", ["py3.8-pytest7", "py3.11-pytest9", pytest.param("py3.13-pytest9", marks=pytest.mark.slow)]
)
def test_every_kind_of_item_ends_as_in_a_cold_trial(forks: Any, env: str):
    forks.env = env
    forks.options = ("--doctest-modules", "-o", "xfail_strict=true", "-W", "error")
    forks.write("test_i.py", ITEMS)
    collected = forks.cold("test_i.py", options=("--collect-only",), collect=True).wire.collection()
    ids = [item.id for item in collected.items]
    assert len(ids) == 12
    outcomes = set()
    for id_ in ids:
        forked = forks.run(id_, around=("test_i.py",))
        again = forks.run(id_, around=("test_i.py",))
        cold = forks.cold(id_)
        for finished in (forked, again):
            trial = finished.trial
            assert (trial.outcome, trial.sequence, trial.exit_status) == (
                cold.trial.outcome,
                cold.trial.sequence,
                cold.trial.exit_status,
            ), id_
            assert (trial.failure and trial.failure.message) == (cold.trial.failure and cold.trial.failure.message)
        outcomes.add(forked.trial.outcome)
    assert outcomes >= {Outcome.PASSED, Outcome.FAILED, Outcome.SKIPPED}
    assert len(forks.pool._servers) == 1


def test_a_project_in_folders(forks: Any, folder: Path):
    """Fixtures of every scope are set up and torn down within a trial."""
    scopes = ("session", "package", "module", "class")
    fixtures = "".join(
        f"@pytest.fixture(scope='{scope}', autouse=True)\ndef {scope}_():\n    see('+{scope}')\n    yield\n    see('-{scope}')\n"
        for scope in scopes
    )
    forks.write("sub/__init__.py", "")
    forks.write("sub/conftest.py", f"import pytest\nfrom seeing import see\n{fixtures}")
    forks.write("sub/test_p.py", "from seeing import see\ndef test_a(): see('a')\ndef test_b(): see('b')\n")
    forks.write("conftest.py", "")
    for _ in range(2):
        forks.run("sub/test_p.py::test_b", around=("sub",))
        assert forks.seen() == [*(f"+{scope}" for scope in scopes), "b", *(f"-{scope}" for scope in reversed(scopes))]
