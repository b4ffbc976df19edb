"""The words of a sweep's report that all formats share: counts, order, rates, and what changed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

from triage.model.sweep import (
    FLAKY_MARKS,
    Change,
    Compared,
    Comparison,
    Conclusion,
    Difference,
    Result,
    Selection,
    Start,
    State,
    Sweep,
)
from triage.model.verdict import Rate, Report, Verdict
from triage.report import words
from triage.stats.intervals import upper_bound

ORDER: tuple[Verdict | State, ...] = (
    Verdict.REAL_BUG,
    Verdict.UNDETERMINED,
    Verdict.ENVIRONMENT,
    Verdict.WRONG_TEST,
    Verdict.STABLE_FAIL,
    State.UNRUNNABLE,
    State.EXPECTED_FAILURE,
    Verdict.STABLE_PASS,
    State.NOT_REACHED,
)
"""Gravest first; a test that could not be tried may be anything, so it stands before those that did not fail."""
TITLES: dict[Verdict | State, str] = {
    **dict(words.TITLES.items()),
    State.UNRUNNABLE: "NOT RUN",
    State.EXPECTED_FAILURE: "EXPECTED FAILURE",
    State.NOT_REACHED: "NOT REACHED",
}
COUNTED: tuple[tuple[Verdict | State, str, bool], ...] = (
    (Verdict.REAL_BUG, "real bug", True),
    (Verdict.WRONG_TEST, "wrong test", True),
    (Verdict.UNDETERMINED, "undetermined", False),
    (Verdict.STABLE_PASS, "stable", False),
    (Verdict.ENVIRONMENT, "due to the environment", False),
    (State.UNRUNNABLE, "could not be run", False),
)
"""Always counted in the headline: what, its name, and whether the name has a plural."""
BESIDE: tuple[tuple[Verdict | State, str], ...] = (
    (Verdict.STABLE_FAIL, "always failing"),
    (State.EXPECTED_FAILURE, "failing as expected (nothing claimed)"),
    (State.NOT_REACHED, "not reached"),
)
"""Counted if there is any."""
WIDEST_BOUND = 0.2
"""A test whose rate may be higher is not proposed for anything: 14 trials without a failure are needed."""
SIGNAL = re.compile(r"SIG[A-Z]+\b")
RATE_NOTE = (
    "The failure rate is that of the test run alone by the user's own command, in fresh processes, without plugins that rerun "
    "failures; with its 95% interval, or 95% bound where none or all failed."
)


def kind(result: Result) -> Verdict | State:
    """Return the verdict, or why there is none."""
    return result.verdict if result.state is State.EXAMINED and result.verdict else result.state


def by_gravity(results: Sequence[Result]) -> list[Result]:
    """Return the gravest first; among equal ones the one that fails most."""

    def key(result: Result) -> tuple[int, float, str]:
        rate = result.rate
        return ORDER.index(kind(result)), -(rate.failed / rate.trials) if rate and rate.trials else 0.0, result.target

    return sorted(results, key=key)


def counts(sweep: Sweep) -> dict[str, int]:
    """Return how many tests were selected, and how many got each verdict or none."""
    found = Counter(kind(result) for result in sweep.everything)
    return {"selected": len(sweep.start.selected), **{one.value: found[one] for one in ORDER}}


def headline(sweep: Sweep) -> str:
    """Return `7 tests: 1 real bug, 0 wrong tests, 2 undetermined, ...`."""
    found = Counter(kind(result) for result in sweep.everything)
    parts = [
        words.plural(found[what], name) if countable else f"{found[what]} {name}" for what, name, countable in COUNTED
    ]
    parts += [f"{found[what]} {name}" for what, name in BESIDE if found[what]]
    return f"{words.plural(len(sweep.start.selected), 'test')}: {', '.join(parts)}"


def selection(chosen: Selection) -> str:
    """Return which tests were selected, in words without markup."""
    what = (
        f"tests selected by -m {chosen.expression}"
        if chosen.expression
        else f"tests marked {', '.join(FLAKY_MARKS[:-1])} or {FLAKY_MARKS[-1]}"
    )
    where = f" in {' '.join(chosen.paths)}" if chosen.paths else ""
    return f"{what}{where}" + (f", shard {chosen.shard.label}" if chosen.shard else "")


def unfinished(sweep: Sweep) -> str:
    """Return that the sweep did not get to its end, and how far it got; empty if it did."""
    if sweep.complete:
        return ""
    reached = sum(not result.interrupted for result in sweep.results)
    return f"interrupted: {reached} of {words.plural(len(sweep.start.selected), 'test')} were reached"


def strength(result: Result) -> str:
    """Return how sure the verdict is; of an undecided one, its trigger."""
    if result.strength is None:
        return ""
    if result.verdict is Verdict.UNDETERMINED:
        return f"trigger {result.strength}" if result.trigger else "nothing established"
    return result.strength.value


def rate(known: Rate | None, forked: Rate | None = None) -> str:
    """Return `6/20: 30% (12% to 54%)`, `0/20: below 14%`, and the forked trials where only they failed."""
    beside = ""
    if forked and forked.failed and not (known and known.failed):
        beside = f"forked {forked.failed}/{forked.trials}"
    if known is None or not known.trials:
        return beside or "-"
    count = f"{known.failed}/{known.trials}: "
    if known.failed == 0:
        text = f"below {words.at_most(upper_bound(0, known.trials))}"
    elif known.failed == known.trials:
        text = f"above {words.at_least(1 - upper_bound(0, known.trials))}"
    else:
        text = f"{words.percent(known.failed / known.trials)} ({words.interval(known)})"
    return f"{count}{text}" + (f"; {beside}" if beside else "")


def removables(sweep: Sweep) -> tuple[list[tuple[Result, str]], str]:
    """Return the stable tests with the bound under which their marks may go, and what is said of those with too few trials."""
    stable = [
        (result, result.rate)
        for result in sweep.results
        if kind(result) is Verdict.STABLE_PASS and result.rate and result.rate.trials and not result.rate.failed
    ]
    found = []
    for result, known in stable:
        bound = upper_bound(0, known.trials)
        if bound <= WIDEST_BOUND:
            text = f"no failure in {words.plural(known.trials, 'trial')}, rate below {words.at_most(bound)} (95%)"
            found.append((result, f"{text}; {result.why}" if result.why else text))
    few = len(stable) - len(found)
    limit = words.percent(WIDEST_BOUND)
    too_few = f"{words.plural(few, 'stable test')} had too few trials to exclude rates of {limit}: give more --budget"
    return found, too_few if few else ""


def times(result: Result | None) -> str:
    """Return ` (6 of 6 times)`, of the test run alone; nothing if no fresh process failed."""
    known = result.rate if result else None
    return f" ({known.failed} of {words.plural(known.trials, 'time')})" if known and known.failed else ""


def trigger(result: Result) -> str:
    """Return `factor=level`, or nothing."""
    return f"{result.trigger.factor}={result.trigger.level}" if result.trigger else ""


def is_grave(report: Report) -> bool:
    """Whether a report gets a section of its own: a real bug, or a process that died or hung, whoever's fault."""
    return report.verdict is Verdict.REAL_BUG or any(
        finding.cause in {"crash", "deadlock"} or SIGNAL.match(finding.signature or "") for finding in report.findings
    )


def grave(conclusion: Conclusion) -> list[Report]:
    """Return the reports with a section of their own, gravest first."""
    reports = {report.target: report for report in conclusion.reports}
    ordered = [reports[result.target] for result in by_gravity(conclusion.sweep.results) if result.target in reports]
    return [report for report in ordered if is_grave(report)]


def other_findings(conclusion: Conclusion) -> list[Result]:
    """Return the tests without a section of their own that are not known to be stable, gravest first."""
    own = {report.target for report in grave(conclusion)}
    without = {Verdict.STABLE_PASS, *State}
    return [one for one in by_gravity(conclusion.sweep.results) if one.target not in own and kind(one) not in without]


def since(conclusion: Conclusion) -> dict[str, str]:
    """Return for each test with a verdict the day of the first sweep in a row that gave it."""
    own = conclusion.sweep.start.sweep
    return {one.target: "this sweep" if one.sweep == own else day(one.started) for one in conclusion.since}


def said(result: Result | None) -> str:
    """Return a verdict with its cause in lower case, or why there is none."""
    if result is None:
        return "not reached"
    title = TITLES[kind(result)].lower()
    return f"{title} ({result.cause})" if result.cause and result.state is State.EXAMINED else title


def compared(comparison: Comparison, change: Change) -> list[Compared]:
    """Return the tests with which this happened."""
    return [one for one in comparison.tests if one.change is change]


def differences(comparison: Comparison, results: dict[str, Result]) -> list[tuple[str, str]]:
    """Return the tests whose rates are told apart, each with both counts."""
    found = []
    for one in comparison.tests:
        now, then = results[one.target].rate if one.target in results else None, one.before.rate if one.before else None
        if one.difference in {Difference.HIGHER, Difference.LOWER} and now and then and one.p_value is not None:
            found.append(
                (
                    one.target,
                    f"fails {'more' if one.difference is Difference.HIGHER else 'less'} often: "
                    f"{then.failed} of {then.trials} before, {now.failed} of {now.trials} now (p = {one.p_value:.2g})",
                )
            )
    return found


def rates_note(comparison: Comparison) -> str:
    """Say how rates were compared, and of how many tests no difference was shown."""
    tested = [one for one in comparison.tests if one.difference is not Difference.NOT_COMPARED]
    if not tested:
        return "no rates to compare"
    same = sum(one.difference is Difference.NOT_SHOWN for one in tested)
    how = f"Fisher's exact test, two-sided, 5% split over {words.plural(len(tested), 'test')}"
    return f"no difference of rates shown for {same} of {words.plural(len(tested), 'test')} ({how})"


def not_established(conclusion: Conclusion) -> list[str]:
    """Return what stays open, the widest first."""
    sweep, start = conclusion.sweep, conclusion.sweep.start
    found = Counter(kind(result) for result in sweep.everything)
    items = []
    if start.errors:
        items.append(f"anything about tests in what cannot be collected: {', '.join(start.errors)}")
    if found[State.NOT_REACHED]:
        items.append(f"anything about {words.plural(found[State.NOT_REACHED], 'test')} that the sweep did not reach")
    if start.selection.shard:
        items.append(
            f"anything about the other shards: this one has {len(start.selected)} of "
            f"{words.plural(start.selected_in_all, 'selected test')}"
        )
    if found[State.UNRUNNABLE]:
        items.append(f"anything about {words.plural(found[State.UNRUNNABLE], 'test')} that could not be run")
    if found[Verdict.UNDETERMINED]:
        items.append(f"who is wrong, in {words.plural(found[Verdict.UNDETERMINED], 'test')}")
    said = Counter(item for report in conclusion.reports for item in dict.fromkeys(report.not_established))
    alone = len(conclusion.reports) == 1
    shared = [(item, n) for item, n in said.most_common() if (n > 1 or alone) and item != "who is wrong"]
    items += [item if alone else f"{item} ({words.plural(n, 'test')})" for item, n in shared[:MOST_SHARED]]
    if len(said) > len(shared[:MOST_SHARED]) + ("who is wrong" in said):
        items.append("what is open about one test alone: see triage show with the id of its experiment")
    return items


MOST_SHARED = 8


def extent(sweep: Sweep, reports: Sequence[Report]) -> str:
    """Return how much was done."""
    start = sweep.start
    taken = f" in {words.seconds(sweep.ended - start.started)}" if sweep.ended else ""
    trials = sum(report.trials for report in reports)
    return (
        f"{words.plural(len(reports), 'experiment')}, {words.plural(trials, 'trial')}{taken}; "
        f"budget {budget(start.budget_seconds)} a test"
    )


def budget(value: float) -> str:
    """Return a time span as a user would write it: `8 s`, `2 min`."""
    return f"{value:g} s" if value < 60 else words.seconds(value)


def origin(start: Start) -> str:
    """Return from where the command is to be run, if that is not the root folder."""
    return "" if start.folder == "." else f"run in {start.folder}; "


def moment(seconds: float) -> str:
    """Return `2026-11-30 22:15 UTC`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M UTC")


def day(seconds: float) -> str:
    """Return `2026-11-30`, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")
