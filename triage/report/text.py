"""The verdict as text: what is wrong, why, where, how sure, and what to do, readable in ten seconds at 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from triage.model.verdict import Finding, Rate, Report
from triage.report import words
from triage.report.colour import BOLD, DIM, VERDICTS, paint
from triage.report.escape import command, prose, visible
from triage.report.layout import bar, pad, shorten, table, whole, wrap, wrap_command

LABEL = 15
"""Width of the column of labels, which stand at the right of it; the longest is `not established`."""
GAP = "  "
NARROWEST = 60
MOST_ARMS = 12
MOST_IDS = 5
BAR = 20
WIDEST_ARM = 30


def render(report: Report, *, width: int = 80, colour: bool = False, here: str = "") -> str:
    """Return the report as lines of at most `width` columns (ids, paths and single words of commands stay whole).

    `here` is the folder that the reader is in: where it is not the project's root, the page says from where to run commands.
    No line ends in a space and the last one in no line end; without `colour` there is no escape sequence in it.
    """
    page = _Page(max(width, NARROWEST), colour=colour)
    page.title(report, report.target)
    page.field("incomplete", words.INCOMPLETE if not report.complete else "")
    _explanation(page, report)
    _places(page, report)
    page.gap()
    _certainty(page, report)
    _commands(page, report)
    if report.reproduction and here and report.root and here != report.root:
        page.field("run them in", whole(visible(report.root)))
    page.gap()
    page.items("not established", [prose(item) for item in report.not_established], bullet=True)
    page.field("next", prose(report.next))
    _details(page, report)
    return "\n".join(page.lines)


class _Page:
    """Lines in two columns, label and text."""

    def __init__(self, width: int, *, colour: bool) -> None:
        self.lines: list[str] = []
        self.width = width
        self.colour = colour

    @property
    def room(self) -> int:
        return self.width - LABEL - len(GAP)

    def title(self, finding: Finding, subject: str) -> None:
        label = pad(words.TITLES[finding.verdict], LABEL, right=True)
        rows = wrap(f"{prose(words.headline(finding))}: {whole(visible(subject))}", self.room)
        self.lines.append(paint(label, VERDICTS[finding.verdict], colour=self.colour) + GAP + self._bold(rows[0]))
        self.lines.extend(" " * LABEL + GAP + self._bold(row) for row in rows[1:])

    def rows(self, label: str, rows: Iterable[str]) -> None:
        """Add rows that are broken already, the first of them after the label."""
        for row in rows:
            column = paint(pad(label, LABEL, right=True), DIM, colour=self.colour)
            self.lines.append((column + GAP + row).rstrip())
            label = ""

    def field(self, label: str, text: str) -> None:
        """Add one paragraph, or nothing if it is empty."""
        if text:
            self.rows(label, wrap(text, self.room))

    def items(self, label: str, items: Sequence[str], *, bullet: bool = False) -> None:
        """Add one paragraph for each item; with a bullet if there are several of them."""
        mark = "- " if bullet and len(items) > 1 else ""
        rows: list[str] = []
        for item in items:
            first, *rest = wrap(item, self.room - len(mark))
            rows += [mark + first, *(" " * len(mark) + row for row in rest)]
        self.rows(label, rows)

    def gap(self) -> None:
        if self.lines[-1]:
            self.lines.append("")

    def _bold(self, text: str) -> str:
        return paint(text, BOLD, colour=self.colour)


def _explanation(page: _Page, report: Report) -> None:
    page.field("why", prose(report.summary))
    page.items(
        "it may be",
        [
            f"{words.CANDIDATES[one.verdict]} ({prose(one.cause)}); to decide: {prose(one.missing)}"
            for one in report.hypotheses
        ],
        bullet=True,
    )
    page.field("failure", prose(report.signature or ""))


def _places(page: _Page, report: Report) -> None:
    page.items("where", [_where(report, index) for index in range(len(report.culprits))])
    page.items("polluted by", _capped([(one,) for one in report.polluters]))
    page.items("only together", _capped(report.polluter_sets))
    page.items("prepared by", _capped([(one,) for one in report.setters]))
    page.items("cleaned by", _capped([(one,) for one in report.cleaners]))
    page.items("state", _capped([(one,) for one in report.state]))
    page.field("trigger", visible(words.trigger(report)))


def _where(report: Report, index: int) -> str:
    culprit = report.culprits[index]
    place = whole(visible(words.place(culprit)))
    return ": ".join(part for part in (f"{place} ({prose(culprit.role)})".strip(), prose(culprit.what)) if part)


def _certainty(page: _Page, report: Report) -> None:
    measured = words.measurements(report)
    widest = max((len(what) for what, _ in measured), default=0)
    rows = wrap(words.meaning(report), page.room)
    for what, result in measured:
        first, *rest = wrap(result, page.room - widest - len(GAP))
        rows += [f"{pad(what, widest)}{GAP}{first}", *(" " * (widest + len(GAP)) + row for row in rest)]
    page.rows("how sure", rows)


def _commands(page: _Page, report: Report) -> None:
    for label, found in (("reproduce", report.reproduction), ("gone with", report.counterfactual)):
        if found:
            page.rows(label, wrap_command(command(found.command), page.room))
        elif report.verdict not in words.STABLE:
            page.field(label, words.NO_COMMAND)


def _details(page: _Page, report: Report) -> None:
    if report.rates:
        page.gap()
        page.lines.extend(arms_table(report.rates, page.width))
    page.gap()
    page.items("seen", [prose(one.statement) for one in report.evidence], bullet=True)
    for finding in words.others(report):
        page.items("also found", _other(finding))
    page.items("taken over", [prose(one) for one in report.takeovers], bullet=True)
    page.field("environment", prose(words.environment(report)))
    page.field("trials", prose(words.extent(report)))


def _other(finding: Finding) -> list[str]:
    rows = [f"{words.TITLES[finding.verdict]} {prose(words.headline(finding))}: {prose(finding.summary)}"]
    if finding.signature:
        rows.append(f"failure: {prose(finding.signature)}")
    if finding.reproduction:
        rows.append(f"reproduce: {command(finding.reproduction.command)}")
    return rows


def arms_table(rates: Sequence[Rate], width: int) -> list[str]:
    """Return one row for each arm with its count, rate, 95% interval and that interval as a bar, if there is room."""
    shown = words.by_interest(rates)[:MOST_ARMS]
    rows = [["arm", "failed", "rate", "95% interval", f" {pad('0%', BAR - 4)}100%"]]
    for rate in shown:
        known = rate.trials > 0
        rows.append(
            [
                shorten(visible(rate.arm), WIDEST_ARM),
                f"{rate.failed}/{rate.trials}",
                words.percent(rate.failed / rate.trials) if known else "-",
                words.interval(rate) if known else "-",
                bar(rate, BAR),
            ]
        )
    aligned = table(rows, frozenset({1, 2}), indent="  ")
    if max(len(row) for row in aligned) > width:
        aligned = table([row[:-1] for row in rows], frozenset({1, 2}), indent="  ")
    more = len(rates) - len(shown)
    return [*aligned, f"  and {words.plural(more, 'more arm')}, see `--format json`"] if more else aligned


def _capped(groups: Sequence[tuple[str, ...]]) -> list[str]:
    more = len(groups) - MOST_IDS
    shown = [" + ".join(whole(visible(name)) for name in group) for group in groups[:MOST_IDS]]
    return [*shown, f"and {more} more, see `--format json`"] if more > 0 else shown
