"""Run `triage run` on every fixture and write `reports/fixtures.md` and `.json`: `python scripts/triage_fixtures.py [CASE...]`.

What is expected is in each `truth.toml`, written before any run. First of all the report lists real bugs called anything else
than `real_bug` or `undetermined`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

from triage.factors.registry import factors

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "fixtures"
REPORTS = ROOT / "reports"
SPARE = 60.0
"""Seconds beyond the budget for interpreters, collection and controls."""


def main() -> int:
    """Run the named cases, or all, and write the report."""
    names = sys.argv[1:] or sorted(path.parent.name for path in FIXTURES.glob("*/truth.toml"))
    rows = [measure(name) for name in names]
    if sys.argv[1:]:
        rows = merged(rows)
    write(rows)
    return 1 if any(row["miss"] == "real bug called wrong" for row in rows) else 0


def merged(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Put the rows of single cases into the report that is there."""
    file = REPORTS / "fixtures.json"
    before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    by_case = {row["case"]: row for row in [*before, *rows]}
    return [by_case[name] for name in sorted(by_case)]


def measure(name: str) -> dict[str, Any]:
    """Triage one fixture in a copy and compare with its truth."""
    truth = tomllib.loads((FIXTURES / name / "truth.toml").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="fx") as folder:
        project = Path(folder, name)
        shutil.copytree(
            FIXTURES / name, project, ignore=shutil.ignore_patterns(".triage", "__pycache__", ".pytest_cache")
        )
        command = [
            sys.executable,
            "-m",
            "triage",
            "run",
            truth["target"],
            "--format",
            "json",
            "--budget",
            truth["budget"],
        ]
        for python in interpreters(truth):
            command += ["--python", str(python)]
        started = time.monotonic()
        done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False, env=environment(truth))
    seconds = time.monotonic() - started
    verdict = json.loads(done.stdout) if done.stdout.strip() else {}
    row = {
        "case": name,
        "status": done.returncode,
        "truth": [truth["verdict"], None if truth["cause"] == "none" else truth["cause"]],
        "expected_trigger": expected_trigger(truth),
        "decided": truth["decided"],
        "verdict": verdict.get("verdict"),
        "cause": verdict.get("cause"),
        "strength": verdict.get("strength"),
        "trigger": verdict.get("trigger"),
        "reproduction": verdict.get("reproduction"),
        "counterfactual": verdict.get("counterfactual"),
        "polluters": verdict.get("polluters"),
        "culprits": verdict.get("culprits"),
        "hypotheses": verdict.get("hypotheses"),
        "not_established": verdict.get("not_established"),
        "trials": verdict.get("trials"),
        "seconds": round(seconds, 1),
        "stderr": done.stderr[-500:],
    }
    row["miss"] = judge(row, truth)
    shown = ("case", "verdict", "cause", "strength", "trigger", "trials", "seconds", "miss")
    print({key: row[key] for key in shown}, flush=True)
    return row


def expected_trigger(truth: dict[str, Any]) -> str | None:
    """Return the factor that must be named, if it is one that `triage` varies and that moves the rate."""
    trigger = truth.get("trigger", {})
    return trigger.get("factor") if trigger.get("factor") in factors() and trigger.get("level") != ".*" else None


def interpreters(truth: dict[str, Any]) -> list[Path]:
    """Return the environments that a case needs, its own interpreter first."""
    wanted = [truth["env"]] if "env" in truth else [f"py{version}-pytest9" for version in truth["pythons"]]
    return [ROOT / ".envs" / name / "bin" / "python" for name in wanted]


def environment(truth: dict[str, Any]) -> dict[str, str]:
    """Make the first of the case's interpreters the active one."""
    first = interpreters(truth)[0].parents[1]
    return {**os.environ, "VIRTUAL_ENV": str(first)}


def judge(row: dict[str, Any], truth: dict[str, Any]) -> str:
    """Name what is wrong with a verdict; empty if nothing is."""
    if truth["verdict"] == "real_bug" and row["verdict"] not in {"real_bug", "undetermined"}:
        return "real bug called wrong"
    if truth["decided"] and [row["verdict"], row["cause"]] != row["truth"]:
        return "not decided as it should be"
    if row["verdict"] not in {truth["verdict"], "undetermined"}:
        return "wrong verdict"
    if row["expected_trigger"] and (row["trigger"] or {}).get("factor") != row["expected_trigger"]:
        return "trigger not named"
    if row["expected_trigger"] and not (row["reproduction"] and row["counterfactual"]):
        return "trigger not confirmed"
    if truth.get("polluters") and row["polluters"] != truth["polluters"]:
        return "polluter not named"
    return ""


def write(rows: list[dict[str, Any]]) -> None:
    """Write the report for people and the one for programs."""
    REPORTS.mkdir(exist_ok=True)
    portable = json.dumps(rows, indent=1).replace(f"{ROOT}/", "")
    (REPORTS / "fixtures.json").write_text(portable + "\n", encoding="utf-8")
    wrong = [row["case"] for row in rows if row["miss"] == "real bug called wrong"]
    lines = [
        "# The fixtures, triaged",
        "",
        "Regenerate with `make fixtures`. Each case ran with the budget of its `truth.toml`; a case that is named "
        "alone replaces its row.",
        "",
        f"**Real bugs called anything else than a real bug or undetermined: {', '.join(wrong) if wrong else 'none'}.**",
        "",
        "| case | truth | verdict | strength | trigger | reproduced | counterfactual | trials | seconds | miss |",
        "| --- | --- | --- | --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for row in rows:
        trigger = row["trigger"] or {}
        told = f"{trigger['factor']} = {trigger['level']}" if trigger else ""
        cells = [row["case"], said(row["truth"]), said([row["verdict"], row["cause"]]), row["strength"], told]
        cells += [
            share(row["reproduction"]),
            share(row["counterfactual"]),
            row["trials"],
            f"{row['seconds']:.0f}",
            row["miss"],
        ]
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    open_ = [row for row in rows if not row["decided"]]
    lines += ["", "## Not classified yet, and why", ""]
    for row in open_:
        guesses = "; ".join(f"{said([h['verdict'], h['cause']])}: {h['missing']}" for h in row["hypotheses"] or [])
        lines.append(f"- **{row['case']}** ({said(row['truth'])}): {guesses or 'no hypothesis'}")
    (REPORTS / "fixtures.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def said(pair: list[str | None]) -> str:
    """Return `verdict/cause`."""
    return "/".join(part for part in pair if part)


def share(reproduction: dict[str, Any] | None) -> str:
    """Return `failed/trials`."""
    return f"{reproduction['failed']}/{reproduction['trials']}" if reproduction else ""


if __name__ == "__main__":
    sys.exit(main())
