"""Every fixture has a complete truth, in the vocabulary of the design, about a project that is really there."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

FIXTURES = Path(__file__).parents[2] / "fixtures"
CASES = sorted(path.parent.name for path in FIXTURES.glob("*/pyproject.toml"))

CAUSES = {
    "real_bug": {"race", "crash", "deadlock", "state_leak", "resource_leak", "nondeterminism", "time_bug", "input_bug"},
    "wrong_test": {
        *("async_wait", "order_assumption", "tolerance", "unseeded_random", "clock", "time_limit", "isolation"),
        *("missing_setup", "shared_resource", "network", "deadline", "race", "crash", "deadlock", "resource_leak"),
    },
    "environment": {"missing_dependency", "out_of_memory", "disk", "unreachable_service"},
    "stable_pass": {"none"},
    "stable_fail": {"none"},
}
FACTORS = {
    *("repeat", "order", "hash_seed", "rng_seed", "workers", "python", "schedule", "cpu_load", "clock"),
    *("clock_resolution", "timezone", "locale", "network", "fs_order", "gc", "allocator", "memory"),
}
ROLES = {"product", "test", "dependency", "interpreter", "native", "environment"}

ALWAYS = {"target", "verdict", "cause", "decided", "budget", "pythons", "scope", "polluters", "why", "fix", "natural"}
FAULT = {"culprit", "fixed", "repair"}  # where something is wrong
FLAKY = {"trigger", "triggered"}  # where it does not always show
OPTIONAL = {"env", "state", "elsewhere"}
ARM = {"arm", "python", "failed", "trials"}
ARM_OPTIONAL = {"args", "env", "rng_seed", "delay_at", "delay"}

TELLING = re.compile(
    r"\b(triage|flak[ey]\w*|race\w*|pollut\w*|leak\w*|bugs?|buggy|wrong|fixme|todo|xxx)\b", re.IGNORECASE
)
COUNTS = {"natural": 100, "triggered": 20, "fixed": 60, "elsewhere": 20}  # trials on record, at least


def truth_of(case: str) -> dict[str, Any]:
    return tomllib.loads((FIXTURES / case / "truth.toml").read_text(encoding="utf-8"))


def arms_of(truth: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    single = [(name, truth[name]) for name in ("natural", "triggered", "fixed") if name in truth]
    return single + [("elsewhere", arm) for arm in truth.get("elsewhere", [])]


def stable(truth: dict[str, Any]) -> bool:
    return truth["verdict"] in {"stable_pass", "stable_fail"}


def lines_of(case: str, file: str) -> list[str]:
    return (FIXTURES / case / file).read_text(encoding="utf-8").splitlines()


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> str:
    return request.param


def test_the_cases_are_there():
    wanted = {"sampler", "write_behind", "segfault", "hash_order", "hash_contract", "unseeded", "pollution"}
    assert wanted | {"stable", "always", "flaky_marked"} <= set(CASES)


def test_truth_has_all_keys_and_no_others(case: str):
    truth = truth_of(case)
    wanted = set(ALWAYS)
    if truth["verdict"] != "stable_pass":
        wanted |= FAULT
    if not stable(truth):
        wanted |= FLAKY
    assert wanted <= set(truth) <= wanted | OPTIONAL
    for _, arm in arms_of(truth):
        assert ARM <= set(arm) <= ARM | ARM_OPTIONAL


def test_truth_speaks_the_vocabulary(case: str):
    truth = truth_of(case)
    assert truth["cause"] in CAUSES[truth["verdict"]]
    assert truth["decided"] == (stable(truth) or truth["cause"] == "crash")
    assert re.fullmatch(r"[1-9]\d*[sm]", truth["budget"])
    assert truth["pythons"]
    assert all(re.fullmatch(r"3\.\d+", version) for version in truth["pythons"])
    assert (FIXTURES / case / truth["scope"]).is_dir()
    assert truth["why"].strip()
    assert truth["fix"].strip()
    if "trigger" in truth:
        assert set(truth["trigger"]) == {"factor", "level"}
        assert truth["trigger"]["factor"] in FACTORS
        re.compile(truth["trigger"]["level"])


def test_figures_are_measured_and_agree_with_the_verdict(case: str):
    truth = truth_of(case)
    for name, arm in arms_of(truth):
        assert COUNTS[name] <= arm["trials"]
        assert 0 <= arm["failed"] <= arm["trials"]
    natural = truth["natural"]
    if truth["verdict"] == "stable_pass":
        assert natural["failed"] == 0
    elif truth["verdict"] == "stable_fail":
        assert natural["failed"] == natural["trials"]
    else:
        assert natural["failed"] < natural["trials"]
        triggered = truth["triggered"]
        assert triggered["failed"] > 0
        assert triggered["failed"] * natural["trials"] >= natural["failed"] * triggered["trials"]
    if "fixed" in truth:
        assert truth["fixed"]["failed"] == 0


def test_culprit_lines_exist_and_are_not_blank(case: str):
    truth = truth_of(case)
    if truth["verdict"] == "stable_pass":
        assert "culprit" not in truth
        return
    culprit = truth["culprit"]
    assert set(culprit) == {"role", "file", "lines"}
    assert culprit["role"] in ROLES
    assert (culprit["role"] == "test") == culprit["file"].startswith("tests/")
    assert (culprit["role"] == "test") == (truth["verdict"] == "wrong_test")
    lines = lines_of(case, culprit["file"])
    assert culprit["lines"]
    assert all(lines[number - 1].strip() for number in culprit["lines"])


def test_repairs_fit_one_place_each(case: str):
    for repair in truth_of(case).get("repair", []):
        text = (FIXTURES / case / repair["file"]).read_text(encoding="utf-8")
        assert text.count(repair["old"]) == 1
        assert repair["old"] != repair["new"]


def test_delays_fall_on_lines_of_code(case: str):
    for name, arm in arms_of(truth_of(case)):
        if "delay_at" in arm and name != "fixed":  # there the lines are those of the repaired copy
            file, _, number = arm["delay_at"].rpartition(":")
            assert lines_of(case, file)[int(number) - 1].strip()
            assert arm["delay"] > 0


def test_target_and_polluters_are_collected(case: str, tmp_path: Path):
    truth = truth_of(case)
    project = tmp_path / "project"
    shutil.copytree(FIXTURES / case, project, ignore=shutil.ignore_patterns("truth.toml", "__pycache__", ".*"))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    if "--reruns" not in (project / "pyproject.toml").read_text(encoding="utf-8"):
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # loading them takes longer than collecting
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q"],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    collected = [line for line in run.stdout.splitlines() if "::" in line]
    assert {truth["target"], *truth["polluters"]} <= set(collected)
    assert len(collected) >= (9 if truth["polluters"] else 5)


def test_nothing_in_the_project_gives_the_answer_away(case: str):
    folder = FIXTURES / case
    files = [path for path in folder.rglob("*.py") if not path.relative_to(folder).parts[0].startswith(".")]
    assert files
    for path in files:
        text = path.read_text(encoding="utf-8").replace("@pytest.mark.flaky(", "@pytest.mark.(")
        assert not TELLING.search(text), path.name
