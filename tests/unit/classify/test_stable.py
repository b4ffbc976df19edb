from __future__ import annotations

from typing import TYPE_CHECKING

from triage.model.outcome import Outcome
from triage.model.verdict import Strength, Verdict

if TYPE_CHECKING:
    from .conftest import Bench


def test_a_target_that_always_passes(bench: Bench) -> None:
    trials = [
        *bench.passes(100),
        *bench.passes(20, bench.arm("hash_seed", "1")),
        *bench.passes(80, bench.arm("hash_seed", "2")),
    ]
    (finding,) = bench.classify(trials, excluded=(("order", "no other test in the scope"),))
    assert finding.verdict is Verdict.STABLE_PASS
    assert finding.strength is Strength.SUPPORTED
    assert finding.cause is None
    assert finding.hypotheses == ()
    assert finding.summary == (
        "No failure in 200 trials; the user's own command passed 100 times, so at 95 % confidence it fails in at most 3 % of runs."
    )
    assert {(rate.arm, rate.failed, rate.trials) for rate in finding.rates} == {
        ("baseline", 0, 100), ("hash_seed=1", 0, 20), ("hash_seed=2", 0, 80)
    }  # fmt: skip
    seeds = next(e for e in finding.evidence if "hash_seed" in e.statement)
    assert seeds.statement.startswith("`hash_seed` (2 levels): 0 of 100 trials failed, at 95 % confidence at most 3 %")
    assert [arm["arm"] for arm in seeds.data["arms"]] == ["hash_seed=1", "hash_seed=2"]
    assert any("`order` was not varied" in text for text in finding.not_established)
    assert any("1.5 %" in text for text in finding.not_established)


def test_a_wide_bound_is_a_suggestion(bench: Bench) -> None:
    (finding,) = bench.classify(bench.passes(12))
    assert (finding.verdict, finding.strength) == (Verdict.STABLE_PASS, Strength.SUGGESTED)
    assert "at most 22 %" in finding.summary


def test_too_few_trials_are_not_stable(bench: Bench) -> None:
    (finding,) = bench.classify(bench.passes(3), complete=False)
    assert finding.verdict is Verdict.UNDETERMINED
    assert "too few to call it stable" in finding.summary
    (failing,) = bench.classify([bench.fail() for _ in range(2)])
    assert failing.verdict is Verdict.UNDETERMINED


def test_expected_failures_are_said(bench: Bench) -> None:
    (finding,) = bench.classify([*bench.passes(20, outcome=Outcome.XFAILED), *bench.passes(3, outcome=Outcome.XPASSED)])
    assert finding.verdict is Verdict.STABLE_PASS
    marked = next(e for e in finding.evidence if e.kind == "xfail")
    assert "unsteady" in marked.statement


def test_a_target_that_always_fails(bench: Bench) -> None:
    (finding,) = bench.classify([bench.fail() for _ in range(24)])
    assert finding.verdict is Verdict.STABLE_FAIL
    assert finding.cause is None
    assert finding.culprits == ()
    assert (
        finding.summary
        == "It fails with AssertionError at tests/test_shop.py:12 in `test_read` in every one of 24 trials."
    )
    place = next(e for e in finding.evidence if e.kind == "place")
    assert (place.data["file"], place.data["line"], place.data["whose"]) == ("tests/test_shop.py", 12, "test")
    assert any("who is wrong" in text for text in finding.not_established)


def test_reruns_that_may_have_been_hiding_it(bench: Bench) -> None:
    fails = [bench.fail() for _ in range(24)]
    (option,) = bench.classify(fails, facts={"reruns": "`--reruns 3`"})
    assert option.summary.endswith("; reruns may have been hiding it.")
    (marked,) = bench.classify(fails, facts={"reruns": "pytest-rerunfailures", "marks": ("flaky",)})
    assert marked.summary.endswith("; reruns may have been hiding it.")
    (seen,) = bench.classify([bench.fail(reruns=2), *fails])
    assert seen.summary.endswith("; reruns may have been hiding it.")
    assert any("in 1 trial the target was rerun" in e.statement for e in seen.evidence)


def test_a_plugin_that_is_merely_installed_hides_nothing(bench: Bench) -> None:
    (finding,) = bench.classify([bench.fail() for _ in range(24)], facts={"reruns": "pytest-rerunfailures"})
    assert "rerun" not in finding.summary
    assert not [e for e in finding.evidence if e.kind == "reruns"]


def test_a_target_that_never_passes_in_several_ways(bench: Bench) -> None:
    findings = bench.classify([*(bench.fail() for _ in range(20)), *(bench.fail("ValueError") for _ in range(4))])
    assert [f.verdict for f in findings] == [Verdict.STABLE_FAIL] * 2
    assert "20 of 24 trials, none of which passed" in findings[0].summary
    assert any("one of 2 ways to fail" in e.statement for e in findings[0].evidence)


def test_a_single_pass_is_enough_not_to_be_stable(bench: Bench) -> None:
    (finding,) = bench.classify([*(bench.fail() for _ in range(24)), *bench.passes(1)])
    assert finding.verdict is Verdict.UNDETERMINED
