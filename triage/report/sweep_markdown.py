"""The report of a sweep as Markdown, for an issue, a job summary or a file: one table, and what needs somebody's attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from triage.model.sweep import Change, Comparison, Conclusion, Result, State
from triage.model.verdict import Report
from triage.report import sweep_words as said
from triage.report import words
from triage.report.escape import code, code_block, command, markdown, prose, visible
from triage.report.layout import shorten
from triage.report.markdown import body, title

MOST_LISTED = 20
"""Tests of one kind that are named in the comparison; the table has all of this sweep."""
WIDEST = 40
"""Characters of a cause or trigger in the table: the section of the test has all of it."""
UNCONFIRMED = ("**Reproduce.** ", "**Gone with.** ")
ROWS = ("test", "verdict", "cause", "strength", "failure rate (95%)", "trigger", "since")


def render(conclusion: Conclusion) -> str:
    """Return the report as GitHub-flavoured Markdown without a final line end; text of the target is shown as it is."""
    sweep = conclusion.sweep
    blocks = [
        f"## Flaky-test sweep, {said.moment(sweep.start.started)}",
        f"**{markdown(said.headline(sweep))}.** These are {markdown(said.selection(sweep.start.selection))}.",
        f"> {markdown(said.unfinished(sweep).capitalize())}. This is what was known by then."
        if not sweep.complete
        else "",
        _table(conclusion),
        *_grave(conclusion),
        _section("What else was found", "", [_other(result) for result in said.other_findings(conclusion)]),
        _comparison(conclusion),
        _removable(conclusion),
        _without_verdict(conclusion),
        _section("Not established", "", [markdown(item) for item in said.not_established(conclusion)]),
        *_origin(conclusion),
    ]
    return "\n\n".join(block for block in blocks if block)


def _table(conclusion: Conclusion) -> str:
    results = said.by_gravity(conclusion.sweep.everything)
    if not results:
        return (
            "No test was selected for this shard."
            if conclusion.sweep.start.selection.shard
            else "No test was selected."
        )
    since = said.since(conclusion)
    rows = [f"| {' | '.join(ROWS)} |", "| --- | --- | --- | --- | --- | --- | --- |"]
    rows += [_row(result, since.get(result.target, "")) for result in results]
    return (
        "\n".join(rows)
        + f"\n\n<sub>{said.RATE_NOTE} Since: the first sweep in a row with this verdict and cause.</sub>"
    )


def _row(result: Result, since: str) -> str:
    trigger = shorten(visible(said.trigger(result)), WIDEST)
    cells = (
        code(result.target, in_table=True),
        said.TITLES[said.kind(result)].lower(),
        markdown(shorten(prose(result.cause or ""), WIDEST)),
        said.strength(result),
        markdown(said.rate(result.rate, result.forked)) if result.state is State.EXAMINED else "",
        code(trigger, in_table=True) if trigger else "",
        since,
    )
    return f"| {' | '.join(cells)} |"


def _grave(conclusion: Conclusion) -> Iterator[str]:
    reports, results = said.grave(conclusion), conclusion.sweep.by_target
    if reports:
        yield "### Real bugs, crashes and hangs"
    for report in reports:
        yield f"#### {code(report.target)}"
        yield f"**{title(report)}.**"
        yield from (block for block in _shortened(report, results.get(report.target)) if block)
        yield f"Everything else: {code(f'triage show {report.experiment}')}"


def _shortened(report: Report, result: Result | None) -> Iterator[str]:
    """Yield the body of a report without what is open, and with the command that failed where none has been confirmed."""
    failing = result.failing_command if result and report.reproduction is None else None
    for block in body(report):
        if failing and block.startswith(UNCONFIRMED):
            if block.startswith(UNCONFIRMED[0]):
                yield f"**Seen to fail with**{said.times(result)}:\n\n{code_block(command(failing), 'sh')}"
            continue
        if not block.startswith("**Not established."):
            yield block


def _other(result: Result) -> str:
    more = f" ({code(f'triage show {result.experiment}')})" if result.experiment else ""
    return f"{code(result.target)}, {_said(result)}: {markdown(result.summary)}{more}"


def _comparison(conclusion: Conclusion) -> str:
    comparison = conclusion.comparison
    if comparison is None:
        return _section("Since the sweep before", "There is no earlier sweep with this selection to compare with.", [])
    how = "" if comparison.complete else ", which was interrupted"
    intro = f"Compared with sweep {comparison.sweep} of {said.moment(comparison.started)}{how}."
    if comparison.environment:
        intro += f" The environment differs, which may explain other differences: {markdown('; '.join(comparison.environment))}."
    return _section("Since the sweep before", intro, list(_changes(conclusion, comparison)))


def _changes(conclusion: Conclusion, comparison: Comparison) -> Iterator[str]:
    results = conclusion.sweep.by_target
    yield from _named(
        "new",
        [f"{code(one.target)}: {_said(results.get(one.target))}" for one in said.compared(comparison, Change.NEW)],
    )
    yield from _named(
        "gone", [f"{code(one.target)}: {markdown(one.why)}; it was {_said(one.before)}" for one in comparison.gone]
    )
    yield from _named(
        "verdict changed",
        [
            f"{code(one.target)}: {_said(results.get(one.target))}, was {_said(one.before)}"
            for one in said.compared(comparison, Change.CHANGED)
        ],
    )
    still = [one.target for one in said.compared(comparison, Change.STILL)]
    by_kind: dict[str, int] = {}
    for result in said.by_gravity([results[target] for target in still if target in results]):
        name = said.said(result)
        by_kind[name] = by_kind.get(name, 0) + 1
    if by_kind:
        yield f"**still the same ({len(still)}):** {', '.join(f'{n} {markdown(name)}' for name, n in by_kind.items())}"
    without = said.compared(comparison, Change.NOT_COMPARED)
    if without:
        yield f"**not compared ({len(without)}):** one of the two sweeps has no verdict of them"
    yield from _named(
        "rates", [f"{code(target)} {markdown(text)}" for target, text in said.differences(comparison, results)]
    )
    yield markdown(said.rates_note(comparison))


def _named(label: str, entries: Sequence[str]) -> Iterator[str]:
    if entries:
        more = len(entries) - MOST_LISTED
        shown = [*entries[:MOST_LISTED], *([f"and {more} more, see `--format json`"] if more > 0 else [])]
        yield "\n".join([f"**{label} ({len(entries)}):**", *(f"  - {entry}" for entry in shown)])


def _said(result: Result | None) -> str:
    return markdown(said.said(result))


def _removable(conclusion: Conclusion) -> str:
    found, too_few = said.removables(conclusion.sweep)
    items = [f"{code(result.target)}: {markdown(text)}" for result, text in found]
    intro = (
        "These did not fail in this sweep. That is no proof that they never do: the mark may go if a failure rate just below the "
        "bound would be acceptable, and the failures that it was put there for cannot depend on what was not varied here."
    )
    rest = f"{too_few[:1].upper()}{too_few[1:]}." if too_few else ""
    if not items:
        return _section("Marks that may be removed", rest, [])
    return "\n\n".join(part for part in (_section("Marks that may be removed", intro, items), rest) if part)


def _without_verdict(conclusion: Conclusion) -> str:
    lacking = [
        result
        for result in said.by_gravity(conclusion.sweep.everything)
        if result.state in {State.UNRUNNABLE, State.EXPECTED_FAILURE}
    ]
    items = [f"{code(result.target)}: {markdown(result.why)}" for result in lacking]
    hint = (
        " `-- --runxfail` counts expected failures as failures."
        if any(result.state is State.EXPECTED_FAILURE for result in lacking)
        else ""
    )
    return _section("Without a verdict", f"Nothing is claimed about these.{hint}", items) if items else ""


def _origin(conclusion: Conclusion) -> Iterator[str]:
    sweep = conclusion.sweep
    yield f"### How to make this report again\n\n{code_block(command(sweep.start.command), 'sh')}"
    yield (
        f"<sub>Sweep {sweep.start.sweep}; {markdown(said.origin(sweep.start) + words.environment(sweep.start.environment))}; "
        f"{markdown(said.extent(sweep, conclusion.reports))}; "
        f"triage {markdown(sweep.start.triage or 'unknown')}</sub>"
    )


def _section(name: str, intro: str, items: Sequence[str]) -> str:
    if not intro and not items:
        return ""
    return "\n\n".join(part for part in (f"### {name}", intro, "\n".join(f"- {item}" for item in items)) if part)
