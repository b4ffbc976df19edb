"""The report of a sweep in every format, and what a hostile project cannot do to it."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from msgspec.structs import replace

from triage.model.sweep import (
    Change,
    Compared,
    Comparison,
    Conclusion,
    Difference,
    Gone,
    Result,
    Selection,
    Shard,
    Since,
    Start,
    State,
    Sweep,
)
from triage.model.verdict import Environment, Report, Verdict
from triage.report import sweep_json, sweep_markdown, sweep_text
from triage.report.sweep_words import headline, removables
from triage.sweep.results import result_of

Compare = Callable[[str, str], None]
STARTED = 1_795_000_000.0


@pytest.fixture(scope="module")
def conclusion(reports: dict[str, Report]) -> Conclusion:
    """A sweep with everything in it, a hostile test among the rest."""
    taken = {
        name: reports[name] for name in ("stable_pass", "undetermined", "polluted", "hostile", "crash", "stable_fail")
    }
    results = [result_of(report, None, ("flaky",)) for report in taken.values()]
    hostile = taken["hostile"].target
    results += [
        Result(target=f"{hostile}::skipped", state=State.UNRUNNABLE, why=f"it is skipped: {hostile}"),
        Result(
            target="t.py::xfail",
            state=State.EXPECTED_FAILURE,
            why="marked as an expected failure: failed so in 2 trials, passed in 1",
        ),
    ]
    bug = next(result for result in results if result.verdict is Verdict.REAL_BUG and "codec" in result.target)
    bug = replace(bug, rate=taken["crash"].rates[0])
    before = replace(bug, rate=replace(bug.rate, failed=60, low=0.5, high=0.7))
    start = Start(
        sweep="2vq8z41k7m3c",
        started=STARTED,
        root="/project",
        selection=Selection(expression="flaky | `x`", paths=("tests",), shard=Shard(1, 2)),
        command="triage sweep -m 'flaky | `x`' --shard 1/2 --budget 2m --format md tests",
        folder="sub|folder",
        selected=(*(result.target for result in results), "t.py::later"),
        selected_in_all=20,
        budget_seconds=120.0,
        environment=taken["crash"].environment,
        errors=(f"broken_{hostile}.py",),
        triage="0.1.0",
    )
    return Conclusion(
        sweep=Sweep(start=start, results=tuple(results), ended=STARTED + 3725.0),
        reports=tuple(taken.values()),
        comparison=Comparison(
            sweep="2vq8z41k0000",
            started=STARTED - 604800.0,
            complete=False,
            tests=(
                Compared(
                    target=bug.target,
                    change=Change.STILL,
                    before=before,
                    difference=Difference.LOWER,
                    p_value=0.0000123,
                ),
                Compared(target=hostile, change=Change.CHANGED, before=replace(results[0], target=hostile)),
                Compared(target="t.py::xfail", change=Change.NEW),
                Compared(
                    target=results[0].target,
                    change=Change.STILL,
                    before=results[0],
                    difference=Difference.NOT_SHOWN,
                    p_value=1.0,
                ),
                Compared(target="t.py::later", change=Change.NOT_COMPARED),
            ),
            gone=(Gone(target=hostile + "gone", why="no longer marked", before=None),),
            level=0.025,
            environment=("Python 3.11.6, now 3.11.7",),
        ),
        since=(
            Since(target=bug.target, sweep="2vq8z41k0000", started=STARTED - 604800.0),
            Since(target=hostile, sweep="2vq8z41k7m3c", started=STARTED),
        ),
    )


@pytest.fixture(scope="module")
def empty() -> Conclusion:
    """A shard that got no test."""
    start = Start(
        sweep="2vq8z41k7m3c",
        started=STARTED,
        root="/project",
        selection=Selection(shard=Shard(3, 9)),
        command="triage sweep --shard 3/9",
        environment=Environment(python=("3.11.7",), pytest="9.2.0", platform="Linux"),
        selected_in_all=2,
    )
    return Conclusion(sweep=Sweep(start=start, ended=STARTED + 1, complete=True))


def test_text(conclusion: Conclusion, same_as_gold: Compare) -> None:
    same_as_gold("sweep.txt", sweep_text.render(conclusion))


def test_markdown(conclusion: Conclusion, same_as_gold: Compare) -> None:
    same_as_gold("sweep.md", sweep_markdown.render(conclusion))


def test_json(conclusion: Conclusion, same_as_gold: Compare) -> None:
    same_as_gold("sweep.json", sweep_json.render(conclusion))


def test_a_shard_without_tests(empty: Conclusion, same_as_gold: Compare) -> None:
    same_as_gold("sweep_empty.md", sweep_markdown.render(empty))
    assert "no test was selected for this shard" in sweep_text.render(empty)


@pytest.mark.parametrize("render", [sweep_text.render, sweep_markdown.render])
def test_nothing_invisible_comes_out(conclusion: Conclusion, render: Callable[[Conclusion], str]) -> None:
    bad = {char for char in render(conclusion) if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}
    assert bad <= {"\n"}


def test_every_row_of_the_table_has_as_many_cells_and_every_test_a_row(conclusion: Conclusion) -> None:
    rows = [line for line in sweep_markdown.render(conclusion).splitlines() if line.startswith("| ")]
    cells = [re.split(r"(?<!\\)\|", row) for row in rows if row.count("---") != 21]
    assert len(rows) >= 2 + len(conclusion.sweep.start.selected)
    of_the_sweep = [row for row in cells if len(row) == 9]
    assert len(of_the_sweep) == 2 + len(conclusion.sweep.start.selected)


def test_no_html_mention_or_reference_of_the_project_comes_through(conclusion: Conclusion) -> None:
    text = re.sub(r"(`+).*?(?<!`)\1(?!`)", "", sweep_markdown.render(conclusion), flags=re.DOTALL)
    assert set(re.findall(r"</?\w+>", text)) <= {"<sub>", "</sub>"}
    assert "@someone" not in text
    assert "#12" not in text


def test_the_gravest_comes_first(conclusion: Conclusion) -> None:
    order = [test["verdict"] or test["state"] for test in json.loads(sweep_json.render(conclusion))["tests"]]
    assert order == [
        *("real_bug", "real_bug", "undetermined", "wrong_test", "stable_fail"),
        *("unrunnable", "expected_failure", "stable_pass", "not_reached"),
    ]


def test_the_counts_add_up(conclusion: Conclusion) -> None:
    counts = json.loads(sweep_json.render(conclusion))["counts"]
    assert counts.pop("selected") == sum(counts.values()) == 9
    assert headline(conclusion.sweep).startswith(
        "9 tests: 2 real bugs, 1 wrong test, 1 undetermined, 1 stable, 0 due to"
    )


def test_a_mark_may_go_only_with_a_bound_and_enough_trials(conclusion: Conclusion) -> None:
    (stable,), nothing = removables(conclusion.sweep)
    assert stable[1] == "no failure in 60 trials, rate below 4.9% (95%)"
    assert nothing == ""
    few = [replace(one, rate=replace(one.rate, trials=10)) if one.rate else one for one in conclusion.sweep.results]
    none, said = removables(replace(conclusion.sweep, results=tuple(few)))
    assert none == []
    assert said == "1 stable test had too few trials to exclude rates of 20%: give more --budget"


def test_colour_only_adds(conclusion: Conclusion) -> None:
    coloured = sweep_text.render(conclusion, colour=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == sweep_text.render(conclusion)
    assert coloured != sweep_text.render(conclusion)


def test_what_is_printed_validates(conclusion: Conclusion, empty: Conclusion) -> None:
    sweep_schema = json.loads((Path(__file__).parents[3] / "docs" / "sweep.schema.json").read_text(encoding="utf-8"))
    for one in (conclusion, empty):
        jsonschema.Draft202012Validator(sweep_schema).validate(json.loads(sweep_json.render(one)))
