from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from triage.model.arm import BASELINE
from triage.model.outcome import Outcome
from triage.model.trial import Failure, Stage, Trial
from triage.model.verdict import Finding, Strength, Verdict

if TYPE_CHECKING:
    from .conftest import Bench

PRODUCT = ("shop/cart.py", 12, "total")
TEST = ("tests/test_shop.py", 4, "test_read")


def pairs(finding: Finding) -> list[tuple[str, str]]:
    return [(hypothesis.verdict.value, hypothesis.cause) for hypothesis in finding.hypotheses]


def triggered(bench: Bench, factor: str, failing: Trial, **kwargs: object) -> Finding:
    """Classify a failure that one factor's level 7 was confirmed to trigger and its level 3 to avoid."""
    first, second = kwargs.pop("arms", (bench.arm(factor, "7"), bench.arm(factor, "3")))
    claim = bench.claim(factor, (first, 20, 20), (second, 0, 20), **kwargs.pop("claim", {}))
    failing = bench._again(failing, arm=first)
    trials = [failing, *bench.passes(10), *bench.confirm(failing, claim), *kwargs.pop("more", [])]
    return bench.classify(trials, claim, **kwargs)[0]


def test_a_trigger_never_decides_who_is_wrong(bench: Bench) -> None:
    for factor in (
        "hash_seed",
        "rng_seed",
        "order",
        "repeat",
        "python",
        "schedule",
        "clock",
        "workers",
        "network",
        "new",
    ):
        for exception in ("AssertionError", "ValueError", "TimeoutError", "MemoryError", "ConnectionError"):
            for place in (TEST, PRODUCT):
                finding = triggered(bench, factor, bench.fail(exception, place))
                assert finding.verdict is Verdict.UNDETERMINED
                assert finding.cause is None
                assert finding.culprits == ()
                assert finding.strength is Strength.SUPPORTED
                assert len(finding.hypotheses) == 2
                assert Verdict.REAL_BUG in {h.verdict for h in finding.hypotheses}
                assert finding.next


def test_a_confirmed_hash_seed(bench: Bench) -> None:
    finding = triggered(bench, "hash_seed", bench.fail())
    assert finding.summary == (
        "It fails with AssertionError at tests/test_shop.py:12 in `test_read` with hash seed 7 (20 of 20) and not with hash seed 3 "
        "(0 of 20); who is wrong is not decided."
    )
    assert pairs(finding) == [("real_bug", "nondeterminism"), ("wrong_test", "order_assumption")]
    assert finding.trigger is not None
    assert (finding.trigger.factor, finding.trigger.level) == ("hash_seed", "7")
    assert finding.reproduction is not None
    assert finding.counterfactual is not None
    claim = next(e for e in finding.evidence if e.kind == "claim")
    assert claim.statement.startswith("confirmed: with hash seed 7 20 of 20")
    assert claim.data["trigger"] == {"arm": "hash_seed=7", "failed": 20, "trials": 20}
    by_arm = {rate.arm: rate for rate in finding.rates}
    assert (by_arm["hash_seed=7"].failed, by_arm["hash_seed=7"].trials) == (20, 20)
    assert by_arm["hash_seed=3"].high == pytest.approx(0.168, abs=0.001)


@pytest.mark.parametrize(
    ("exception", "place", "expected"),
    [
        ("AssertionError", TEST, [("wrong_test", "tolerance"), ("real_bug", "input_bug")]),
        ("IndexError", PRODUCT, [("real_bug", "input_bug"), ("wrong_test", "unseeded_random")]),
        ("IndexError", TEST, [("real_bug", "input_bug"), ("wrong_test", "unseeded_random")]),
    ],
)
def test_a_confirmed_seed(bench: Bench, exception: str, place: tuple[str, int, str], expected: list[object]) -> None:
    assert pairs(triggered(bench, "rng_seed", bench.fail(exception, place))) == expected


def test_a_polluter(bench: Bench) -> None:
    polluter = "tests/test_a.py::test_b"
    arms = (bench.arm("order", f"after {polluter}", (polluter,)), BASELINE)
    finding = triggered(bench, "order", bench.fail(), arms=arms)
    assert finding.polluters == (polluter,)
    assert finding.setters == ()
    assert pairs(finding) == [("real_bug", "state_leak"), ("wrong_test", "isolation")]
    assert f"after {polluter} (20 of 20) and not alone (0 of 20)" in finding.summary


def test_tests_that_pollute_together(bench: Bench) -> None:
    ids = ("tests/test_a.py::test_b", "tests/test_a.py::test_c")
    finding = triggered(bench, "order", bench.fail(), arms=(bench.arm("order", "after 2 tests (ab)", ids), BASELINE))
    assert finding.polluters == ()
    assert finding.polluter_sets == (ids,)


def test_an_order_that_was_not_minimised_names_nobody(bench: Bench) -> None:
    ids = ("tests/test_a.py::test_b", "tests/test_a.py::test_c")
    finding = triggered(bench, "order", bench.fail(), arms=(bench.arm("order", "scope", ids), BASELINE))
    assert (finding.polluters, finding.polluter_sets, finding.setters) == ((), (), ())


def test_a_test_that_fails_alone(bench: Bench) -> None:
    setter = "tests/test_a.py::test_b"
    arms = (BASELINE, bench.arm("order", f"after {setter}", (setter,)))
    finding = triggered(bench, "order", bench.fail(), arms=arms)
    assert finding.setters == (setter,)
    assert finding.polluters == ()
    assert finding.trigger is not None
    assert finding.trigger.level == "isolated"
    assert pairs(finding) == [("wrong_test", "missing_setup"), ("real_bug", "state_leak")]
    assert "alone (20 of 20) and not after" in finding.summary


def test_a_test_that_breaks_itself(bench: Bench) -> None:
    finding = triggered(bench, "repeat", bench.fail(), arms=(bench.arm("repeat", "5"), BASELINE))
    assert "at execution 5 in one process (20 of 20) and not at its first execution" in finding.summary
    assert pairs(finding) == [("real_bug", "state_leak"), ("wrong_test", "isolation")]
    files = triggered(bench, "repeat", bench.fail("OSError", message="[Errno 24] Too many open files"),
                      arms=(bench.arm("repeat", "5"), BASELINE))  # fmt: skip
    assert pairs(files)[0] == ("real_bug", "resource_leak")


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({}, ("real_bug", "nondeterminism")),
        ({"threads": 4}, ("real_bug", "race")),
    ],
)
def test_an_interpreter_that_decides(bench: Bench, facts: dict[str, int], expected: tuple[str, str]) -> None:
    assert pairs(triggered(bench, "python", bench.fail(), facts=facts))[0] == expected


def test_the_baselines_interpreter_has_its_version(bench: Bench) -> None:
    arms = (bench.arm("python", "3.8"), BASELINE)
    finding = triggered(bench, "python", bench.fail(), arms=arms, more=bench.passes(3, python="3.11.7"))
    assert "on Python 3.8 (20 of 20) and not on Python 3.11 (0 of 20)" in finding.summary


def test_a_counterfactual_that_fails_too_is_said(bench: Bench) -> None:
    arms = (bench.arm("schedule", "a"), BASELINE)
    claim = bench.claim("schedule", (arms[0], 20, 20), (arms[1], 3, 20))
    failing = bench.fail(arm=arms[0])
    finding = bench.classify([failing, *bench.passes(5), *bench.confirm(failing, claim)], claim)[0]
    assert "with schedule a (20 of 20) more often than" in finding.summary
    assert "(3 of 20)" in finding.summary


def test_no_trigger(bench: Bench) -> None:
    trials = [*(bench.fail() for _ in range(3)), *bench.passes(37)]
    finding = bench.classify(trials, facts={"threads": 2, "sleeps": 1})[0]
    assert finding.summary == (
        "It fails with AssertionError at tests/test_shop.py:12 in `test_read` in 3 of 40 trials; neither its trigger nor who is "
        "wrong is known."
    )
    assert finding.strength is Strength.SUGGESTED
    assert (finding.trigger, finding.reproduction, finding.counterfactual) == (None, None, None)
    assert pairs(finding) == [("real_bug", "race"), ("wrong_test", "async_wait")]
    assert any("switch between threads" in text for text in finding.not_established)


def test_a_hang(bench: Bench) -> None:
    failing = bench.fail("", PRODUCT, message="", outcome=Outcome.HUNG)
    finding = bench.classify([failing, *bench.passes(9)])[0]
    assert finding.verdict is Verdict.UNDETERMINED
    assert pairs(finding) == [("real_bug", "deadlock"), ("wrong_test", "deadlock")]
    assert finding.summary.startswith("It hangs at shop/cart.py in `total` in 1 of 10 trials")


@pytest.mark.parametrize(
    ("exception", "message", "facts", "expected"),
    [
        ("ModuleNotFoundError", "No module named 'x'", {}, ("environment", "missing_dependency")),
        ("OSError", "[Errno 28] No space left on device", {}, ("environment", "disk")),
        ("MemoryError", "", {}, ("real_bug", "resource_leak")),
        (
            "OSError",
            "[Errno 98] Address already in use",
            {"binds": ("127.0.0.1:80",)},
            ("wrong_test", "shared_resource"),
        ),
        ("hypothesis.errors.DeadlineExceeded", "too slow", {}, ("wrong_test", "deadline")),
        ("TimeoutError", "", {}, ("wrong_test", "time_limit")),
        ("socket.gaierror", "Name or service not known", {"lookups": ("example.org",)}, ("wrong_test", "network")),
        ("ConnectionRefusedError", "", {"connects": ("127.0.0.1:5432",)}, ("environment", "unreachable_service")),
        ("ValueError", "", {}, ("real_bug", "nondeterminism")),
    ],
)
def test_what_the_exception_points_to(
    bench: Bench, exception: str, message: str, facts: dict[str, object], expected: tuple[str, str]
) -> None:
    finding = bench.classify([bench.fail(exception, message=message), *bench.passes(9)], facts=facts)[0]
    assert finding.verdict is Verdict.UNDETERMINED
    assert pairs(finding)[0] == expected
    assert "real_bug" in dict(pairs(finding))


def test_a_claim_that_was_not_confirmed(bench: Bench) -> None:
    arm = bench.arm("hash_seed", "7")
    claim = bench.claim("hash_seed", (arm, 3, 20), (BASELINE, 1, 20))
    failing = bench.fail(arm=arm)
    finding = bench.classify([failing, *bench.passes(9), *bench.confirm(failing, claim)], claim)[0]
    assert finding.trigger is None
    assert finding.strength is Strength.SUGGESTED
    assert any("`hash_seed` matters" in text for text in finding.not_established)
    assert next(e for e in finding.evidence if e.kind == "claim").statement.startswith("not confirmed")
    assert "no factor was confirmed" in finding.summary


def test_runs_without_the_probe_that_contradict(bench: Bench) -> None:
    arm = bench.arm("hash_seed", "7")
    from triage.model.claim import ArmCount

    plain = {"plain_trigger": ArmCount(arm, 0, 20), "plain_counter": ArmCount(BASELINE, 0, 20)}
    finding = triggered(bench, "hash_seed", bench.fail(), claim=plain, arms=(arm, BASELINE))
    assert finding.trigger is None
    assert finding.strength is Strength.SUGGESTED
    assert any("without the probe the trigger failed in 0 of 20" in text for text in finding.not_established)
    agreeing = {"plain_trigger": ArmCount(arm, 18, 20), "plain_counter": ArmCount(BASELINE, 0, 20)}
    assert triggered(bench, "hash_seed", bench.fail(), claim=agreeing, arms=(arm, BASELINE)).trigger is not None


def test_runs_without_the_probe_are_compared_by_any_failure(bench: Bench) -> None:
    from triage.model.claim import ArmCount

    arm = bench.arm("hash_seed", "7")
    plain = {"plain_trigger": ArmCount(arm, 20, 20), "plain_counter": ArmCount(BASELINE, 15, 20)}
    claim = bench.claim("hash_seed", (arm, 20, 20), (BASELINE, 0, 20), **plain)
    failing = bench.fail(arm=arm)
    others = [bench.fail("ValueError", stage=Stage.CONFIRM) for _ in range(60)]
    trials = [failing, *bench.confirm(failing, claim), *others]
    findings = bench.classify(trials, claim, study=bench.study(trials, claim, about=failing))
    about = next(f for f in findings if f.signature and "AssertionError" in f.signature)
    assert about.trigger is not None


def test_the_claim_with_the_largest_effect_is_the_trigger(bench: Bench) -> None:
    strong = bench.claim("python", (bench.arm("python", "3.8"), 20, 20), (BASELINE, 0, 20))
    weak = bench.claim("hash_seed", (bench.arm("hash_seed", "7"), 12, 20), (BASELINE, 0, 20))
    trials = [bench.fail(), *bench.passes(9)]
    finding = bench.classify(trials, weak, strong)[0]
    assert finding.trigger is not None
    assert finding.trigger.factor == "python"
    assert sum(e.kind == "claim" for e in finding.evidence) == 2


def test_one_finding_for_each_signature_gravest_first(bench: Bench) -> None:
    trials = [
        *(bench.fail() for _ in range(5)),
        bench.fail("", PRODUCT, message="", outcome=Outcome.HUNG),
        bench.crash(TEST, PRODUCT),
        *bench.passes(9),
    ]
    findings = bench.classify(trials)
    assert [f.verdict for f in findings] == [Verdict.REAL_BUG, Verdict.UNDETERMINED, Verdict.UNDETERMINED]
    assert "hang" in (findings[1].signature or "")
    assert "5 of 16 trials" in findings[2].summary


def test_what_was_not_varied_is_said(bench: Bench) -> None:
    trials = [bench.fail(), *bench.passes(9), *bench.passes(4, bench.arm("hash_seed", "3"))]
    finding = bench.classify(trials, excluded=(("python", "only 3.11.7 was given"),), complete=False, note="no budget")[
        0
    ]
    assert "`python` was not varied: only 3.11.7 was given" in finding.not_established
    silent = next(text for text in finding.not_established if text.startswith("not varied by this experiment"))
    assert "`schedule`" in silent
    assert "`hash_seed`" not in silent
    assert "`python`" not in silent
    assert "no budget" in finding.not_established
    assert any("ended before it was done" in text for text in finding.not_established)


def test_controls_say_nothing_about_the_target(bench: Bench) -> None:
    trials = [bench.fail(stage=Stage.CONTROL), bench.crash(stage=Stage.CONTROL), *bench.passes(40)]
    assert [f.verdict for f in bench.classify(trials)] == [Verdict.STABLE_PASS]


def test_trials_that_count_in_no_rate_are_shown(bench: Bench) -> None:
    odd = [*bench.passes(2, outcome=Outcome.BROKEN), *bench.passes(1, outcome=Outcome.KILLED)]
    finding = bench.classify([bench.fail(), *bench.passes(9), *odd])[0]
    assert "1 of 10 trials" in finding.summary
    assert any(
        text.startswith("2 of 13 trials failed for the instrument's own reasons") for text in finding.not_established
    )
    assert any(text.startswith("1 of 13 trials were ended by a signal") for text in finding.not_established)


def test_a_target_that_is_killed_now_and_then_is_not_stable(bench: Bench) -> None:
    """Nobody knows who sent the signal: it may have been the target itself."""
    finding = bench.classify([*bench.passes(200), *bench.passes(3, outcome=Outcome.KILLED)])[0]
    assert finding.verdict is Verdict.UNDETERMINED
    assert "3 more trials ended by a signal, by whom is not known" in finding.summary


def test_no_trial_that_counts(bench: Bench) -> None:
    finding = bench.classify(bench.passes(5, outcome=Outcome.SKIPPED))[0]
    assert finding.verdict is Verdict.UNDETERMINED
    assert "None of 5 trials" in finding.summary
    assert bench.classify([])[0].verdict is Verdict.UNDETERMINED


def test_a_target_that_fails_without_the_probe_only(bench: Bench) -> None:
    plain = Trial(arm=BASELINE, stage=Stage.PLAIN, outcome=Outcome.FAILED, probed=False, failure=Failure(phase="call"))
    finding = bench.classify([*[plain] * 3, *bench.passes(40)])[0]
    assert finding.verdict is Verdict.UNDETERMINED
    assert finding.summary == "It fails in 3 of 3 runs without the probe and in none of 40 with it."


def test_plain_failures_make_no_signature_of_their_own(bench: Bench) -> None:
    plain = Trial(arm=BASELINE, stage=Stage.PLAIN, outcome=Outcome.FAILED, probed=False)
    findings = bench.classify([bench.fail(), *bench.passes(9), *[plain] * 5])
    assert len(findings) == 1
    assert "1 of 10 trials" in findings[0].summary


def test_reruns_that_hide_it_are_said(bench: Bench) -> None:
    finding = bench.classify([bench.fail(), *bench.passes(9)], facts={"reruns": "`--reruns 3`"})[0]
    assert any(e.kind == "reruns" and "--reruns 3" in e.statement for e in finding.evidence)


def test_the_same_trials_in_another_order_say_the_same(bench: Bench) -> None:
    trials = [bench.fail(), bench.fail("ValueError", PRODUCT), *bench.passes(9), bench.crash(TEST, PRODUCT)]
    said = [(f.verdict, f.summary, f.hypotheses) for f in bench.classify(trials)]
    assert [(f.verdict, f.summary, f.hypotheses) for f in bench.classify(trials[::-1])] == said
