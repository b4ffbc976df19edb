"""What a trial costs, and what the probe adds: `.venv/bin/python tests/benchmarks/speed.py` writes `reports/speed.*`.

    --only NAME[,NAME]   some sides: lean, bare, triage, flakefinder, repeat, probe
    --rounds N           7 unless given; fewer than 5 are no measurement, and the page says so
    --trials N           so many forked trials in a row at the end, looking for growth; 10000 unless given, 0 leaves it out

All sides alternate in one run: a round has one block of each, in a shuffled order. First every side must refuse a test that fails,
then each runs one block that is not counted, so that all bytecode is there. Figures are medians over rounds, ratios are ratios of
medians with the smallest and the largest ratio of any round. CPU time is user and system time of all processes of a trial,
which a loaded machine moves less than wall time.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import sides
from forked import Health, SideError, endure
from sides import SIDES, Bench, Row

ROUNDS = 7
ENDURED = 10_000
FEWEST = 5
"""Rounds below which a report says that it is none."""
TIMES_LEANER = 30.0
"""Least CPU of `lean` over that of `triage`."""
TIMES_BARE = 1.67
"""Most CPU of `triage` over that of `bare`."""
PROBE_SHARE = 0.05
"""Most that the probe may add to the CPU of a suite."""
WHAT = {
    "lean": ("`python -m pytest` for each trial, no plugins, warm bytecode", "process"),
    "bare": ("fork and `runtestprotocol`, no code of ours", "fork"),
    "triage": ("the fork engine of `triage`, all its processes", "fork"),
    "flakefinder": ("pytest-flakefinder, an execution beyond the first", "none"),
    "repeat": ("pytest-repeat, an execution beyond the first", "none"),
}
"""What a trial is, and what isolates it from the one before."""
RATIOS = (
    ("lean", "triage"),
    ("triage", "bare"),
    ("lean", "bare"),
    ("bare", "flakefinder"),
    ("bare", "repeat"),
    ("triage", "flakefinder"),
    ("triage", "repeat"),
)
Rows = dict[str, list[Row]]
Spread = dict[str, float]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure what a trial costs.")
    parser.add_argument("--only", default=",".join(SIDES), metavar="NAME[,NAME]", help=f"of {', '.join(SIDES)}")
    parser.add_argument("--rounds", type=int, default=ROUNDS, metavar="N", help=f"{ROUNDS} unless given")
    parser.add_argument("--trials", type=int, default=ENDURED, metavar="N", help=f"{ENDURED} unless given")
    given = parser.parse_args()
    given.only = list(dict.fromkeys(given.only.split(",")))
    if unknown := [name for name in given.only if name not in SIDES]:
        parser.error(f"unknown: {', '.join(unknown)}; known: {', '.join(SIDES)}")
    if given.rounds < 1:
        parser.error("at least one round")
    return given


def measure(names: list[str], rounds: int) -> tuple[dict[str, object], Rows]:
    """Return the machine, and the rows of each side, each with its `round` and its `place` in it, from 1.

    Raises SideError if a side did not run its tests.
    """
    python, repeaters = sides.interpreter(sides.LEAN), sides.interpreter(sides.REPEATERS)
    with tempfile.TemporaryDirectory() as folder:
        bench, broken = (
            Bench(project=Path(folder, name), python=python, repeaters=repeaters, environment=sides.environment())
            for name in ("project", "broken")
        )
        sides.write_project(bench.project)
        sides.write_project(broken.project, broken=True)
        about = machine(bench)
        for name in names:
            refuse(name, broken)
            SIDES[name](bench)
        rows: Rows = {name: [] for name in names}
        for number in range(1, rounds + 1):
            for place, name in enumerate(random.sample(names, len(names)), 1):
                found = SIDES[name](bench)
                rows[name] += [{"round": number, "place": place, **row} for row in found]
                print(f"round {number}, {name}: {found}", file=sys.stderr, flush=True)
    return about, rows


def refuse(name: str, broken: Bench) -> None:
    """Make sure that a side notices a test that fails: one that does not would measure whatever happens."""
    try:
        SIDES[name](broken)
    except SideError:
        return
    raise SideError(f"{name} accepted a test that fails")


def health(trials: int) -> list[Health]:
    """Run forked trials in a row."""
    if not trials:
        return []
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "project")
        sides.write_project(project)
        return endure(project, sides.interpreter(sides.LEAN), trials)


def endurance(samples: list[Health]) -> list[str]:
    """Return what a long series left behind, as lines of the page."""
    if not samples:
        return []
    lines = ["", f"{samples[-1].trials} forked trials in a row, of one server:", ""]
    names = [name.replace("_", " ").replace("kib", "KiB") for name in Health._fields]
    lines += ["| " + " | ".join(names) + " |", "| " + " | ".join(["---:"] * len(names)) + " |"]
    lines += [
        "| " + " | ".join(f"{value:.1f}" if isinstance(value, float) else str(value) for value in sample) + " |"
        for sample in samples
    ]
    return lines


def machine(bench: Bench) -> dict[str, object]:
    """Return what figures depend on."""
    code = "import json, platform, pytest; print(json.dumps([platform.python_version(), pytest.__version__]))"
    versions = []
    for python in (bench.python, bench.repeaters):
        done = subprocess.run(
            [python, "-c", code], env=bench.environment, capture_output=True, check=True, cwd=bench.project
        )
        versions.append(json.loads(done.stdout))
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "python": versions[0][0],
        "pytest": versions[0][1],
        "pytest_of_repeaters": versions[1][1],
    }


def spread(values: list[float]) -> Spread:
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def ratio(rows: Rows, above: str, below: str, key: str) -> Spread:
    """Return the ratio of medians, and the smallest and largest ratio of a round."""
    upper, lower = ([row[key] for row in rows[name]] for name in (above, below))
    each = [one / other for one, other in zip(upper, lower, strict=True)]
    return {"median": statistics.median(upper) / statistics.median(lower), "min": min(each), "max": max(each)}


def summarise(rows: Rows) -> dict[str, dict[str, Spread]]:
    """Return the spread of every figure of every side."""
    return {
        name: {key: spread([row[key] for row in found]) for key in found[0] if key not in {"round", "place"}}
        for name, found in rows.items()
    }


def ratios(rows: Rows) -> dict[str, dict[str, Spread]]:
    return {
        f"{above} / {below}": {key: ratio(rows, above, below, key) for key in ("cpu", "wall")}
        for above, below in RATIOS
        if above in rows and below in rows
    }


def judge(found: dict[str, dict[str, Spread]], summary: dict[str, dict[str, Spread]]) -> list[dict[str, object]]:
    """Return each target with `met`, `missed` or `not measured` and its figure."""
    leaner, more = (found.get(name, {}).get("cpu") for name in ("lean / triage", "triage / bare"))
    added = summary.get("probe", {}).get("overhead_cpu")
    return [
        {
            "target": f"CPU of a trial at least {TIMES_LEANER:.0f} times less than that of `lean`",
            "result": result(leaner, leaner is not None and leaner["median"] >= TIMES_LEANER),
            "figure": leaner and text(leaner, "{:.1f}", " times"),
        },
        {
            "target": f"CPU of a trial at most {TIMES_BARE:.2f} times that of `bare`",
            "result": result(more, more is not None and more["median"] <= TIMES_BARE),
            "figure": more and text(more, "{:.2f}", " times"),
        },
        {
            "target": f"probe at most {PROBE_SHARE:.0%} of the CPU of a suite",
            "result": result(added, added is not None and added["median"] <= PROBE_SHARE),
            "figure": added and text(added, "{:.1%}"),
        },
    ]


def result(figure: Spread | None, met: bool) -> str:
    return "not measured" if figure is None else "met" if met else "missed"


def text(figure: Spread, form: str, unit: str = "") -> str:
    """Return `median (min to max)`."""
    return f"{form.format(figure['median'])}{unit} ({form.format(figure['min'])} to {form.format(figure['max'])})"


def milliseconds(figure: Spread) -> str:
    return text({name: seconds * 1000 for name, seconds in figure.items()}, "{:.2f}")


def page(data: dict[str, object], about: dict[str, object], summary: dict[str, dict[str, Spread]]) -> list[str]:
    rounds, found, targets = data["rounds"], data["ratios"], data["targets"]
    assert isinstance(rounds, int)
    assert isinstance(found, dict)
    assert isinstance(targets, list)
    lines = [
        "# Speed",
        "",
        "Written by",
        "",
        f"    {data['command']}",
        "",
        f"{rounds} rounds, in each one block of every side, in a shuffled order. CPU is user and system time of all processes of a",
        "trial. Medians (smallest to largest of a round); a ratio is one of medians.",
        "",
        f"{about['system']}, {about['cores']} cores, load {about['load']} at the start; Python {about['python']}, pytest"
        f" {about['pytest']} ({about['pytest_of_repeaters']} with flakefinder and repeat).",
        "",
    ]
    if rounds < FEWEST:
        lines += [f"**Fewer than {FEWEST} rounds: this shows that the benchmark runs, and is no measurement.**", ""]
    lines += ["| target | result | figure |", "| --- | --- | --- |"]
    lines += [f"| {row['target']} | **{row['result']}** | {row['figure'] or ''} |" for row in targets]
    measured = [name for name in WHAT if name in summary]
    if measured:
        lines += ["", "| side | a trial is | isolated by | CPU, ms | wall, ms |", "| --- | --- | --- | ---: | ---: |"]
    for name in measured:
        cells = [f"`{name}`", *WHAT[name], *(milliseconds(summary[name][key]) for key in ("cpu", "wall"))]
        lines.append("| " + " | ".join(cells) + " |")
        if "cpu_with_start" in summary[name]:
            more = (milliseconds(summary[name][f"{key}_with_start"]) for key in ("cpu", "wall"))
            cells = ["", f"its share of a session of {sides.RUNS}, start included", "none", *more]
            lines.append("| " + " | ".join(cells) + " |")
    if found:
        lines += ["", "| ratio | CPU | wall |", "| --- | ---: | ---: |"]
    lines += [
        f"| {name} | {text(both['cpu'], '{:.2f}')} | {text(both['wall'], '{:.2f}')} |" for name, both in found.items()
    ]
    if "probe" in summary:
        figures = summary["probe"]
        lines += [
            "",
            f"The probe: {rounds * sides.PAIRS} pairs of a session of {sides.SUITE} trivial tests, without and with it, by the",
            "cold engine. CPU is that of pytest's process; what is added is the median (smallest to largest) over pairs.",
            "",
            "| | without, ms | with, ms | added |",
            "| --- | ---: | ---: | ---: |",
        ]
        for key, name in (("cpu", "CPU"), ("wall", "wall")):
            cells = [name, milliseconds(figures[f"plain_{key}"]), milliseconds(figures[f"probed_{key}"])]
            lines.append("| " + " | ".join([*cells, text(figures[f"overhead_{key}"], "{:.1%}")]) + " |")
    return lines


def main() -> None:
    given = arguments()
    about, rows = measure(given.only, given.rounds)
    summary, found = summarise(rows), ratios(rows)
    samples = health(given.trials)
    data = {
        "command": " ".join([".venv/bin/python", "tests/benchmarks/speed.py", *sys.argv[1:]]),
        "machine": about,
        "rounds": given.rounds,
        "trials_a_block": {"lean": sides.STARTS, "bare": sides.FORKS, "triage": sides.FORKS, "repeaters": sides.RUNS},
        "targets": judge(found, summary),
        "ratios": found,
        "summary": summary,
        "rows": rows,
        "endurance": [sample._asdict() for sample in samples],
    }
    lines = page(data, about, summary) + endurance(samples)
    reports = sides.ROOT / "reports"
    reports.mkdir(exist_ok=True)
    (reports / "speed.json").write_text(json.dumps(data, indent=1) + "\n")
    (reports / "speed.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
