"""`without`: plugins without effect, whose marks and options stay known; also beside xdist, with workers and without."""

from __future__ import annotations

import pytest

FLAKY = """\
import pytest
counter = []
@pytest.mark.flaky(reruns=3)
def test_marked():
    counter.append(1)
    assert len(counter) == 2
"""
WITHOUT = "without=rerunfailures,randomly"
OPTIONS = "[pytest]\nfilterwarnings = error\naddopts = --strict-markers --reruns 3\n"
THREADS = """\
import threading
from pathlib import Path
def test_threads():
    names = [thread.name for thread in threading.enumerate()]
    assert len(names) == 1, names
    assert len(list(Path("/proc/self/task").iterdir())) == 1
"""


def test_one_thread_is_left_in_the_process(plugin_project):
    """Otherwise it starts a server for xdist's workers, and a process with threads cannot be forked."""
    plugin_project.write("pytest.ini", OPTIONS)
    plugin_project.write("test_a.py", THREADS)
    args = ("-p", "no:randomly")  # it imports numpy, which has a thread of its own
    result = plugin_project.run(*args, levels="without=rerunfailures").complete()
    assert result.status == 0, result.stdout
    assert plugin_project.run(*args, "--reruns", "0").complete().status == 1, "this is what it is for"


def test_marks_and_options_stay_known_and_have_no_effect(plugin_project):
    plugin_project.write("pytest.ini", OPTIONS)
    plugin_project.write("test_a.py", FLAKY)
    result = plugin_project.run("--reruns-delay", "0", levels=WITHOUT).complete()
    assert result.status == 1
    assert result.phases("test_marked") == [("setup", "passed"), ("call", "failed"), ("teardown", "passed")]
    assert "@pytest.mark.flaky(reruns=1" in plugin_project.run("--markers", levels=WITHOUT).stdout


@pytest.mark.parametrize("workers", [("-n", "2"), ("--dist", "load", "--tx", "2*popen")], ids=["n", "tx"])
def test_with_workers_nothing_is_hidden_and_nothing_is_rerun(plugin_project, workers):
    plugin_project.write("pytest.ini", OPTIONS)
    plugin_project.write("test_a.py", FLAKY)
    plugin_project.write("test_b.py", "".join(f"def test_{number}(): pass\n" for number in range(6)))
    result = plugin_project.run(*workers, levels=WITHOUT).complete()
    assert result.status == 1, result.stdout
    assert "1 failed, 6 passed in" in result.stdout
    assert "rerun" not in result.stdout.splitlines()[-1]
    assert result.phases("test_marked") == [("setup", "passed"), ("call", "failed"), ("teardown", "passed")]
    without_levels = plugin_project.run(*workers, "-p", "no:randomly").complete()
    assert without_levels.status == 0
    assert "7 passed, 1 rerun in" in without_levels.stdout


def test_others_see_xdist_again_once_everything_is_configured(plugin_project):
    plugin_project.write(
        "conftest.py",
        """\
        def pytest_sessionstart(session):
            print("XDIST", session.config.pluginmanager.hasplugin("xdist"))
            print("RERUNFAILURES", session.config.pluginmanager.hasplugin("rerunfailures"))
        """,
    )
    plugin_project.write("test_a.py", "def test_it(): pass\n")
    result = plugin_project.run("-s", levels=WITHOUT).complete()
    assert "XDIST True" in result.stdout
    assert "RERUNFAILURES False" in result.stdout


def test_a_project_without_xdist_is_as_before(plugin_project):
    plugin_project.write("pytest.ini", OPTIONS)
    plugin_project.write("test_a.py", FLAKY)
    result = plugin_project.run("-p", "no:xdist", levels=WITHOUT).complete()
    assert result.phases("test_marked")[1] == ("call", "failed")


@pytest.mark.parametrize("name", ["rerunfailures", "pytest-rerunfailures", "pytest_rerunfailures"])
def test_without_rerunfailures_marks_and_options_have_no_effect(plugin_project, name):
    plugin_project.write("pytest.ini", "[pytest]\nfilterwarnings = error\naddopts = --strict-markers --reruns 3\n")
    plugin_project.write("test_a.py", FLAKY)
    args = ("-p", "no:randomly")
    assert plugin_project.run(*args).complete().status == 0
    result = plugin_project.run(*args, levels=f"without={name},no-such-plugin").complete()
    assert result.status == 1
    assert result.phases("test_marked") == [("setup", "passed"), ("call", "failed"), ("teardown", "passed")]
    assert "1 failed in" in result.stdout


def test_without_randomly_the_order_is_pytests_own(plugin_project):
    plugin_project.write("test_a.py", "".join(f"def test_{number}(): pass\n" for number in range(10, 40)))
    own = [f"test_{number}" for number in range(10, 40)]
    args = ("--randomly-seed=1",)
    assert plugin_project.run(*args).complete().started() != own
    assert plugin_project.run(*args, levels="without=randomly").complete().started() == own


def test_levels_reach_xdists_workers(plugin_project):
    plugin_project.write("pytest.ini", "[pytest]\naddopts = --reruns 3\n")
    plugin_project.write("test_a.py", FLAKY)
    plugin_project.write(
        "test_b.py",
        """\
        import os, random, sys
        drawn = random.random()
        def test_draws():
            assert drawn == random.Random(7).random()
            assert "TRIAGE_LEVELS" not in os.environ
            assert not [path for path in sys.path if path.endswith("/.triage/plugins")]
        """,
    )
    result = plugin_project.run("-n", "1", levels="rng_seed=7 without=rerunfailures,randomly").complete()
    assert result.phases("test_marked")[1] == ("call", "failed")
    assert result.phases("test_draws")[1] == ("call", "passed"), result.stdout
