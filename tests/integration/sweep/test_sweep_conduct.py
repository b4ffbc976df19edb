"""Sweeps of a real project by the use case itself, with few trials: what is swept, kept, compared and reported."""

from __future__ import annotations

import json
import re

import pytest
from jsonschema import Draft202012Validator

from triage.errors import ExitCode
from triage.model.sweep import Change, Selection, State
from triage.model.verdict import Verdict
from triage.report import sweep_json, sweep_markdown
from triage.session.options import RunOptions
from triage.store.history import History
from triage.store.sweeps import read_sweeps
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
    return folder


@pytest.fixture(scope="module")
def first(folder, variables):
    return Swept(folder, variables, fail_on=(Verdict.REAL_BUG, Verdict.UNDETERMINED))


@pytest.fixture(scope="module")
def second(folder, variables, first):
    """With one mark less, one more, and a file that is broken."""
    text = MARKED.replace("@pytest.mark.flaky\n@pytest.mark.xfail", "@pytest.mark.xfail")
    (folder / "test_a.py").write_text(text.replace("def test_other", "@pytest.mark.quarantine\ndef test_other"))
    (folder / "test_broken.py").write_text("import nowhere_to_be_found\n")
    return Swept(folder, variables)


def test_every_marked_test_is_tried_or_said_why_not(first):
    assert {target: result.state for target, result in first.results.items()} == {
        ASIDE: State.EXAMINED,
        SKIPPED: State.UNRUNNABLE,
        EXPECTED: State.EXPECTED_FAILURE,
        CRASH: State.EXAMINED,
    }
    assert first.results[SKIPPED].why == "it is skipped: not | here"
    assert first.results[EXPECTED].verdict is None, "nothing is claimed of it"
    assert [report.target for report in first.reports] == list(first.results)
    assert first.conclusion.sweep.complete
    assert first.conclusion.comparison is None


def test_the_projects_own_mark_expression_is_taken_back(first):
    rate = first.results[ASIDE].rate
    assert rate.failed == 0
    assert rate.trials >= 1
    assert "-m ''" in first.results[CRASH].failing_command


def test_one_that_could_not_be_run_stops_no_other_and_gives_the_status(first):
    assert first.code is ExitCode.UNRUNNABLE, "which comes before a condition that held"


def test_a_crash_has_a_section_with_the_command_that_crashed(first):
    text = sweep_markdown.render(first.conclusion)
    section = text.partition(f"#### `{CRASH}`")[2].partition("###")[0]
    assert "SIGSEGV at shop.py:5 in peek" in section
    assert first.results[CRASH].failing_command in section


def test_what_is_printed_as_json_validates(first, second, pytestconfig):
    schema = json.loads((pytestconfig.rootpath / "docs" / "sweep.schema.json").read_text())
    for swept in (first, second):
        printed = json.loads(sweep_json.render(swept.conclusion))
        Draft202012Validator(schema).validate(printed)
        assert printed["counts"]["selected"] == 4


def test_the_second_sweep_is_compared_with_the_first(first, second):
    comparison = second.conclusion.comparison
    assert comparison.sweep == first.conclusion.sweep.start.sweep
    assert {one.target: one.change for one in comparison.tests} == {
        ASIDE: Change.STILL,
        SKIPPED: Change.NOT_COMPARED,
        OTHER: Change.NEW,
        CRASH: Change.STILL,
    }
    assert [(gone.target, gone.why) for gone in comparison.gone] == [(EXPECTED, "no longer marked")]
    since = {one.target: one.sweep for one in second.conclusion.since}
    assert since == {
        ASIDE: first.conclusion.sweep.start.sweep,
        CRASH: first.conclusion.sweep.start.sweep,
        OTHER: second.conclusion.sweep.start.sweep,
    }


def test_a_file_that_cannot_be_collected_is_told_and_stops_nothing(second):
    text = sweep_markdown.render(second.conclusion)
    assert "anything about tests in what cannot be collected: test\\_broken.py" in text
    assert len(re.findall(r"^\| `+test_a\.py", text, re.MULTILINE)) == 4


def test_each_sweep_is_kept_with_its_experiments(folder, first, second):
    kept = read_sweeps(folder / ".triage")
    assert [sweep.start.sweep for sweep in kept] == [swept.conclusion.sweep.start.sweep for swept in (second, first)], (
        "latest first"
    )
    assert [sweep.results for sweep in kept] == [swept.conclusion.sweep.results for swept in (second, first)]
    with History(folder / ".triage" / "history.db") as history:
        listed = {entry.experiment: entry.target for entry in history.list(limit=100)}
    for sweep in kept:
        assert all(listed[experiment] == target for target, experiment in sweep.experiments)
        assert {target for target, _ in sweep.experiments} == set(sweep.start.selected)
