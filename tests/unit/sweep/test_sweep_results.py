"""What a sweep says of one test, from the report of its experiment."""

from __future__ import annotations

from typing import Any

import pytest

from triage.model.sweep import State
from triage.model.verdict import Environment, Evidence, Rate, Report, Strength, Verdict
from triage.sweep.results import result_of


def make_report(verdict: Verdict = Verdict.STABLE_PASS, **changes: Any) -> Report:
    rates = (
        Rate(arm="hash_seed=1", failed=3, trials=3, low=0.3, high=1.0),
        Rate(arm="baseline (forked)", failed=4, trials=9, low=0.1, high=0.8),
        Rate(arm="baseline", failed=1, trials=20, low=0.0, high=0.3),
    )
    values: dict[str, Any] = {
        "verdict": verdict,
        "strength": Strength.SUPPORTED,
        "summary": "A sentence.",
        "experiment": "2vq8z41k7m3c",
        "target": "t.py::test",
        "environment": Environment(python=(), pytest=None, platform=""),
        "trials": 32,
        "wall_seconds": 1.0,
        "rates": rates,
    }
    return Report(**{**values, **changes})


def xfail(failed: int, passed: int) -> tuple[Evidence, ...]:
    return (Evidence(kind="xfail", statement="x", data={"xfailed": failed, "xpassed": passed}),)


def test_the_rate_is_that_of_fresh_processes():
    result = result_of(make_report(Verdict.UNDETERMINED), None, ("flaky",), "python -m pytest")
    assert (result.state, result.verdict, result.marks) == (State.EXAMINED, Verdict.UNDETERMINED, ("flaky",))
    assert (result.rate.failed, result.forked.failed, result.failing_command) == (1, 4, "python -m pytest")


def test_an_arm_without_trials_has_no_rate():
    none = (Rate(arm="baseline", failed=0, trials=0, low=0.0, high=1.0),)
    assert result_of(make_report(rates=none), None).rate is None


def test_what_could_not_be_tried_has_no_verdict():
    result = result_of(make_report(Verdict.UNDETERMINED, complete=False), "it is skipped: no display")
    assert (result.state, result.why) == (State.UNRUNNABLE, "it is skipped: no display")
    assert (result.verdict, result.rate) == (None, None)


@pytest.mark.parametrize("verdict", [Verdict.STABLE_PASS, Verdict.UNDETERMINED])
def test_nothing_is_claimed_of_failures_that_are_expected(verdict):
    result = result_of(make_report(verdict, evidence=xfail(7, 5)), None)
    assert (result.state, result.verdict, result.rate) == (State.EXPECTED_FAILURE, None, None)
    assert result.why == "marked as an expected failure: failed so in 7 trials, passed in 5"


def test_one_that_always_passes_in_spite_of_its_mark_is_stable():
    result = result_of(make_report(evidence=xfail(0, 20)), None)
    assert (result.state, result.verdict) == (State.EXAMINED, Verdict.STABLE_PASS)
    assert "passed in 20 of 20 trials" in result.why


def test_a_failure_that_the_mark_does_not_expect_counts():
    result = result_of(make_report(Verdict.REAL_BUG, evidence=xfail(7, 0), signature="SIGSEGV at a.py:1"), None)
    assert (result.state, result.verdict) == (State.EXAMINED, Verdict.REAL_BUG)
