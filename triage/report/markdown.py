"""The verdict as Markdown for a pull request or an issue; the details are folded away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triage.model.verdict import Culprit, Finding, Rate, Report
from triage.report import words
from triage.report.escape import code, code_block, command, markdown

MOST_ARMS = 20
MOST_IDS = 10


def render(report: Report) -> str:
    """Return the report as GitHub-flavoured Markdown without a final line end; text of the target is shown as it is."""
    blocks = [
        f"### {title(report)}",
        f"Test: {code(report.target)}",
        f"> Incomplete: {words.INCOMPLETE}." if not report.complete else "",
        *body(report),
        _arms(report.rates),
        _details(report),
        f"<sub>{markdown(words.environment(report.environment))}; {markdown(words.extent(report))}</sub>",
    ]
    return "\n\n".join(block for block in blocks if block)


def title(finding: Finding) -> str:
    """Return verdict, cause and strength."""
    return f"{words.TITLES[finding.verdict].capitalize()}: {markdown(words.headline(finding))}"


def body(finding: Finding) -> Iterator[str]:
    """Yield what a headline and any other finding have in common."""
    yield f"**Why.** {markdown(finding.summary)}"
    yield listed(
        "It may be",
        [
            f"{words.CANDIDATES[one.verdict]} ({markdown(one.cause)}); to decide: {markdown(one.missing)}"
            for one in finding.hypotheses
        ],
    )
    yield f"**Failure.** {markdown(finding.signature)}" if finding.signature else ""
    yield listed("Where", [_where(culprit) for culprit in finding.culprits])
    for label, names in (
        ("Polluted by", [(one,) for one in finding.polluters]),
        ("Only together", finding.polluter_sets),
        ("Prepared by", [(one,) for one in finding.setters]),
        ("Cleaned by", [(one,) for one in finding.cleaners]),
        ("State", [(one,) for one in finding.state]),
    ):
        yield listed(label, _capped(names))
    trigger = words.trigger(finding)
    yield f"**Trigger.** {code(trigger)}" if trigger else ""
    sure = [f"{what}: {markdown(result)}" for what, result in words.measurements(finding)]
    yield listed(f"How sure: {words.meaning(finding)}", sure) or (
        f"**How sure.** {words.meaning(finding).capitalize()}."
    )
    for label, found in (("Reproduce", finding.reproduction), ("Gone with", finding.counterfactual)):
        if found:
            yield f"**{label}.**\n\n{code_block(command(found.command), 'sh')}"
        elif finding.verdict not in words.STABLE:
            yield f"**{label}.** {words.NO_COMMAND.capitalize()}."
    yield listed("Not established", [markdown(one) for one in finding.not_established])
    yield f"**Next.** {markdown(finding.next)}" if finding.next else ""


def _where(culprit: Culprit) -> str:
    place = words.place(culprit)
    known = f"{code(place)} ({markdown(culprit.role)})" if place else f"({markdown(culprit.role)})"
    return f"{known}: {markdown(culprit.what)}" if culprit.what else known


def _arms(rates: Sequence[Rate]) -> str:
    if not rates:
        return ""
    rows = ["| arm | failed | rate | 95% interval |", "| --- | ---: | ---: | --- |"]
    for rate in words.by_interest(rates)[:MOST_ARMS]:
        share = words.percent(rate.failed / rate.trials) if rate.trials else "-"
        known = words.interval(rate) if rate.trials else "-"
        rows.append(f"| {code(rate.arm, in_table=True)} | {rate.failed}/{rate.trials} | {share} | {known} |")
    more = len(rates) - MOST_ARMS
    return "\n".join(rows) + (f"\n\nAnd {words.plural(more, 'more arm')}, see `--format json`." if more > 0 else "")


def _details(report: Report) -> str:
    sections = [
        listed("Seen", [markdown(one.statement) for one in report.evidence]),
        listed("Switched off or taken over during trials", [markdown(one) for one in report.takeovers]),
    ]
    for finding in words.others(report):
        sections += [f"#### Also found: {title(finding)}", *body(finding)]
    content = "\n\n".join(section for section in sections if section)
    return f"<details>\n<summary>Details</summary>\n\n{content}\n\n</details>" if content else ""


def listed(label: str, entries: Sequence[str]) -> str:
    """Return nothing, one paragraph, or a list under its label."""
    if not entries:
        return ""
    if len(entries) == 1:
        return f"**{label}.** {entries[0]}"
    return "\n".join([f"**{label}.**", "", *(f"- {item}" for item in entries)])


def _capped(groups: Sequence[tuple[str, ...]]) -> list[str]:
    more = len(groups) - MOST_IDS
    shown = [" + ".join(code(name) for name in group) for group in groups[:MOST_IDS]]
    return [*shown, f"and {more} more, see `--format json`"] if more > 0 else shown
