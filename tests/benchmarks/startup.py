"""Time to `triage --help` beside a bare interpreter's start: `python tests/benchmarks/startup.py` writes `reports/startup.*`.

Both sides alternate in one run; medians of user and system time of the processes, which a loaded machine moves less than wall time.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

RUNS = 40
CASES = {
    "bare interpreter": [sys.executable, "-c", "pass"],
    "import typer": [sys.executable, "-c", "import typer"],
    "triage --help": [sys.executable, "-m", "triage", "--help"],
    "triage run --help": [sys.executable, "-m", "triage", "run", "--help"],
}


def cost(command: list[str]) -> float:
    """Return the CPU seconds of one process."""
    before = os.times()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = os.times()
    return (after.children_user - before.children_user) + (after.children_system - before.children_system)


def main() -> None:
    seconds: dict[str, list[float]] = {name: [] for name in CASES}
    for _ in range(RUNS):
        for name, command in CASES.items():
            seconds[name].append(cost(command))
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    bare = medians["bare interpreter"]
    reports = Path(__file__).parents[2] / "reports"
    reports.mkdir(exist_ok=True)
    rows = {name: {"cpu_seconds": round(value, 4), "ratio": round(value / bare, 2)} for name, value in medians.items()}
    (reports / "startup.json").write_text(json.dumps({"runs": RUNS, "cases": rows}, indent=1) + "\n")
    lines = [
        "# Start-up",
        "",
        f"Regenerate with `make startup`. CPU time a process, medians of {RUNS}, the cases alternating in one run.",
        "",
        "| command | CPU seconds | beside a bare interpreter |",
        "| --- | ---: | ---: |",
        *(f"| `{name}` | {row['cpu_seconds']:.3f} | {row['ratio']:.1f} times |" for name, row in rows.items()),
    ]
    (reports / "startup.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
