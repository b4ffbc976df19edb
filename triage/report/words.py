"""The words of a report that all formats share: verdicts, strengths, places, and rates with what they exclude."""

from __future__ import annotations

import math
from collections.abc import Sequence

from triage.model.verdict import Culprit, Environment, Finding, Rate, Report, Strength, Verdict
from triage.stats.intervals import clopper_pearson, upper_bound

TITLES = {
    Verdict.REAL_BUG: "REAL BUG",
    Verdict.WRONG_TEST: "WRONG TEST",
    Verdict.ENVIRONMENT: "ENVIRONMENT",
    Verdict.STABLE_PASS: "STABLE PASS",
    Verdict.STABLE_FAIL: "STABLE FAIL",
    Verdict.UNDETERMINED: "UNDETERMINED",
}
STABLE = frozenset({Verdict.STABLE_PASS, Verdict.STABLE_FAIL})
STATISTICS = "by statistics alone"
MEANINGS = {
    Strength.ESTABLISHED: "trigger and counterfactual confirmed on fresh runs, and the mechanism was seen",
    Strength.SUPPORTED: f"{STATISTICS}; the mechanism was not seen",
    Strength.SUGGESTED: "by hints alone; nothing is confirmed",
    Strength.LATENT: "it needs something that this environment cannot do by itself",
}
"""What each strength does and does not say, in the sense of the design."""
CANDIDATES = {
    Verdict.REAL_BUG: "a real bug",
    Verdict.WRONG_TEST: "a wrong test",
    Verdict.ENVIRONMENT: "the environment",
    Verdict.STABLE_PASS: "a stable pass",
    Verdict.STABLE_FAIL: "a stable failure",
    Verdict.UNDETERMINED: "something else",
}
BASELINE = "baseline"
INCOMPLETE = "it was ended before everything was looked at; this is what was known by then"
NO_COMMAND = "no command has been confirmed to do it"


def headline(finding: Finding) -> str:
    """Return cause and strength: `crash, established`; of an undecided one the strength is that of its trigger."""
    strength: str = finding.strength
    if finding.verdict is Verdict.UNDETERMINED:
        strength = f"trigger {strength}" if finding.trigger else "nothing established"
    return f"{finding.cause}, {strength}" if finding.cause else strength


def meaning(finding: Finding) -> str:
    """Return what the strength says, in words; a stable target has no mechanism that could have been seen."""
    if finding.verdict in STABLE and finding.strength is Strength.SUPPORTED:
        return STATISTICS
    return MEANINGS[finding.strength]


def place(culprit: Culprit) -> str:
    """Return `shop/cart.py:10-12`, or only what is known of it; empty if nothing is."""
    if culprit.file is None:
        return ""
    return f"{culprit.file}:{lines(culprit.lines)}" if culprit.lines else culprit.file


def lines(numbers: tuple[int, ...]) -> str:
    """Return `10-12` for a run without gaps, else `10,12`."""
    first, last = numbers[0], numbers[-1]
    if len(numbers) > 1 and numbers == tuple(range(first, last + 1)):
        return f"{first}-{last}"
    return ",".join(str(number) for number in numbers)


def plural(count: int, word: str) -> str:
    """Return `1 trial`, `2 trials`."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


def seconds(value: float) -> str:
    """Return a time span: `0.21 s`, `38 s`, `2 min 5 s`, `1 h 2 min`."""
    if value < 9.995:
        return f"{value:.2f} s"
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


SMALLEST = 0.001
"""Per cent below which, and as much below 100, a rate is no longer written out."""


def percent(rate: float) -> str:
    """Return a rate from 0 to 1 in per cent, with a decimal only below 1% and above 99%.

    What is neither 0 nor 1 is never written as 0% or 100%.
    """
    value = 100 * rate
    if rate in {0, 1} or 0.995 <= value <= 99.005:
        return f"{value:.0f}%"
    if min(value, 100 - value) < SMALLEST:
        return f"<{SMALLEST}%" if value < 50 else f">{100 - SMALLEST}%"
    distance = min(value, 100 - value)
    return f"{value:.{_decimals(distance)}f}%"


def at_most(bound: float) -> str:
    """Return an upper bound in per cent, rounded up: `4.9%`, `14%`."""
    digits = _bound_digits(min(bound, 1 - bound))
    return f"{math.ceil(round(bound * 100 * 10**digits, 6)) / 10**digits:.{digits}f}%"


def at_least(bound: float) -> str:
    """Return a lower bound in per cent, rounded down: `95.1%`, `86%`."""
    digits = _bound_digits(min(bound, 1 - bound))
    return f"{math.floor(round(bound * 100 * 10**digits, 6)) / 10**digits:.{digits}f}%"


def interval(rate: Rate) -> str:
    """Return `3% to 14%`, the 95% interval that the report holds."""
    return f"{percent(rate.low)} to {percent(rate.high)}"


def outcome(failed: int, trials: int, low: float | None = None, high: float | None = None) -> str:
    """Return what a count of failures says: `7 of 100 failed: 7% (3% to 14%)`, `0 of 60 failed: below 4.9% at 95%`.

    Where none or all failed there is only one side to bound, so the bound is the exact one-sided one; else it is the
    exact two-sided interval, `low` and `high` if they are known.
    """
    if trials == 0:
        return "not tried"
    count = f"{failed} of {trials} failed"
    if failed == 0:
        return f"{count}: below {at_most(upper_bound(0, trials))} at 95% confidence"
    if failed == trials:
        return f"{count}: above {at_least(1 - upper_bound(0, trials))} at 95% confidence"
    if low is None or high is None:
        low, high = clopper_pearson(failed, trials)
    return f"{count}: {percent(failed / trials)} ({percent(low)} to {percent(high)})"


def measurements(finding: Finding) -> list[tuple[str, str]]:
    """Return the counts that carry the verdict, each with what was done: as the user runs it, with and without the trigger."""
    rates = {rate.arm: rate for rate in finding.rates}
    result = []
    if BASELINE in rates:
        rate = rates[BASELINE]
        result.append(("run alone", outcome(rate.failed, rate.trials, rate.low, rate.high)))
    if finding.reproduction:
        result.append(("reproduced", outcome(finding.reproduction.failed, finding.reproduction.trials)))
    if finding.counterfactual:
        result.append(("counterfactual", outcome(finding.counterfactual.failed, finding.counterfactual.trials)))
    return result


def by_interest(rates: Sequence[Rate]) -> list[Rate]:
    """Return the baseline first, then the arms that were tried most, those of the claims among them; then by rate."""

    def key(rate: Rate) -> tuple[bool, int, float]:
        return rate.arm != BASELINE, -rate.trials, -(rate.failed / rate.trials) if rate.trials else 1.0

    return sorted(rates, key=key)


def trigger(finding: Finding) -> str:
    """Return `factor=level`, or nothing."""
    return f"{finding.trigger.factor}={finding.trigger.level}" if finding.trigger else ""


def environment(used: Environment) -> str:
    """Return one line: interpreters, with where each comes from if that is known, pytest, platform."""
    known = [f"{one.version} ({one.origin})" for one in used.interpreters] or used.python
    versions = (
        ", ".join(dict.fromkeys(one.pytest for one in used.interpreters if one.pytest)) or used.pytest or "unknown"
    )
    return f"Python {', '.join(known) or 'unknown'}; pytest {versions}; {used.platform}"


def extent(report: Report) -> str:
    """Return how much was done, and how to see all of it."""
    return (
        f"{plural(report.trials, 'trial')} in {seconds(report.wall_seconds)}; "
        f"see triage show {report.experiment} --trials"
    )


def others(report: Report) -> tuple[Finding, ...]:
    """Return the findings after the headline, which is the first."""
    return report.findings[1:]


def _decimals(value: float) -> int:
    """Return how many decimals show one significant digit of a number of per cent below 1."""
    return max(1, -math.floor(math.log10(value))) if value > 0 else 1


def _bound_digits(distance: float) -> int:
    """Return the decimals of a bound that lies this far from 0 or 1: none from 10% on, else two significant digits."""
    value = 100 * distance
    if value >= 10 or value <= 0:
        return 0
    return 1 if value >= 1 else _decimals(value) + 1
