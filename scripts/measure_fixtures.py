#!/usr/bin/env python3
"""Measure how often the fixtures' targets fail, in plain pytest processes, one at a time.

`measure_fixtures.py [CASE...] [--runs N] [--arm NAME]... [--python PATH] [--write]` runs every arm that a `truth.toml`
describes (fixtures/README.md) in a copy of the project that has neither the truth nor a telling name, counts by exit
status alone, and prints the figures beside those on record; `--write` puts them on record. It knows nothing of `triage`,
whose answers are judged by these files.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "fixtures"
SETTINGS = {"args", "env", "rng_seed", "delay_at", "delay"}  # of an arm; two with the same are measured once
SINGLE_ARMS = ("natural", "triggered", "fixed")
TIME_LIMIT = 120  # seconds for one run; no fixture takes a tenth of it
FAILED = 1

# What an arm may change inside the process: the generator's seed, and a delay at one line of the project.
LEVELS = """
import json, os, random, sys, threading, time

import pytest

ARM = json.loads(os.environ.pop("FIXTURE_ARM"))


def pytest_runtest_setup(item):
    if ARM["rng_seed"] is not None:
        random.seed(ARM["rng_seed"])


def at_line(frame, event, arg):
    if event == "line" and frame.f_lineno == ARM["line"]:
        time.sleep(ARM["delay"])
    return at_line


def trace(frame, event, arg):
    return at_line if frame.f_code.co_filename == ARM["file"] else None


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    if ARM["file"]:
        threading.settrace(trace)
        sys.settrace(trace)
    yield
    sys.settrace(None)
    threading.settrace(None)
"""


def wilson(failed: int, trials: int, z: float = 3.29) -> tuple[float, float]:
    """Return Wilson's interval of a rate; z = 3.29 is 99.9 %."""
    if not trials:
        return 0.0, 1.0
    rate, square = failed / trials, z * z / trials
    middle = (rate + square / 2) / (1 + square)
    half = z / (1 + square) * math.sqrt(rate * (1 - rate) / trials + square / (4 * trials))
    return middle - half, middle + half


def arms(truth: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the heading and the table of every arm on record."""
    for name in SINGLE_ARMS:
        if name in truth:
            yield name, truth[name]
    for number, arm in enumerate(truth.get("elsewhere", [])):
        yield f"elsewhere.{number}", arm


def interpreter(truth: dict[str, Any], version: str) -> str:
    """Return the interpreter of a prepared environment of the checkout, or of $FIXTURE_ENVS, for a Python version."""
    for folder in (os.environ.get("FIXTURE_ENVS"), ROOT / ".envs"):
        if folder is None:
            continue
        wanted = truth.get("env", f"py{version}-pytest*")
        for found in sorted(Path(folder).glob(f"{wanted}/bin/python"), reverse=True):
            return str(found)
    raise SystemExit(f"no environment for Python {version} in .envs (see scripts/envs.py); use --python PATH")


def prepare(case: Path, folder: Path, repairs: list[dict[str, str]]) -> Path:
    """Copy a case without its truth into a folder, with repairs made."""
    project = folder / "project"
    shutil.copytree(
        case, project, ignore=shutil.ignore_patterns("truth.toml", "__pycache__", ".pytest_cache", ".triage")
    )
    for repair in repairs:
        path = project / repair["file"]
        text = path.read_text(encoding="utf-8")
        if text.count(repair["old"]) != 1:
            raise SystemExit(f"{case.name}: a repair of {repair['file']} does not fit exactly one place")
        path.write_text(text.replace(repair["old"], repair["new"]), encoding="utf-8")
    (folder / "levels").mkdir()
    (folder / "levels" / "fixture_levels.py").write_text(LEVELS, encoding="utf-8")
    return project


def count(project: Path, python: str, truth: dict[str, Any], arm: dict[str, Any], runs: int) -> tuple[int, int]:
    """Run an arm and return failures and the crashes among them."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "PYTEST", "TRIAGE"))
    }
    environment = {**inherited, **arm.get("env", {})}
    command = [python, "-m", "pytest", "-q", "--tb=short"]
    if "rng_seed" in arm or "delay_at" in arm:
        file, _, line = arm.get("delay_at", ":0").rpartition(":")
        plan = {
            "rng_seed": arm.get("rng_seed"),
            "file": str(project / file) if file else None,
            "line": int(line),
            "delay": arm.get("delay", 0),
        }
        environment |= {"PYTHONPATH": str(project.parent / "levels"), "FIXTURE_ARM": json.dumps(plan)}
        command += ["-p", "fixture_levels"]
    command += arm.get("args", [truth["target"]])
    failed = crashed = 0
    for _ in range(runs):
        run = subprocess.run(
            command, cwd=project, env=environment, timeout=TIME_LIMIT, check=False, capture_output=True, text=True
        )
        if run.returncode < 0:
            crashed += 1
        elif run.returncode == FAILED:
            failed += 1
        elif run.returncode != 0:
            raise SystemExit(f"pytest could not run (status {run.returncode}):\n{run.stdout}{run.stderr}")
    return failed + crashed, crashed


def record(path: Path, heading: str, failed: int, trials: int) -> None:
    """Put figures on record in a truth.toml, under a heading of `arms`."""
    name, _, number = heading.partition(".")
    mark = f"[[{name}]]\n" if number else f"[{name}]\n"
    before, *tables = path.read_text(encoding="utf-8").split(mark)
    at = int(number or 0)
    tables[at] = re.sub(
        r"(?m)^failed = \d+\ntrials = \d+$", f"failed = {failed}\ntrials = {trials}", tables[at], count=1
    )
    path.write_text(mark.join([before, *tables]), encoding="utf-8")


def measure(case: Path, options: argparse.Namespace) -> bool:
    """Measure the arms of a case; return whether they agree with what is on record."""
    path = case / "truth.toml"
    truth = tomllib.loads(path.read_text(encoding="utf-8"))
    measured: dict[str, tuple[int, int]] = {}
    agree = True
    for heading, arm in arms(truth):
        if options.arm and heading.split(".")[0] not in options.arm:
            continue
        python = options.python or interpreter(truth, arm["python"])
        repairs = truth.get("repair", []) if heading == "fixed" else []
        same = json.dumps([python, repairs, {key: arm[key] for key in arm.keys() & SETTINGS}], sort_keys=True)
        if same not in measured:
            with tempfile.TemporaryDirectory(prefix="measure-") as folder:
                project = prepare(case, Path(folder).resolve(), repairs)
                measured[same] = count(project, python, truth, arm, options.runs)
        failed, crashed = measured[same]
        low, high = wilson(failed, options.runs)
        then_low, then_high = wilson(arm["failed"], arm["trials"])
        fits = low <= then_high and then_low <= high
        agree &= fits
        say(
            f"{case.name:<14} {heading:<12} {failed:>3} of {options.runs:<4} ({crashed} crashed)"
            f"  on record {arm['failed']} of {arm['trials']}{'' if fits else '  DISAGREES'}  {arm['arm']}"
        )
        if options.write:
            record(path, heading, failed, options.runs)
    return agree


def say(text: str) -> None:
    """Print a line at once."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def main() -> int:
    """Measure; status 1 where a figure on record disagrees (99.9 % intervals apart)."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="*", help="names of folders in fixtures/; all by default")
    parser.add_argument("--runs", type=int, default=100, help="runs of each arm")
    parser.add_argument("--arm", action="append", choices=[*SINGLE_ARMS, "elsewhere"], help="only these arms")
    parser.add_argument("--python", help="interpreter for all arms, instead of the one that each arm names")
    parser.add_argument("--write", action="store_true", help="put the figures on record in truth.toml")
    options = parser.parse_args()
    known = sorted(path.parent for path in FIXTURES.glob("*/truth.toml"))
    unknown = set(options.case) - {case.name for case in known}
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    verdicts = [measure(case, options) for case in known if not options.case or case.name in options.case]
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
