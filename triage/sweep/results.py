"""What a sweep says of one test, from the report of its experiment."""

from __future__ import annotations

from msgspec.structs import replace

from triage.model.arm import BASELINE
from triage.model.sweep import Result, State
from triage.model.verdict import Report, Verdict
from triage.report.words import plural


def result_of(
    report: Report, unfit: str | None, marks: tuple[str, ...] = (), failing_command: str | None = None
) -> Result:
    """Return the result of an experiment; `unfit` says why its target could not be tried, None if it could."""
    known = Result(
        target=report.target, marks=marks, experiment=report.experiment or None, interrupted=report.interrupted
    )
    if unfit is not None:
        return replace(known, state=State.UNRUNNABLE, why=unfit)
    known = replace(known, summary=report.summary, complete=report.complete)
    expected, passed = _expected(report)
    if expected and report.signature is None and report.verdict is not Verdict.STABLE_FAIL:
        why = f"marked as an expected failure: failed so in {plural(expected, 'trial')}, passed in {passed}"
        return replace(known, state=State.EXPECTED_FAILURE, why=why)
    rates = {rate.arm: rate for rate in report.rates if rate.trials}
    return replace(
        known,
        state=State.EXAMINED,
        why=f"marked as an expected failure, and passed in {passed} of {plural(passed, 'trial')}" if passed else "",
        verdict=report.verdict,
        cause=report.cause,
        strength=report.strength,
        trigger=report.trigger,
        rate=rates.get(BASELINE.label),
        forked=rates.get(BASELINE.forked.label),
        failing_command=failing_command,
    )


def _expected(report: Report) -> tuple[int, int]:
    """Return how many trials failed as their mark expects, and how many passed in spite of it."""
    for evidence in report.evidence:
        if evidence.kind == "xfail":
            return int(evidence.data.get("xfailed", 0)), int(evidence.data.get("xpassed", 0))
    return 0, 0
