"""The report of a sweep as text: a table, what needs somebody's attention, what changed, and what stays open."""

from __future__ import annotations

from collections.abc import Sequence

from triage.model.sweep import Change, Comparison, Conclusion, Result, State
from triage.model.verdict import Verdict
from triage.report import sweep_words as said
from triage.report import words
from triage.report.colour import BOLD, VERDICTS, paint
from triage.report.escape import command, prose, visible
from triage.report.layout import shorten, table, whole, wrap, wrap_command

INDENT = "  "
MOST_LISTED = 10
WIDEST = 32
"""Columns of a cause or trigger in the table."""


def render(conclusion: Conclusion, *, width: int = 100, colour: bool = False) -> str:
    """Return the report as lines; ids, commands and table rows may be wider than `width` columns."""
    page = _Page(width, colour=colour)
    sweep = conclusion.sweep
    page.bold(f"sweep {sweep.start.sweep}, {said.moment(sweep.start.started)}")
    page.add(f"{said.headline(sweep)}. These are {prose(said.selection(sweep.start.selection))}.", indent="")
    if not sweep.complete:
        page.add(f"{said.unfinished(sweep)}. This is what was known by then.", indent="")
    page.gap()
    page.lines += _table(conclusion, colour=colour)
    results = sweep.by_target
    for report in said.grave(conclusion):
        page.section(f"{said.TITLES[report.verdict].lower()}: {visible(report.target)}")
        page.add(prose(report.summary))
        if report.reproduction:
            found = report.reproduction
            page.add(f"reproduce ({found.failed} of {found.trials} failed):")
            page.lines += [INDENT * 2 + row for row in wrap_command(command(found.command), width - 4)]
        elif (result := results.get(report.target)) and result.failing_command:
            page.add(f"seen to fail with{said.times(result)}:")
            page.lines += [INDENT * 2 + row for row in wrap_command(command(result.failing_command), width - 4)]
        else:
            page.add("no command has been confirmed to do it")
        page.add(f"everything else: triage show {report.experiment}")
    page.listed(
        "what else was found",
        [
            f"{whole(visible(result.target))}, {prose(said.said(result))}: {prose(result.summary)} "
            f"({whole(f'triage show {result.experiment}')})"
            for result in said.other_findings(conclusion)
        ],
    )
    _comparison(page, conclusion)
    stable, too_few = said.removables(sweep)
    page.listed(
        "marks that may be removed, if such a rate would be acceptable",
        [*(f"{whole(visible(result.target))}: {text}" for result, text in stable), *filter(None, [too_few])],
    )
    page.listed(
        "without a verdict",
        [
            f"{whole(visible(result.target))}: {prose(result.why)}"
            for result in said.by_gravity(sweep.everything)
            if result.state in {State.UNRUNNABLE, State.EXPECTED_FAILURE}
        ],
    )
    page.listed("not established", [prose(item) for item in said.not_established(conclusion)], cap=False)
    page.section("how to make this report again")
    page.lines += [INDENT + row for row in wrap_command(command(sweep.start.command), width - 2)]
    page.add(prose(said.origin(sweep.start) + words.environment(sweep.start.environment)))
    page.add(said.extent(sweep, conclusion.reports))
    return "\n".join(page.lines)


class _Page:
    def __init__(self, width: int, *, colour: bool) -> None:
        self.lines: list[str] = []
        self.width = width
        self.colour = colour

    def bold(self, text: str) -> None:
        self.lines.append(paint(text, BOLD, colour=self.colour))

    def gap(self) -> None:
        if self.lines and self.lines[-1]:
            self.lines.append("")

    def section(self, name: str) -> None:
        self.gap()
        self.bold(name)

    def add(self, text: str, indent: str = INDENT) -> None:
        self.lines += [indent + row for row in wrap(text, self.width - len(indent))]

    def listed(self, name: str, items: Sequence[str], *, cap: bool = True) -> None:
        """Add a section with an item a paragraph, or nothing without any."""
        if not items:
            return
        self.section(name)
        shown = items[:MOST_LISTED] if cap else items
        for item in shown:
            first, *rest = wrap(item, self.width - 4)
            self.lines += [f"{INDENT}- {first}", *(f"{INDENT}  {row}" for row in rest)]
        if len(shown) < len(items):
            self.lines.append(f"{INDENT}- and {len(items) - len(shown)} more, see `--format md`")


def _table(conclusion: Conclusion, *, colour: bool) -> list[str]:
    results = said.by_gravity(conclusion.sweep.everything)
    if not results:
        return ["no test was selected" + (" for this shard" if conclusion.sweep.start.selection.shard else "")]
    since = said.since(conclusion)
    rows = [["verdict", "cause, strength", "failed alone (95%)", "trigger", "since", "test"]]
    for result in results:
        sure = ", ".join(part for part in (shorten(prose(result.cause or ""), WIDEST), said.strength(result)) if part)
        rate = said.rate(result.rate, result.forked) if result.state is State.EXAMINED else ""
        rows.append(
            [
                said.TITLES[said.kind(result)],
                sure,
                rate,
                shorten(prose(said.trigger(result)), WIDEST),
                since.get(result.target, ""),
                visible(result.target),
            ]
        )
    lines = table(rows, frozenset())
    if colour:
        lines[1:] = [_painted(line, result) for line, result in zip(lines[1:], results, strict=True)]
    return lines


def _painted(line: str, result: Result) -> str:
    kind = said.kind(result)
    title = said.TITLES[kind]
    if not isinstance(kind, Verdict) or not line.startswith(title):
        return line
    return paint(title, VERDICTS[kind], colour=True) + line[len(title) :]


def _comparison(page: _Page, conclusion: Conclusion) -> None:
    comparison = conclusion.comparison
    page.section("since the sweep before")
    if comparison is None:
        page.add("there is no earlier sweep with this selection to compare with")
        return
    how = "" if comparison.complete else ", which was interrupted"
    page.add(f"compared with sweep {comparison.sweep} of {said.moment(comparison.started)}{how}")
    if comparison.environment:
        page.add(
            f"the environment differs, which may explain other differences: {prose('; '.join(comparison.environment))}"
        )
    for label, items in _changes(conclusion, comparison):
        page.add(f"{label} ({len(items)})")
        for item in items[:MOST_LISTED]:
            first, *rest = wrap(item, page.width - 6)
            page.lines += [f"{INDENT * 2}- {first}", *(f"{INDENT * 3}{row}" for row in rest)]
        if len(items) > MOST_LISTED:
            page.lines.append(f"{INDENT * 2}- and {len(items) - MOST_LISTED} more, see `--format json`")
    still = len(said.compared(comparison, Change.STILL))
    page.add(f"{still} still the same; {said.rates_note(comparison)}")


def _changes(conclusion: Conclusion, comparison: Comparison) -> list[tuple[str, list[str]]]:
    results = conclusion.sweep.by_target

    def named(change: Change) -> list[str]:
        found = []
        for one in said.compared(comparison, change):
            was = f", was {prose(said.said(one.before))}" if change is not Change.NEW else ""
            found.append(f"{whole(visible(one.target))}: {prose(said.said(results.get(one.target)))}{was}")
        return found

    gone = [
        f"{whole(visible(one.target))}: {prose(one.why)}; it was {prose(said.said(one.before))}"
        for one in comparison.gone
    ]
    rates = [f"{whole(visible(target))} {text}" for target, text in said.differences(comparison, results)]
    groups = [
        ("new", named(Change.NEW)),
        ("gone", gone),
        ("verdict changed", named(Change.CHANGED)),
        ("not compared", named(Change.NOT_COMPARED)),
        ("rates", rates),
    ]
    return [(label, items) for label, items in groups if items]
