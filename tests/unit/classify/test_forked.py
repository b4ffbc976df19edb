"""Forked trials choose and never conclude: what the findings make of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from triage.classify.forked import comparison
from triage.model.arm import BASELINE
from triage.model.claim import ArmCount
from triage.model.outcome import Outcome
from triage.model.verdict import Evidence, Finding, Strength, Verdict
from triage.stats.clusters import clustered_interval
from triage.stats.intervals import clopper_pearson

if TYPE_CHECKING:
    from .conftest import Bench


def evidence(finding: Finding) -> Evidence:
    (found,) = [one for one in finding.evidence if one.kind == "forked"]
    return found


# -- failures that forked trials alone have shown --------------------------------------------------------------------


def test_a_failure_of_forked_trials_alone_is_told_with_its_rate_and_what_fresh_processes_did(bench: Bench) -> None:
    trials = [*bench.passes(30), *bench.forks((10, 50), (12, 50), (8, 50), (10, 50), failing=bench.fail())]
    (finding,) = bench.classify(trials)
    assert (finding.verdict, finding.strength) == (Verdict.UNDETERMINED, Strength.SUGGESTED)
    assert (finding.cause, finding.culprits, finding.trigger, finding.hypotheses) == (None, (), None, ())
    low, high = clustered_interval([(10, 50), (12, 50), (8, 50), (10, 50)])
    assert finding.summary.startswith(
        "It fails with AssertionError at tests/test_shop.py:12 in `test_read` in 40 of 200 "
    )
    assert f"forked trials (20 %, 95 % interval {100 * low:.0f} to {100 * high:.0f} %)" in finding.summary
    assert "and in none of 30 fresh processes" in finding.summary
    assert "neither its trigger nor who is wrong is known" in finding.summary
    (missed,) = [text for text in finding.not_established if "fresh processes fail as often" in text]
    assert "0.12 % of such series would show no failure" in missed
    assert "rates up to 9.5 % are not excluded" in missed


@pytest.mark.parametrize("number", [1, 200])
def test_a_crash_of_forked_trials_alone_is_no_bug_of_the_product(bench: Bench, number: int) -> None:
    """With fresh processes it would be; a fork may crash by itself."""
    crash = bench.crash(("shop/native.py", 3, "call"))
    assert bench.classify([crash, *bench.passes(30)])[0].verdict is Verdict.REAL_BUG
    (finding,) = bench.classify([*bench.passes(30), *bench.forks((number, 300), failing=crash)])
    assert finding.verdict is Verdict.UNDETERMINED
    assert finding.cause is None
    assert "dies by SIGSEGV" in finding.summary
    assert any("a fork may make failures of its own" in text for text in finding.not_established)


def test_however_many_fork_fail_it_is_not_stable_and_without_fresh_processes_nothing_is_said(bench: Bench) -> None:
    forks = bench.forks((100, 100), failing=bench.fail())
    (finding,) = bench.classify([*forks, *bench.passes(1)])
    assert finding.verdict is Verdict.UNDETERMINED
    assert "and in none of 1 fresh process;" in finding.summary
    nothing, alone = bench.classify(forks)
    assert (nothing.verdict, alone.verdict) == (Verdict.UNDETERMINED, Verdict.UNDETERMINED)
    assert "ended before a trial had finished" in nothing.summary
    assert "fresh process" not in alone.summary


def test_a_failure_under_one_level_names_it(bench: Bench) -> None:
    order = bench.arm("order", "reversed", ("a", "b"))
    trials = [
        *bench.passes(30),
        *bench.passes(12, order),
        *bench.forks((0, 50), (0, 50)),
        *bench.forks((20, 40), (21, 40), (19, 40), failing=bench.fail(), arm=order),
    ]
    (finding,) = bench.classify(trials)
    assert "60 of 120 forked trials" in finding.summary
    assert "order=reversed (forked)" in finding.summary
    assert "in none of 12 fresh processes" in finding.summary, "those of the same level"


def test_what_only_forks_showed_comes_after_what_fresh_processes_did(bench: Bench) -> None:
    trials = [
        *(bench.fail() for _ in range(5)),
        *bench.passes(30),
        *bench.forks((30, 100), failing=bench.fail("ValueError", ("shop/cart.py", 9, "total"))),
    ]
    first, second = bench.classify(trials)
    assert "AssertionError" in first.summary
    assert "5 of 35 trials" in first.summary
    assert "ValueError" in second.summary
    assert "forked trials" in second.summary


def test_forked_trials_that_count_nowhere_are_no_failure(bench: Bench) -> None:
    broken = bench.passes(5, BASELINE.forked, outcome=Outcome.BROKEN, cluster=1)
    (finding,) = bench.classify([*bench.passes(30), *broken])
    assert finding.verdict is Verdict.STABLE_PASS
    assert any("5 of 35 trials failed for the instrument's own reasons" in text for text in finding.not_established)


# -- failures that both have shown -----------------------------------------------------------------------------------


def test_forked_trials_change_no_verdict_and_are_evidence_beside_it(bench: Bench) -> None:
    order = bench.arm("order", "after x", ("x",))
    claim = bench.claim("order", (order, 20, 20), (BASELINE, 0, 20))
    failing = bench.fail()
    cold = [bench._again(failing, arm=order), *bench.passes(10), *bench.confirm(failing, claim)]
    forks = [*bench.forks((0, 60), (0, 60)), *bench.forks((60, 60), failing=failing, arm=order)]
    (without,) = bench.classify(cold, claim)
    (beside,) = bench.classify([*cold, *forks], claim, study=bench.study([*cold, *forks], claim))
    for name in ("verdict", "cause", "strength", "summary", "trigger", "polluters", "reproduction", "counterfactual"):
        assert getattr(beside, name) == getattr(without, name), name
    assert beside.hypotheses == without.hypotheses
    assert beside.not_established == without.not_established
    assert [one for one in beside.evidence if one.kind != "forked"] == list(without.evidence)
    assert evidence(beside).statement.startswith("forked from 2 processes that had collected")
    cold_rates = {rate.arm: rate for rate in without.rates}
    assert {name: rate for rate in beside.rates if (name := rate.arm) in cold_rates} == cold_rates


def test_a_crash_that_both_have_shown_is_the_products(bench: Bench) -> None:
    crash = bench.crash(("shop/native.py", 3, "call"))
    (without,) = bench.classify([crash, *bench.passes(30)])
    (beside,) = bench.classify([crash, *bench.passes(30), *bench.forks((30, 100), (20, 100), failing=crash)])
    assert (beside.verdict, beside.cause) == (without.verdict, without.cause)
    assert beside.summary.startswith(without.summary.removesuffix("."))
    assert "50 of 200 forked ones" in beside.summary


def test_an_agreement_states_what_difference_would_have_been_seen(bench: Bench) -> None:
    cold = [*(bench.fail() for _ in range(10)), *bench.passes(40)]
    forks = bench.forks((10, 50), (12, 50), (8, 50), (10, 50), failing=bench.fail())
    (finding,) = bench.classify([*cold, *forks])
    statement = evidence(finding).statement
    assert "it failed so in 40 of 200 trials (20 %, 95 % interval" in statement
    assert "in fresh processes in 10 of 50: no difference was seen, and one of 26" in statement
    assert statement.endswith("% or more would have been, with 80 % probability")
    assert "10 of 50 fresh processes failed so" in next(one.statement for one in finding.evidence if one.kind == "rate")


def test_fresh_processes_count_where_the_two_differ(bench: Bench) -> None:
    cold = [*(bench.fail() for _ in range(25)), *bench.passes(25)]
    (finding,) = bench.classify([*cold, *bench.forks((1, 60), (2, 60), (1, 60), failing=bench.fail())])
    assert evidence(finding).statement.endswith(
        "in fresh processes in 25 of 50: they differ, and fresh processes count"
    )
    assert "25 of 50 trials" in finding.summary


@pytest.mark.parametrize(
    ("clusters", "cold", "words"),
    [
        (((0, 200),) * 40, (15, 50), "they differ"),
        (((0, 200),) * 8, (15, 50), "no difference was seen"),
        (((20, 40),) * 6, (25, 50), "no difference was seen"),
        (((40, 40),) * 8 + ((0, 40),) * 8, (12, 50), "no difference was seen"),
        (((20, 40),) * 16, (12, 50), "they differ"),
        (((40, 40),) * 6, (20, 20), "no difference was seen"),
        (((36, 40),) * 6, (20, 20), "no difference was seen"),
        (((10, 40), (9, 40), (11, 40)), (0, 1), "too few trials to tell"),
        (((40, 40),), (0, 1), "too few trials to tell"),
    ],
)  # fmt: skip
def test_forked_trials_are_compared_by_what_their_processes_are_worth(
    clusters: tuple[tuple[int, int], ...], cold: tuple[int, int], words: str
) -> None:
    failed, trials = (sum(cluster[i] for cluster in clusters) for i in (0, 1))
    forked = ArmCount(BASELINE.forked, failed, trials, clusters)
    assert comparison(forked, ArmCount(BASELINE, *cold)).startswith(words)


def test_a_rate_of_forked_trials_has_the_interval_of_its_processes(bench: Bench) -> None:
    clusters = [(0, 50), (48, 50), (2, 50), (50, 50)]
    cold = [*(bench.fail() for _ in range(10)), *bench.passes(10)]
    (finding,) = bench.classify([*cold, *bench.forks(*clusters, failing=bench.fail())])
    rates = {rate.arm: rate for rate in finding.rates}
    forked = rates["baseline (forked)"]
    assert (forked.failed, forked.trials) == (100, 200)
    assert (forked.low, forked.high) == clustered_interval(clusters)
    assert forked.high - forked.low > 3 * (clopper_pearson(100, 200)[1] - clopper_pearson(100, 200)[0])
    assert (rates["baseline"].low, rates["baseline"].high) == clopper_pearson(10, 20)


# -- no failure, no forks --------------------------------------------------------------------------------------------


def test_a_target_that_never_failed_has_two_bounds(bench: Bench) -> None:
    trials = [*bench.passes(100), *bench.forks(*[(0, 60)] * 10), *bench.forks((0, 40), arm=bench.arm("rng_seed", "3"))]
    (finding,) = bench.classify(trials)
    assert (finding.verdict, finding.strength) == (Verdict.STABLE_PASS, Strength.SUPPORTED)
    assert finding.summary == (
        "No failure in 100 trials and 640 forked ones; at 95 % confidence it fails in at most 3 % of runs under these conditions."
    )
    assert evidence(finding).statement == (
        "none of 640 forked trials failed; 600 of them were of the user's own command, from 10 processes: that excludes rates over "
        "0.5 % if every trial decides anew, and over 26 % if something fixed in each process decides"
    )
    tried = [one.statement for one in finding.evidence if one.kind == "rate"]
    assert tried == ["the user's own command: 0 of 100 trials failed, at 95 % confidence at most 3 % of runs"]


def test_forked_passes_make_nothing_stable(bench: Bench) -> None:
    (finding,) = bench.classify([*bench.passes(3), *bench.forks((0, 1000))])
    assert finding.verdict is Verdict.UNDETERMINED
    assert "too few to call it stable" in finding.summary
    assert "at most 63 %" in finding.summary, "the bound is that of fresh processes"


def test_why_nothing_could_be_forked_is_said(bench: Bench) -> None:
    said = "every trial ran in a fresh process: conftest.py starts a thread"
    reason = "conftest.py starts a thread"
    (stable,) = bench.classify(bench.passes(30), unforkable=reason)
    assert evidence(stable).statement == said
    (flaky,) = bench.classify([*(bench.fail() for _ in range(5)), *bench.passes(25)], unforkable=reason)
    assert evidence(flaky).statement == said
    (without,) = bench.classify(bench.passes(30))
    assert not [one for one in without.evidence if one.kind == "forked"]


def test_what_forking_itself_does_is_no_finding(bench: Bench) -> None:
    always = bench.forks((40, 40), (40, 40), (40, 40), failing=bench.fail())
    (finding,) = bench.classify([*bench.passes(30), *always])
    assert finding.verdict is Verdict.STABLE_PASS
    assert "forked" not in finding.summary
    (told,) = [one.statement for one in finding.evidence if one.kind == "forked"]
    assert "120 of 120" in told
    assert "none of 30 fresh processes" in told
    one_process = bench.forks((40, 40), failing=bench.fail())
    (finding,) = bench.classify([*bench.passes(30), *one_process])  # it may have drawn something at import
    assert finding.verdict is Verdict.UNDETERMINED


def test_a_pass_of_a_fork_forbids_to_say_always(bench: Bench) -> None:
    failing = bench.fail()
    cold = [failing, *(bench._again(failing, arm=BASELINE) for _ in range(5))]
    (finding,) = bench.classify([*cold, *bench.forks((20, 30), (21, 30), (19, 30), failing=failing)])
    assert finding.verdict is not Verdict.STABLE_FAIL
    assert "each time" not in finding.next
    (finding,) = bench.classify([*cold, *bench.forks((0, 30), (0, 30), (0, 30))])
    assert finding.verdict is Verdict.STABLE_FAIL, "what fails may be outside of what a fork runs"
