"""Null simulation of the planner, and its power: `python tests/benchmarks/null.py [EXPERIMENTS]` writes `reports/null.*`.

The planner that `triage run` uses is driven by simulated trials over all factors, with forked trials and without. Under
the null no factor has any effect and the rate may drift in time; every confirmed claim is then a false one. Predicted before the
first run: at most ALPHA (4%) of the experiments blame anything, fewer in fact, since exact tests of counts rarely use their
level up; a broken instrument (say, the screen's trials counted again in the confirmation) would show 10% and more at
middling rates.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from concurrent.futures import Future, ProcessPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from simulation import Rate, at, blamed, constant, decided_at_start, ramp, second, seeded, simulate, step, wave

from triage.experiment.confirm import ALPHA
from triage.stats.intervals import clopper_pearson

Row = dict[str, object]
NULLS: dict[str, Rate] = {
    "1%": constant(0.01),
    "3%": constant(0.03),
    "7%": constant(0.07),
    "15%": constant(0.15),
    "30%": constant(0.30),
    "50%": constant(0.50),
    "80%": constant(0.80),
    "95%": constant(0.95),
    "10%, decided at the start of each process": decided_at_start(0.1),
    "50%, decided at the start of each process": decided_at_start(0.5),
    "drift 5% to 60%": ramp(0.05, 0.60),
    "drift 60% to 5%": ramp(0.60, 0.05),
    "step 10% to 70% at half time": step(0.10, 0.70, 0.5),
    "step 80% to 20% at 0.7": step(0.80, 0.20, 0.7),
    "wave 10% to 70%, 20 s": wave(0.10, 0.70, 20.0),
    "wave 10% to 70%, 1.5 s": wave(0.10, 0.70, 1.5),
}


EFFECTS: dict[str, tuple[str, Rate]] = {
    "hash_seed: half of the seeds fail always": ("hash_seed", seeded(0.5, 1.0, 0.0, "hash_seed")),
    "hash_seed: 1 of 10 seeds fails always": ("hash_seed", seeded(0.1, 1.0, 0.0, "hash_seed")),
    "hash_seed: half fail 90%, others 20%": ("hash_seed", seeded(0.5, 0.9, 0.2, "hash_seed")),
    "rng_seed: 3 of 10 seeds fail always": ("rng_seed", seeded(0.3, 1.0, 0.0, "rng_seed")),
    "rng_seed: 1 of 20 seeds fails always": ("rng_seed", seeded(0.05, 1.0, 0.0, "rng_seed")),
    "order: after another test 100%, alone 0%": ("order", at("order", None, 1.0, 0.0)),
    "order: after another test 60%, alone 10%": ("order", at("order", None, 0.6, 0.1)),
    "order: after another test 30%, alone 10%": ("order", at("order", None, 0.3, 0.1)),
    "repeat: second execution 100%": ("repeat", second(1.0, 0.0)),
    "repeat: second execution 50%, first 10%": ("repeat", second(0.5, 0.1)),
    "python 3.13: 100%, others 0%": ("python", at("python", {"3.13"}, 1.0, 0.0)),
    "python 3.13: 30%, others 0%": ("python", at("python", {"3.13"}, 0.3, 0.0)),
    "python 3.13: 15%, others 0%": ("python", at("python", {"3.13"}, 0.15, 0.0)),
    "python 3.13: 7%, others 0%": ("python", at("python", {"3.13"}, 0.07, 0.0)),
    "python 3.13: 50%, others 20%": ("python", at("python", {"3.13"}, 0.5, 0.2)),
}


def run_null(number: int, name: str, each: int, *, forking: bool) -> Row:
    rate = NULLS[name]
    wrong: Counter[str] = Counter()
    any_wrong = trials = 0
    for seed in range(each):
        planner = simulate(rate, seed * 1000 + number, forking=forking)
        factors = blamed(planner)
        wrong.update(factors)
        any_wrong += bool(factors)
        trials += planner.ledger.trials
    low, high = clopper_pearson(any_wrong, each)
    return {
        "null": name,
        "forking": forking,
        "experiments": each,
        "blamed": any_wrong,
        "low": low,
        "high": high,
        "by_factor": dict(wrong),
        "mean_trials": trials / each,
    }


def run_effect(number: int, name: str, budget: float, experiments: int, *, forking: bool) -> Row:
    factor, rate = EFFECTS[name]
    right = other = trials = 0
    seconds = 0.0
    for seed in range(experiments):
        planner = simulate(rate, seed * 1000 + 500 + number, budget, forking=forking)
        factors = blamed(planner)
        right += factor in factors
        other += bool(factors - {factor})
        trials += planner.ledger.trials
        seconds += planner.bench.clock()
    return {
        "effect": name,
        "forking": forking,
        "budget": budget,
        "experiments": experiments,
        "found": right / experiments,
        "another_blamed": other / experiments,
        "mean_trials": trials / experiments,
        "mean_seconds": seconds / experiments,
    }


def finished(rows: list[Future[Row]]) -> list[Row]:
    found = []
    for row in rows:
        found.append(row.result())
        print(found[-1], file=sys.stderr, flush=True)
    return found


def yes(row: Row) -> str:
    return "yes" if row["forking"] else "no"


def main() -> None:
    experiments = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    started = time.monotonic()
    each, few = -(-experiments // len(NULLS) // 2), max(20, experiments // 100)
    both = (True, False)
    with ProcessPoolExecutor() as pool:
        nulls = finished(
            [pool.submit(run_null, i, name, each, forking=forking) for forking in both for i, name in enumerate(NULLS)]
        )
        effects = finished(
            [
                pool.submit(run_effect, i, name, budget, few, forking=forking)
                for i, name in enumerate(EFFECTS)
                for budget in (120.0, 300.0)
                for forking in both
            ]
        )
    total = sum(int(str(row["experiments"])) for row in nulls)
    wrong = sum(int(str(row["blamed"])) for row in nulls)
    low, high = clopper_pearson(wrong, total)
    reports = Path(__file__).parents[2] / "reports"
    reports.mkdir(exist_ok=True)
    summary = {"alpha": ALPHA, "experiments": total, "blamed": wrong, "low": low, "high": high}
    data = {"summary": summary, "nulls": nulls, "effects": effects}
    (reports / "null.json").write_text(json.dumps(data, indent=1) + "\n")
    lines = [
        "# Null simulation and power of the planner",
        "",
        "Regenerate with `make null` (about half an hour). The planner of `triage run` is driven by simulated trials over all",
        "factors, of 0.35 s, or of 0.012 s where they are forked; with its early stopping, 120 s an experiment unless stated.",
        "",
        f"**Any factor blamed without an effect: {wrong} of {total} = {wrong / total:.2%}** (95%: {low:.2%} to {high:.2%};"
        f" the level is {ALPHA:.0%}).",
        "",
        "| no effect, failure rate | forked trials | experiments | any factor blamed | 95% interval | trials an experiment |",
        "| --- | --- | ---: | ---: | --- | ---: |",
    ]
    for row in nulls:
        share = float(str(row["blamed"])) / float(str(row["experiments"]))
        cells = [row["null"], yes(row), row["experiments"], f"{share:.2%}", f"{row['low']:.2%} to {row['high']:.2%}"]
        lines.append("| " + " | ".join(map(str, [*cells, f"{row['mean_trials']:.0f}"])) + " |")
    lines += [
        "",
        "| real effect | budget | forked trials | experiments | found and confirmed | another factor too | trials | seconds |",
        "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    lines += [
        f"| {row['effect']} | {row['budget']:.0f} s | {yes(row)} | {row['experiments']} | {row['found']:.0%} | "
        f"{row['another_blamed']:.1%} | {row['mean_trials']:.0f} | {row['mean_seconds']:.0f} |"
        for row in effects
    ]
    (reports / "null.md").write_text("\n".join(lines) + "\n")
    print(f"{summary}, {time.monotonic() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
