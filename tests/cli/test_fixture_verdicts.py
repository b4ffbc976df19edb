"""Fixtures from the outside: the trigger is named and confirmed, and nobody is blamed on statistics alone.

The budget is far more than is needed, so that a slow machine changes the time these take and not their result.
`scripts/triage_fixtures.py` runs all fixtures with their own budgets.
"""

import shlex
import shutil
import subprocess
import tomllib

import pytest
from conftest import ROOT, environment

PATIENT = ("--format", "json", "--budget", "1200s")


@pytest.fixture
def fixture(project):
    def prepare(name):
        case = ROOT / "fixtures" / name
        shutil.copytree(case, project.path, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".triage", "truth.toml"))
        (project.path / "pytest.ini").unlink()
        return tomllib.loads((case / "truth.toml").read_text())

    return prepare


def failures(project, reproduction, runs):
    """Run a printed command as a user would paste it, and count."""
    statuses = [
        subprocess.run(
            reproduction["command"], shell=True, cwd=project.path, env=environment(), capture_output=True, check=False
        ).returncode
        for _ in range(runs)
    ]
    assert set(statuses) <= {0, 1}
    return sum(statuses)


def check_confirmed(project, verdict, factor):
    assert verdict["trigger"]["factor"] == factor
    assert verdict["verdict"] == "undetermined", "a trigger alone does not tell who is wrong"
    assert verdict["strength"] == "supported"
    assert len(verdict["hypotheses"]) == 2
    assert verdict["reproduction"]["failed"] == verdict["reproduction"]["trials"] >= 20
    assert verdict["counterfactual"]["failed"] == 0
    assert failures(project, verdict["reproduction"], 3) == 3
    assert failures(project, verdict["counterfactual"], 3) == 0


def test_order_pollution_names_the_polluter(project, fixture):
    truth = fixture("pollution")
    verdict = project.triage("run", truth["target"], *PATIENT, timeout=1300).verdict
    check_confirmed(project, verdict, "order")
    assert verdict["polluters"] == truth["polluters"]
    assert shlex.split(verdict["reproduction"]["command"])[-2:] == [*truth["polluters"], truth["target"]]


@pytest.mark.slow
def test_hash_order_names_the_seed(project, fixture):
    truth = fixture("hash_order")
    verdict = project.triage("run", truth["target"], *PATIENT, "--seed", "1", timeout=1300).verdict
    check_confirmed(project, verdict, "hash_seed")
    assert f"PYTHONHASHSEED={verdict['trigger']['level']}" in verdict["reproduction"]["command"]


@pytest.mark.slow
def test_unseeded_randomness_names_the_seed(project, fixture):
    truth = fixture("unseeded")
    verdict = project.triage("run", truth["target"], *PATIENT, "--seed", "1", timeout=1300).verdict
    check_confirmed(project, verdict, "rng_seed")
    assert f"TRIAGE_LEVELS=rng_seed={verdict['trigger']['level']}" in verdict["reproduction"]["command"]
