"""A probe that cannot write: what its silence would say is not believed, what it did write stands."""

from __future__ import annotations

from typing import Any

import pytest

LIMITS = """
import os, resource, signal
def limit(hard):
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
def test_passes(): limit(resource.RLIM_INFINITY)
def test_fails():
    limit(resource.RLIM_INFINITY)
    assert 1 == 2
def test_unseen(): limit(0)
def test_fails_unseen():
    limit(0)
    assert 1 == 2
def test_leaves():
    limit(resource.RLIM_INFINITY)
    os._exit(0)
def test_crashes():
    limit(0)
    os.kill(os.getpid(), signal.SIGSEGV)
"""
LOST = "the probe could not write all that it saw: the target has limited the size of files"


@pytest.mark.parametrize("kind", ["cold", "run"])
def test_a_target_that_limits_the_size_of_files(forks: Any, kind: str) -> None:
    forks.write("test_l.py", LIMITS)
    trials = {
        name: getattr(forks, kind)(f"test_l.py::test_{name}").trial
        for name in ("passes", "fails", "unseen", "fails_unseen", "leaves", "crashes")
    }
    assert {name: str(trial.outcome) for name, trial in trials.items()} == {
        "passes": "passed",
        "fails": "failed",
        "unseen": "broken",
        "fails_unseen": "broken",
        "leaves": "crashed",
        "crashes": "crashed",
    }
    assert trials["unseen"].reason == LOST
    assert trials["fails"].failure.message == "assert 1 == 2"


def test_the_next_forked_trial_is_not_blamed(forks: Any) -> None:
    forks.write("test_l.py", LIMITS)
    around = ("test_l.py::test_unseen", "test_l.py::test_passes")
    outcomes = [str(forks.run(name, around=around).trial.outcome) for name in (*around, *around)]
    assert outcomes == ["broken", "passed", "broken", "passed"]
