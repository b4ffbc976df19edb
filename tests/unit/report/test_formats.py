"""What the formats look like, and what holds for each of them whatever the report says."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable

import msgspec
import pytest

from triage.model.verdict import Report
from triage.report import json_report, markdown, text

NAMES = (
    "crash",
    "two_findings",
    "undetermined",
    "polluted",
    "stable_pass",
    "stable_fail",
    "interrupted",
    "hostile",
)
HOSTILE_END = "\\udc80 '\\"
"""Ends an id with spaces, which stays in one piece."""
Reports = dict[str, Report]
Compare = Callable[[str, str], None]
named = pytest.mark.parametrize("name", NAMES)


def test_every_report_has_a_name_here(reports: Reports) -> None:
    assert tuple(reports) == NAMES


@named
def test_text(reports: Reports, same_as_gold: Compare, name: str) -> None:
    same_as_gold(f"{name}.txt", text.render(reports[name]))


@named
def test_markdown(reports: Reports, same_as_gold: Compare, name: str) -> None:
    same_as_gold(f"{name}.md", markdown.render(reports[name]))


@named
def test_json(reports: Reports, same_as_gold: Compare, name: str) -> None:
    same_as_gold(f"{name}.json", json_report.render(reports[name]))


@named
@pytest.mark.parametrize("width", [60, 80, 120])
def test_text_keeps_to_the_width_except_for_whole_words(reports: Reports, name: str, width: int) -> None:
    for line in text.render(reports[name], width=width).splitlines():
        content = line[text.LABEL + len(text.GAP) :].removeprefix("- ").removesuffix(" \\")
        whole = " " not in re.sub(r"'[^']*'", "", content.strip()) or HOSTILE_END in content
        assert len(line) <= width or whole, line
        assert line == line.rstrip()


@named
@pytest.mark.parametrize("render", [text.render, markdown.render, json_report.render])
def test_nothing_invisible_comes_out(reports: Reports, render: Callable[[Report], str], name: str) -> None:
    allowed = "\n" if render is not json_report.render else ""
    for char in render(reports[name]):
        assert char in allowed or unicodedata.category(char) not in {"Cc", "Cs", "Zl", "Zp"}


@named
def test_colour_only_adds(reports: Reports, name: str) -> None:
    plain = text.render(reports[name])
    coloured = text.render(reports[name], colour=True)
    assert coloured != plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_json_keys_stand_in_the_order_of_the_contract(reports: Reports) -> None:
    found = json.loads(json_report.render(reports["two_findings"]))
    assert tuple(found)[: len(json_report.REPORT_KEYS)] == json_report.REPORT_KEYS
    assert set(found) == set(Report.__struct_fields__)
    for finding in found["findings"]:
        assert tuple(finding)[: len(json_report.FINDING_KEYS)] == json_report.FINDING_KEYS


@named
def test_json_reads_back_as_the_same_report(reports: Reports, name: str) -> None:
    read = msgspec.json.decode(json_report.render(reports[name]), type=Report)
    if name == "hostile":  # half a surrogate pair cannot be written
        assert "\\udc80" in read.target
    else:
        assert read == reports[name]


def test_absent_knowledge_is_null(reports: Reports) -> None:
    found = json.loads(json_report.render(reports["interrupted"]))
    keys = ("cause", "trigger", "reproduction", "counterfactual", "layers", "receipt")
    assert [found[key] for key in keys] == [None] * 6
    assert found["environment"]["pytest"] is None


def test_other_findings_are_in_text_and_markdown(reports: Reports) -> None:
    for render in (text.render, markdown.render):
        shown = render(reports["two_findings"])
        assert "The test allows 50 ms" in shown
        assert "python -m pytest tests/test_codec.py" in shown


def test_nothing_is_left_out_in_silence(reports: Reports) -> None:
    shown = text.render(reports["stable_pass"])
    assert "and 3 more arms" in shown
    assert "and 2 more, see" in text.render(reports["polluted"])


@pytest.mark.parametrize("render", [text.render, markdown.render])
@pytest.mark.parametrize("name", ["interrupted", "undetermined", "stable_pass"])
def test_no_format_claims_what_the_report_does_not(
    reports: Reports, render: Callable[[Report], str], name: str
) -> None:
    shown = render(reports[name]).lower()
    assert "real bug (" not in shown.partition("it may be")[0]
    assert "established" not in shown.replace("not established", "").replace("nothing established", "")
    assert ("no command has been confirmed" in shown) == (name == "interrupted")
