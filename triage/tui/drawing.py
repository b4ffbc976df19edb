"""The pages as lines: of an experiment, of a trial, and what is said in short of the experiment under the cursor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from triage.model.entry import Entry, State
from triage.model.trial import Trial
from triage.model.verdict import Finding, Rate, Report
from triage.report import fields, trial, trials, words
from triage.report.escape import prose, visible
from triage.report.fields import Field, paragraph
from triage.report.layout import GAP, LABEL, bar, fold, pad, whole, wrap
from triage.tui import listing
from triage.tui.canvas import VERDICTS, Line, Span
from triage.tui.text import Drawing

WIDEST = 120
"""Columns of a page: longer lines are hard to read."""
MARGIN = 1
WIDEST_BAR = 50
NARROWEST_BAR = 12
BAR = ("│", "·", "━", "●")
EMPTY: Line = ()


def experiment(report: Report, which: int, entry: Entry, here: str) -> Drawing:
    """Return the page of an experiment with one of its findings in full.

    `entry` knows when it was started, `here` is the folder in which the reader is.
    """
    findings = report.findings or (report,)
    finding = findings[which]
    others = [other for number, other in enumerate(findings) if number != which]

    def draw(width: int) -> Sequence[Line]:
        page = min(width, WIDEST) - MARGIN
        lines = list(_title(finding, report.target, page))
        if others:
            told = f"{which + 1} of {len(findings)}, gravest first; press n or p for the others"
            lines += _fields([paragraph("finding", told)], page)
        lines += _fields([paragraph("incomplete", words.INCOMPLETE if not report.complete else "")], page)
        lines += _fields([*fields.explanation(finding), *fields.places(finding)], page)
        lines += [EMPTY, *_fields([fields.certainty(finding)], page)]
        lines += _fields(fields.commands(finding), page)
        lines += _fields([paragraph("", _copying(finding))], page, "label")
        if (finding.reproduction or finding.counterfactual) and report.root != here:
            lines += _fields([paragraph("run them in", whole(visible(report.root)))], page)
        lines += [EMPTY, *_fields(fields.outlook(finding), page)]
        if finding.rates:
            lines += [EMPTY, *_arms(words.by_interest(finding.rates), page)]
        lines += [EMPTY, *_fields([fields.evidence(finding)], page)]
        for other in others:
            lines += _fields([fields.listed("also found", fields.in_short(other))], page)
        started = paragraph("started", trials.moment(entry.started))
        lines += _fields([*fields.circumstances(report), started], page)
        return lines

    return draw


def one_trial(shown: Trial) -> Drawing:
    """Return the page of a trial."""

    def draw(width: int) -> Sequence[Line]:
        lines = _fields(trial.details(shown), min(width, WIDEST) - MARGIN)
        for title, rows in trial.texts(shown):
            lines += [EMPTY, (Span(" " * MARGIN), Span(title, "strong"))]
            lines += [(Span(" " * MARGIN), Span(piece)) for row in rows for piece in fold(row, width - 2 * MARGIN)]
        return [*lines, EMPTY, *_fields([trial.sequence(shown)], min(width, WIDEST) - MARGIN)]

    return draw


def in_short(entry: Entry) -> Drawing:
    """Return what the list has no room for: the whole target, the rates with what they exclude, the reason."""

    def draw(width: int) -> Sequence[Line]:
        state = [
            trials.verdict(entry),
            entry.cause or "",
            listing.strength(entry),
            f"started {trials.moment(entry.started)}",
        ]
        shown = [
            paragraph("test", whole(visible(entry.target))),
            paragraph("verdict", prose("; ".join(part for part in state if part))),
            paragraph("run alone", _rate(entry.baseline)),
            paragraph("worst arm", f"{visible(entry.worst.arm)}: {_rate(entry.worst)}" if entry.worst else ""),
            paragraph("why", prose(entry.summary) or _unfinished(entry)),
        ]
        return _fields(shown, min(width, WIDEST) - MARGIN)

    return draw


def notice(message: str, hint: str | None) -> Drawing:
    """Return an error, or why there is nothing to see, and what to do."""

    def draw(width: int) -> Sequence[Line]:
        room = max(1, min(width, WIDEST) - 2 * MARGIN)
        rows = [(row, "strong") for row in wrap(prose(message), room)]
        rows += [(row, "") for row in wrap(prose(hint), room)] if hint else []
        return [EMPTY, *[(Span(" " * MARGIN), Span(piece, style)) for row, style in rows for piece in fold(row, room)]]

    return draw


def _title(finding: Finding, target: str, width: int) -> Iterator[Line]:
    room = width - MARGIN - LABEL - len(GAP)
    label = pad(words.TITLES[finding.verdict], MARGIN + LABEL, right=True)
    for row in wrap(f"{prose(words.headline(finding))}: {whole(visible(target))}", room):
        for piece in fold(row, room):
            yield Span(label, VERDICTS[finding.verdict]), Span(GAP), Span(piece, "strong")
            label = " " * len(label)


def _fields(shown: Iterable[Field], width: int, style: str = "") -> list[Line]:
    lines: list[Line] = []
    for field in shown:
        label = field.label
        for row in field.rows(max(1, width - MARGIN - LABEL - len(GAP)), folded=True):
            shade = "strong" if field.is_command else style
            lines.append((Span(pad(label, MARGIN + LABEL, right=True), "label"), Span(GAP), Span(row, shade)))
            label = ""
    return lines


def _arms(rates: Sequence[Rate], width: int) -> Iterator[Line]:
    """Yield a row for each arm, with its interval drawn; a label that has no room beside it stands above."""
    cells = [fields.counts(rate) for rate in rates]
    titles = ("failed", "rate", "95% interval")
    widths = [max(len(titles[column]), *(len(row[column]) for row in cells)) for column in range(3)]
    numbers = sum(widths) + 3 * len(GAP)
    labels = [visible(rate.arm) for rate in rates]
    room = max(1, width - MARGIN - numbers - len(GAP) - NARROWEST_BAR - 2)
    left = min(room, max(len("arm"), *(len(label) for label in labels)))
    drawn = min(WIDEST_BAR, width - MARGIN - left - numbers - len(GAP) - 2)
    head = _columns(titles, widths)
    yield (Span(f"{' ' * MARGIN}{pad('arm', left)}{head}{GAP} 0%{pad('100%', drawn - 2, right=True)}", "label"),)
    for label, row, rate in zip(labels, cells, rates, strict=True):
        *above, beside = list(fold(label, left)) if len(label) <= 2 * left else [*fold(label, width - MARGIN), ""]
        for piece in above:
            yield Span(" " * MARGIN), Span(piece, "strong")
        yield (
            Span(" " * MARGIN),
            Span(pad(beside, left), "strong"),
            Span(_columns(row, widths) + GAP),
            Span(bar(rate, drawn, BAR), "bar"),
        )


def _columns(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "".join(
        GAP + pad(cell, width, right=place < 2) for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )


def _copying(finding: Finding) -> str:
    if finding.reproduction and finding.counterfactual:
        return "press c to copy the first command, C for the second"
    return "press c to copy it" if finding.reproduction else "press C to copy it" if finding.counterfactual else ""


def _rate(rate: Rate | None) -> str:
    return words.outcome(rate.failed, rate.trials, rate.low, rate.high) if rate else ""


def _unfinished(entry: Entry) -> str:
    state = "it is still running" if entry.state is State.RUNNING else "it was ended before it had a verdict"
    return f"{state}; so far {entry.failed} of {words.plural(entry.counted, 'trial')} failed"
