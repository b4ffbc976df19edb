"""The verdict as text: what is wrong, why, where, how sure, and what to do, readable in ten seconds at 80 columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from triage.model.verdict import Finding, Rate, Report
from triage.report import fields, words
from triage.report.colour import BOLD, DIM, VERDICTS, paint
from triage.report.escape import prose, visible
from triage.report.fields import Field
from triage.report.layout import GAP, LABEL, bar, pad, shorten, table, whole, wrap

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
    page.add(fields.paragraph("incomplete", words.INCOMPLETE if not report.complete else ""))
    page.add(*fields.explanation(report), *fields.places(report, MOST_IDS))
    page.gap()
    page.add(fields.certainty(report), *fields.commands(report))
    if report.reproduction and here and report.root and here != report.root:
        page.add(fields.paragraph("run them in", whole(visible(report.root))))
    page.gap()
    page.add(*fields.outlook(report))
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

    def add(self, *added: Field) -> None:
        """Add fields; those without text are left out."""
        for field in added:
            self.rows(field.label, field.rows(self.room))

    def gap(self) -> None:
        if self.lines[-1]:
            self.lines.append("")

    def _bold(self, text: str) -> str:
        return paint(text, BOLD, colour=self.colour)


def _details(page: _Page, report: Report) -> None:
    if report.rates:
        page.gap()
        page.lines.extend(arms_table(report.rates, page.width))
    page.gap()
    page.add(fields.evidence(report))
    for finding in words.others(report):
        page.add(fields.listed("also found", fields.in_short(finding)))
    page.add(*fields.circumstances(report))


def arms_table(rates: Sequence[Rate], width: int) -> list[str]:
    """Return one row for each arm with its count, rate, 95% interval and that interval as a bar, if there is room."""
    shown = words.by_interest(rates)[:MOST_ARMS]
    rows = [["arm", "failed", "rate", "95% interval", f" {pad('0%', BAR - 4)}100%"]]
    rows += [[shorten(visible(rate.arm), WIDEST_ARM), *fields.counts(rate), bar(rate, BAR)] for rate in shown]
    aligned = table(rows, frozenset({1, 2}), indent="  ")
    if max(len(row) for row in aligned) > width:
        aligned = table([row[:-1] for row in rows], frozenset({1, 2}), indent="  ")
    more = len(rates) - len(shown)
    return [*aligned, f"  and {words.plural(more, 'more arm')}, see `--format json`"] if more else aligned
