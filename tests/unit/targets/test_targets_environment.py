"""The environment that trials inherit."""

from __future__ import annotations

import pytest

from triage.targets.environment import inherited, recorded

OUTER = {
    "PYTEST_CURRENT_TEST": "test_x.py::test_x (call)",
    "PYTEST_VERSION": "9.0",
    "PYTEST_XDIST_WORKER": "gw0",
    "PYTEST_XDIST_WORKER_COUNT": "2",
    "PYTEST_XDIST_TESTRUNUID": "a",
    "COV_CORE_SOURCE": "src",
    "COV_CORE_DATAFILE": ".coverage",
    "TRIAGE_PROBE": "plan.json",
    "TRIAGE_LEVELS": "rng_seed=1",
}
USERS = {"PATH": "/bin", "API_TOKEN": "s3cret", "PYTHONPATH": "src", "PYTEST_XDIST_AUTO_NUM_WORKERS": "3"}


def test_what_an_outer_pytest_added_is_removed() -> None:
    result = inherited({**USERS, **OUTER})
    assert result.variables == USERS
    assert result.takeovers == ()


def test_it_is_a_copy() -> None:
    environ = dict(USERS)
    result = inherited(environ)
    environ["PATH"] = "/changed"
    assert result.variables["PATH"] == "/bin"


@pytest.mark.parametrize("name", ["PYTEST_ADDOPTS", "PYTEST_PLUGINS"])
def test_options_are_kept_and_reported_without_their_value(name: str) -> None:
    result = inherited({name: "--token=s3cret"})
    assert result.variables == {name: "--token=s3cret"}
    assert [takeover.what for takeover in result.takeovers] == [name]
    assert "s3cret" not in result.takeovers[0].why


def test_a_pinned_hash_seed_is_kept_and_reported() -> None:
    result = inherited({"PYTHONHASHSEED": "0"})
    assert (result.variables, result.hash_seed) == ({"PYTHONHASHSEED": "0"}, "0")
    assert [takeover.what for takeover in result.takeovers] == ["PYTHONHASHSEED"]


@pytest.mark.parametrize("value", ["", "random"])
def test_a_random_hash_seed_is_not_pinned(value: str) -> None:
    result = inherited({"PYTHONHASHSEED": value})
    assert (result.hash_seed, result.takeovers) == (None, ())


@pytest.mark.parametrize("name", ["COVERAGE_PROCESS_START", "COVERAGE_PROCESS_CONFIG"])
def test_coverage_of_child_processes_is_switched_off_and_reported(name: str) -> None:
    result = inherited({name: ".coveragerc"})
    assert result.variables == {}
    assert [takeover.what for takeover in result.takeovers] == ["coverage in child processes"]


def test_only_harmless_names_are_recorded() -> None:
    assert recorded({**USERS, "TZ": "UTC", "PYTHONHASHSEED": "1"}) == {"TZ": "UTC", "PYTHONHASHSEED": "1"}


def test_its_repr_shows_no_secret() -> None:
    assert "s3cret" not in repr(inherited(USERS))
    assert "API_TOKEN" not in repr(inherited(USERS))
