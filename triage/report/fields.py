"""What the page of an experiment says, as labelled paragraphs: the text report and the terminal application draw the same ones.

Every text in a field is escaped already and has no markup; what must not be broken at its spaces is `layout.whole`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from triage.model.verdict import Culprit, Finding, Rate, Report
from triage.report import words
from triage.report.escape import command, prose, visible
from triage.report.layout import GAP, fold, pad, whole, wrap, wrap_command

BULLET = "- "


class Field(NamedTuple):
    """A label and its paragraphs; one without paragraphs is left out by whoever draws it."""

    label: str
    items: tuple[tuple[str, str], ...]
    """What a paragraph begins with and is indented by, and its text."""
    is_command: bool = False

    def rows(self, width: int, *, folded: bool = False) -> list[str]:
        """Return the lines of all paragraphs; `folded` breaks words that are wider than `width`."""
        result: list[str] = []
        for lead, text in self.items:
            room = width - len(lead)
            rows = wrap_command(text, room) if self.is_command else wrap(text, room)
            if folded:
                rows = [piece for row in rows for piece in fold(row, room)]
            result += [(lead if number == 0 else " " * len(lead)) + row for number, row in enumerate(rows)]
        return result


def paragraph(label: str, text: str) -> Field:
    """Return a field of one paragraph, or of none if it is empty."""
    return Field(label, (("", text),) if text else ())


def listed(label: str, items: Sequence[str], *, bullet: bool = False) -> Field:
    """Return a field of a paragraph for each item; with a bullet if there are several of them."""
    lead = BULLET if bullet and len(items) > 1 else ""
    return Field(label, tuple((lead, item) for item in items))


def explanation(finding: Finding) -> Iterator[Field]:
    """Yield why, what else it may be, and the failure."""
    yield paragraph("why", prose(finding.summary))
    may_be = [
        f"{words.CANDIDATES[one.verdict]} ({prose(one.cause)}); to decide: {prose(one.missing)}"
        for one in finding.hypotheses
    ]
    yield listed("it may be", may_be, bullet=True)
    yield paragraph("failure", prose(finding.signature or ""))


def places(finding: Finding, most: int | None = None) -> Iterator[Field]:
    """Yield where: culprits, other tests, state and trigger; of long lists at most so many."""
    yield listed("where", [_where(culprit) for culprit in finding.culprits])
    yield listed("polluted by", _capped([(one,) for one in finding.polluters], most))
    yield listed("only together", _capped(finding.polluter_sets, most))
    yield listed("prepared by", _capped([(one,) for one in finding.setters], most))
    yield listed("cleaned by", _capped([(one,) for one in finding.cleaners], most))
    yield listed("state", _capped([(one,) for one in finding.state], most))
    yield paragraph("trigger", visible(words.trigger(finding)))


def certainty(finding: Finding) -> Field:
    """Return how sure it is, and the counts that carry the verdict."""
    measured = words.measurements(finding)
    widest = max((len(what) for what, _ in measured), default=0)
    counts = tuple((f"{pad(what, widest)}{GAP}", result) for what, result in measured)
    return Field("how sure", (("", words.meaning(finding)), *counts))


def commands(finding: Finding) -> Iterator[Field]:
    """Yield the command that makes it fail and the one that does not; that there is none is said of what is not stable."""
    for label, found in (("reproduce", finding.reproduction), ("gone with", finding.counterfactual)):
        if found:
            yield Field(label, (("", command(found.command)),), is_command=True)
        elif finding.verdict not in words.STABLE:
            yield paragraph(label, words.NO_COMMAND)


def outlook(finding: Finding) -> Iterator[Field]:
    """Yield what stays open and what to do."""
    yield listed("not established", [prose(item) for item in finding.not_established], bullet=True)
    yield paragraph("next", prose(finding.next))


def evidence(finding: Finding) -> Field:
    """Return what was seen."""
    return listed("seen", [prose(one.statement) for one in finding.evidence], bullet=True)


def in_short(finding: Finding) -> list[str]:
    """Return the paragraphs of a finding that is not the one that the page is about."""
    rows = [f"{words.TITLES[finding.verdict]} {prose(words.headline(finding))}: {prose(finding.summary)}"]
    if finding.signature:
        rows.append(f"failure: {prose(finding.signature)}")
    if finding.reproduction:
        rows.append(f"reproduce: {command(finding.reproduction.command)}")
    return rows


def circumstances(report: Report) -> Iterator[Field]:
    """Yield in what the trials ran and how many there were."""
    yield listed("taken over", [prose(one) for one in report.takeovers], bullet=True)
    yield paragraph("environment", prose(words.environment(report.environment)))
    yield paragraph("trials", prose(words.extent(report)))


def counts(rate: Rate) -> list[str]:
    """Return the cells of an arm: failures of trials, rate, interval."""
    known = rate.trials > 0
    return [
        f"{rate.failed}/{rate.trials}",
        words.percent(rate.failed / rate.trials) if known else "-",
        words.interval(rate) if known else "-",
    ]


def _where(culprit: Culprit) -> str:
    place = whole(visible(words.place(culprit)))
    return ": ".join(part for part in (f"{place} ({prose(culprit.role)})".strip(), prose(culprit.what)) if part)


def _capped(groups: Sequence[tuple[str, ...]], most: int | None) -> list[str]:
    shown = [" + ".join(whole(visible(name)) for name in group) for group in groups[:most]]
    more = len(groups) - len(shown)
    return [*shown, f"and {more} more, see `--format json`"] if more > 0 else shown
