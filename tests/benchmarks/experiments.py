"""Real experiments whose truth is known: `.venv/bin/python tests/benchmarks/experiments.py` writes `reports/experiments.*`.

    --null N       so many experiments of a coin that fails in 30% of executions, all factors varied, also the interpreter
    --power N      so many for each of the rates 1, 2, 7 and 30%, in 30 s each, beside simulated ones
    --control N    so many of a test that the hash seed decides: were nothing ever blamed, the null would mean nothing
    --jobs N       experiments side by side (2)

What is asked for 0 times is taken over from the report before.

The coin draws from the operating system, which no factor reaches. Predicted before it is run: of the coin's experiments about
1% blame a factor (the simulation's figure), at most 3 of 100; all of the control's blame `hash_seed`; the 2% flake is declared
flaky in each experiment.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from simulation import constant, simulate

from triage.model.arm import Depth
from triage.stats.intervals import clopper_pearson
from triage.store.history import History

OWN, OTHER = "py3.11-pytest9", "py3.12-pytest9"
NULL_BUDGET, POWER_BUDGET = 60, 30
"""Seconds."""
NULL_RATE, RATES = 0.3, (0.01, 0.02, 0.07, 0.3)
SIMULATED = 60
PREPARING = 4.0
"""Seconds of the budget that a simulated experiment is without: collection and controls."""
COIN = """\
import secrets

import pytest


def test_before():
    assert sorted([2, 1]) == [1, 2]


@pytest.mark.parametrize("number", range({count}))
def test_coin(number):
    assert secrets.randbelow(10_000) >= {rate} * 10_000


def test_after():
    assert "ab".upper() == "AB"
"""
HASHED = """\
import pytest


@pytest.mark.parametrize("number", range({count}))
def test_hashed(number):
    assert hash(f"coin {{number}}") % 10 >= 3


def test_after():
    assert "ab".upper() == "AB"
"""
Row = dict[str, Any]


def write(folder: Path, source: str) -> None:
    """Make a project with the lean environment as its own."""
    folder.joinpath("tests").mkdir(parents=True)
    folder.joinpath("tests", "test_it.py").write_text(source)
    folder.joinpath(".venv").symlink_to(ROOT / ".envs" / OWN)


def run(folder: Path, ids: Iterable[str], budget: int, *options: str) -> list[Row]:
    """Run `triage run` and return a row for each experiment; raises CalledProcessError with a status that is none of success."""
    command = [sys.executable, "-m", "triage", "run", *ids, "--budget", f"{budget}s", "--format", "json", *options]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop("VIRTUAL_ENV", None)
    done = subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    with History(folder / ".triage" / "history.db") as history:
        return [row(json.loads(line), history) for line in done.stdout.splitlines()]


def row(report: Row, history: History) -> Row:
    """Return what of an experiment is counted."""
    _, trials = history.load(report["experiment"])
    counting = [trial for trial in trials if trial.is_evidence]
    first, passed, failed = None, False, False
    for number, trial in enumerate(counting, 1):
        failed, passed = failed or trial.is_failure, passed or not trial.is_failure
        if failed and passed:
            first = number, trial.started + trial.wall_seconds - counting[0].started
            break
    forked = next((rate for rate in report["rates"] if rate["arm"] == "baseline (forked)"), None)
    claims = [
        evidence["data"] for one in report["findings"] for evidence in one["evidence"] if evidence["kind"] == "claim"
    ]
    return {
        "target": report["target"],
        "verdict": report["verdict"],
        "summary": report["summary"],
        "blamed": sorted({one["trigger"]["factor"] for one in report["findings"] if one["trigger"]}),
        "claims": [claim["factor"] for claim in claims],
        "trials": len(trials),
        "forked": sum(trial.arm.depth is Depth.FORKED for trial in trials),
        "cold_failures": sum(trial.is_failure for trial in counting if trial.arm.depth is Depth.COLD),
        "seconds": report["wall_seconds"],
        "flaky_after": first and {"trials": first[0], "seconds": round(first[1], 3)},
        "baseline_forked": forked,
    }


def batches(ids: list[str], jobs: int) -> list[list[str]]:
    return [batch for number in range(jobs) if (batch := ids[number::jobs])]


def experiments(source: str, test: str, count: int, budget: int, jobs: int, *options: str) -> list[Row]:
    """Run `count` experiments, `jobs` side by side, each job in a project of its own."""
    ids = [f"tests/test_it.py::{test}[{number}]" for number in range(count)]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(jobs) as pool:
        started = []
        for number, batch in enumerate(batches(ids, jobs)):
            project = Path(folder, str(number))
            write(project, source)
            started.append(pool.submit(run, project, batch, budget, *options))
        return [row for batch in started for row in batch.result()]


def coins(rate: float, count: int, budget: int, jobs: int, *options: str) -> list[Row]:
    return experiments(COIN.format(count=count, rate=rate), "test_coin", count, budget, jobs, *options)


def simulated(rate: float, count: int, *, forking: bool) -> list[int | None]:
    """Return after how many trials each simulated experiment had seen both a pass and a failure; None if it never did."""
    found: list[int | None] = []
    for seed in range(count):
        seen: list[bool] = []
        simulate(
            constant(rate),
            seed,
            POWER_BUDGET - PREPARING,
            forking=forking,
            results=lambda one, seen=seen: seen.append(one.signature is not None),  # type: ignore[misc]
        )
        first = max((seen.index(value) for value in (True, False) if value in seen), default=0)
        found.append(first + 1 if len(set(seen)) == 2 else None)
    return found


def null_section(rows: list[Row], control: list[Row], budget: int) -> list[str]:
    if not rows:
        return []
    wrong = [row for row in rows if row["blamed"]]
    low, high = clopper_pearson(len(wrong), len(rows))
    claims = sum(len(row["claims"]) for row in rows)
    lines = [
        "",
        "## Null",
        "",
        f"{len(rows)} experiments of a coin that fails in {NULL_RATE:.0%} of executions, {budget} s each, every factor varied,",
        f"the interpreter among them: any factor blamed in **{len(wrong)}** ({low:.1%} to {high:.1%}; target: at most 3 of 100)."
        f" {claims} claims went to confirmation.",
        f"Median trials {statistics.median(row['trials'] for row in rows):.0f}, of them forked"
        f" {statistics.median(row['forked'] for row in rows):.0f}; median seconds"
        f" {statistics.median(row['seconds'] for row in rows):.0f}.",
    ]
    if control:
        right = sum(row["blamed"] == ["hash_seed"] for row in control)
        lines += [
            "",
            f"Control: of {len(control)} experiments that the hash seed decides, {right} blame it and nothing else.",
        ]
    return lines


def power_section(power: dict[float, list[Row]], sim: dict[float, dict[str, list[int | None]]]) -> list[str]:
    if not power:
        return []
    lines = [
        "",
        "## Declared flaky",
        "",
        f"A test is declared flaky once it has both passed and failed. Budget {POWER_BUDGET} s, collection and controls included.",
        "",
        "| rate | real | trials | seconds | rate in forked trials, within its interval | seen in a fresh process "
        "| simulated | trials | simulated without forks | trials |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for rate, rows in power.items():
        first = [row["flaky_after"] for row in rows if row["flaky_after"]]
        known = [row["baseline_forked"] for row in rows if row["baseline_forked"]]
        covered = sum(one["low"] <= rate <= one["high"] for one in known)
        middle = statistics.median(one["failed"] / one["trials"] for one in known) if known else float("nan")
        cells = [
            f"{rate:.0%}",
            f"{len(first)} of {len(rows)}",
            median(one["trials"] for one in first),
            median(one["seconds"] for one in first),
            f"{middle:.1%}, {covered} of {len(known)}",
            f"{sum(bool(row['cold_failures']) for row in rows)} of {len(rows)}",
        ]
        for name in ("forking", "cold"):
            found = sim[rate][name]
            cells += [f"{sum(one is not None for one in found)} of {len(found)}", median(filter(None, found))]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def median(values: Iterable[float]) -> str:
    found = list(values)
    return f"{statistics.median(found):.3g}" if found else ""


def main() -> None:
    parser = argparse.ArgumentParser(description="Run experiments whose truth is known.")
    parser.add_argument("--null", type=int, default=100)
    parser.add_argument("--control", type=int, default=4)
    parser.add_argument("--power", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--budget", type=int, default=NULL_BUDGET, help="seconds of each experiment of null and control"
    )
    given = parser.parse_args()
    other = ("--python", str(ROOT / ".envs" / OTHER / "bin" / "python"))
    file = ROOT / "reports" / "experiments.json"
    before = json.loads(file.read_text()) if file.exists() else {}
    budget = given.budget if given.null else before.get("budget", given.budget)
    null = coins(NULL_RATE, given.null, given.budget, given.jobs, *other) if given.null else before.get("null", [])
    hashed = HASHED.format(count=given.control)
    control = before.get("control", [])
    if given.control:
        control = experiments(hashed, "test_hashed", given.control, given.budget, given.jobs)
    power = {rate: coins(rate, given.power, POWER_BUDGET, given.jobs) for rate in RATES} if given.power else {}
    sim = {
        rate: {name: simulated(rate, SIMULATED, forking=name == "forking") for name in ("forking", "cold")}
        for rate in power
    }
    command = " ".join([".venv/bin/python", "tests/benchmarks/experiments.py", *sys.argv[1:]])
    lines = ["# Experiments with known truth", "", "Written by", "", f"    {command}"]
    lines += null_section(null, control, budget) + power_section(power, sim)
    data = {"command": command, "budget": budget, "null": null, "control": control, "power": power, "simulated": sim}
    file.write_text(json.dumps(data, indent=1, default=str) + "\n")
    (ROOT / "reports" / "experiments.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
