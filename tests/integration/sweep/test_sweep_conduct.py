"""Sweeps of a real project by the use case itself, with few trials: what is swept, kept, compared and reported."""

from __future__ import annotations

import json
import re
import time

import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from triage.errors import ExitCode
from triage.model.sweep import Change, Difference, Result, Selection, Start, State
from triage.model.verdict import Environment, Rate, Verdict
from triage.report import sweep_json, sweep_markdown
from triage.session.options import RunOptions
from triage.store.history import History
from triage.store.sweeps import SweepLog, read_sweeps
from triage.sweep.conduct import conduct

INI = """\
[pytest]
addopts = -m "not quarantine" --strict-markers
markers =
    quarantine: set aside
    flaky: fails now and then
"""
SHOP = """\
import ctypes


def peek():
    return ctypes.string_at(0)
"""
MARKED = """\
import pytest
import shop


@pytest.mark.quarantine
@pytest.mark.parametrize("sign", ["a|`b`<c>"])
def test_set_aside(sign):
    pass


@pytest.mark.flaky
@pytest.mark.skip(reason="not | here")
def test_skipped():
    pass


@pytest.mark.flaky
@pytest.mark.xfail(reason="known")
def test_expected():
    assert False


def test_other():
    pass


class Decorated:
    _flaky_max_runs = 2


class TestDecorated(Decorated):
    def test_by_the_package(self):
        shop.peek()
"""
CRASH = "test_a.py::TestDecorated::test_by_the_package"
ASIDE = "test_a.py::test_set_aside[a|`b`<c>]"
SKIPPED, EXPECTED, OTHER = (f"test_a.py::test_{name}" for name in ("skipped", "expected", "other"))


class Swept:
    """What one sweep said."""

    def __init__(self, folder, variables, **options) -> None:
        self.events = []
        self.reports = []
        self.said = []
        given = {"node_ids": (".",), "trials": 3, "budget": 100.0, "selection": Selection(), **options}
        self.code = conduct(
            RunOptions(**given),
            "triage sweep",
            self.events.append,
            self.reports.append,
            self.said.append,
            cwd=folder,
            environ=variables,
        )
        (self.conclusion,) = self.said
        self.results = self.conclusion.sweep.by_target


@pytest.fixture(scope="module")
def variables(env_python):
    home = env_python("py3.11-pytest9").parent.parent
    return {"PATH": "/usr/bin:/bin", "VIRTUAL_ENV": str(home)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("swept")
    (folder / "pytest.ini").write_text(INI)
    (folder / "shop.py").write_text(SHOP)
    (folder / "test_a.py").write_text(MARKED)
    (folder / "test_broken.py").write_text("import nowhere_to_be_found\n")
    return folder


@pytest.fixture(scope="module")
def before(folder):
    """The sweep of a week ago, as it was kept: one test less, one more that is marked no longer, one that is removed."""
    result = Result(target=ASIDE, state=State.EXAMINED, verdict=Verdict.REAL_BUG, experiment="2vq8z41k7m3c")
    bug = replace(result, rate=Rate(arm="baseline", failed=40, trials=40, low=0.9, high=1.0))
    start = Start(
        sweep="",
        started=time.time() - 604_800,
        root=str(folder),
        selection=Selection(),
        command="triage sweep",
        selected=(ASIDE, SKIPPED, OTHER, "test_a.py::test_removed", "test_broken.py::test_one"),
        environment=Environment(python=("3.11.0",), pytest="9.2.0", platform="Linux"),
    )
    with SweepLog(folder / ".triage", start) as log:
        for result in (bug, Result(target=SKIPPED, state=State.UNRUNNABLE), replace(bug, target=OTHER)):
            log.add(result)
        log.end(complete=True)
    return log.start


@pytest.fixture(scope="module")
def swept(folder, variables, before):
    return Swept(folder, variables, fail_on=(Verdict.REAL_BUG, Verdict.UNDETERMINED))


def test_every_marked_test_is_tried_or_said_why_not(swept):
    assert {target: result.state for target, result in swept.results.items()} == {
        ASIDE: State.EXAMINED,
        SKIPPED: State.UNRUNNABLE,
        EXPECTED: State.EXPECTED_FAILURE,
        CRASH: State.EXAMINED,
    }
    assert swept.results[SKIPPED].why == "it is skipped: not | here"
    assert swept.results[EXPECTED].verdict is None, "nothing is claimed of it"
    assert [report.target for report in swept.reports] == list(swept.results)
    assert swept.conclusion.sweep.complete


def test_the_projects_own_mark_expression_is_taken_back(swept):
    rate = swept.results[ASIDE].rate
    assert rate.failed == 0
    assert rate.trials >= 1
    assert "-m ''" in swept.results[CRASH].failing_command


def test_one_that_could_not_be_run_stops_no_other_and_gives_the_status(swept):
    assert swept.code is ExitCode.UNRUNNABLE, "which comes before a condition that held"


def test_a_crash_has_a_section_with_the_command_that_crashed(swept):
    text = sweep_markdown.render(swept.conclusion)
    section = text.partition(f"#### `{CRASH}`")[2].partition("###")[0]
    assert "SIGSEGV at shop.py:5 in peek" in section
    assert swept.results[CRASH].failing_command in section


def test_what_is_printed_as_json_validates(swept, pytestconfig):
    schema = json.loads((pytestconfig.rootpath / "docs" / "sweep.schema.json").read_text())
    printed = json.loads(sweep_json.render(swept.conclusion))
    Draft202012Validator(schema).validate(printed)
    assert printed["counts"]["selected"] == 4


def test_it_is_compared_with_the_sweep_before(swept, before):
    comparison = swept.conclusion.comparison
    assert comparison.sweep == before.sweep
    assert {one.target: one.change for one in comparison.tests} == {
        ASIDE: Change.CHANGED,
        SKIPPED: Change.NOT_COMPARED,
        EXPECTED: Change.NEW,
        CRASH: Change.NEW,
    }
    assert {gone.target: gone.why for gone in comparison.gone} == {
        OTHER: "no longer marked",
        "test_a.py::test_removed": "no longer collected: removed, renamed or moved",
        "test_broken.py::test_one": "its file cannot be collected now",
    }
    (aside,) = [one for one in comparison.tests if one.target == ASIDE]
    assert aside.difference is Difference.LOWER
    assert "Python 3.11.0, now 3.11." in comparison.environment[0]


def test_a_file_that_cannot_be_collected_is_told_and_stops_nothing(swept):
    text = sweep_markdown.render(swept.conclusion)
    assert "anything about tests in what cannot be collected: test\\_broken.py" in text
    assert len(re.findall(r"^\| `+test_a\.py", text, re.MULTILINE)) == 4


def test_it_is_kept_with_its_experiments(folder, swept, before):
    kept, old = read_sweeps(folder / ".triage")
    assert old.start == before, "latest first"
    assert kept.start == swept.conclusion.sweep.start
    assert kept.results == swept.conclusion.sweep.results
    assert kept.complete
    with History(folder / ".triage" / "history.db") as history:
        listed = {entry.experiment: entry.target for entry in history.list(limit=100)}
    assert all(listed[experiment] == target for target, experiment in kept.experiments)
    assert {target for target, _ in kept.experiments} == set(kept.start.selected)
