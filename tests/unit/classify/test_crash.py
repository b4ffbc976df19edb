from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from triage.model.arm import BASELINE
from triage.model.outcome import Outcome
from triage.model.trial import Stage, Trial
from triage.model.verdict import Finding, Strength, Verdict

if TYPE_CHECKING:
    from .conftest import Bench

STDLIB = "/opt/python/lib/python3.13"
PACKAGES = f"{STDLIB}/site-packages"
TEST = ("tests/test_shop.py", 4, "test_read")
PRODUCT = ("shop/native.py", 40, "_read")
CTYPES = (f"{STDLIB}/ctypes/__init__.py", 538, "string_at")
NUMPY = (f"{PACKAGES}/numpy/core/multiarray.py", 7, "dot")
SUICIDAL = "import os, ctypes\n\ndef test_read():\n    os.abort()\n"


def crashed(bench: Bench, *places: tuple[str, int, str], number: int = 3, **kwargs: object) -> Finding:
    trials = [bench.crash(*places, **kwargs) for _ in range(number)] + bench.passes(20)
    return bench.classify(trials)[0]


def assert_undecided(finding: Finding) -> None:
    assert finding.verdict is Verdict.UNDETERMINED
    assert finding.cause is None
    assert finding.culprits == ()
    assert {(h.verdict, h.cause) for h in finding.hypotheses} == {
        (Verdict.REAL_BUG, "crash"),
        (Verdict.WRONG_TEST, "crash"),
    }
    assert finding.hypotheses[0].verdict is Verdict.REAL_BUG
    assert all(h.missing for h in finding.hypotheses)
    assert finding.next


def test_a_call_of_the_product_is_the_products(bench: Bench) -> None:
    finding = crashed(bench, TEST, PRODUCT)
    assert (finding.verdict, finding.cause, finding.strength) == (Verdict.REAL_BUG, "crash", Strength.SUPPORTED)
    assert [(c.role, c.file, c.lines) for c in finding.culprits] == [("product", "shop/native.py", (40,))]
    assert finding.summary == "`_read` in shop/native.py:40 dies by SIGSEGV in 3 of 23 trials."
    assert "what triggers it" in finding.not_established


def test_the_standard_library_is_looked_through(bench: Bench) -> None:
    finding = crashed(bench, TEST, PRODUCT, CTYPES)
    assert finding.verdict is Verdict.REAL_BUG
    assert finding.culprits[0].file == "shop/native.py"


def test_a_confirmed_trigger_and_a_stack_name_the_version(bench: Bench) -> None:
    arm, home = bench.arm("python", "3.13"), bench.arm("python", "3.11")
    claim = bench.claim("python", (arm, 7, 100), (home, 0, 100))
    failing = bench.crash(TEST, PRODUCT, arm=arm)
    trials = [failing, *bench.passes(10), *bench.confirm(failing, claim)]
    finding = bench.classify(trials, claim)[0]
    assert finding.strength is Strength.SUPPORTED, (
        "the call was not made in a bare script, so what it was given may be at fault"
    )
    assert any("bare script" in text for text in finding.not_established)
    assert finding.summary == (
        "`_read` in shop/native.py:40 dies by SIGSEGV on Python 3.13 (7 of 100) and not on Python 3.11 (0 of 100)."
    )
    assert finding.trigger is not None
    assert (finding.trigger.factor, finding.trigger.level) == ("python", "3.13")
    assert finding.reproduction is not None
    assert (finding.reproduction.failed, finding.reproduction.trials) == (7, 100)
    assert "python=3.13" in finding.reproduction.command
    assert finding.counterfactual is not None
    assert finding.counterfactual.failed == 0
    assert any("never happens" in text and "3 %" in text for text in finding.not_established)


def test_a_claim_about_another_signature_establishes_nothing(bench: Bench) -> None:
    arm = bench.arm("python", "3.13")
    claim = bench.claim("python", (arm, 20, 20), (BASELINE, 0, 20))
    other = bench.fail("ValueError", arm=arm)
    trials = [bench.crash(TEST, PRODUCT), other, *bench.passes(10)]
    finding = bench.classify(trials, claim, study=bench.study(trials, claim, about=other))[0]
    assert (finding.cause, finding.strength, finding.trigger) == ("crash", Strength.SUPPORTED, None)


def test_a_dependency_that_the_product_called(bench: Bench) -> None:
    finding = crashed(bench, TEST, PRODUCT, NUMPY, CTYPES)
    assert (finding.verdict, finding.cause) == (Verdict.REAL_BUG, "crash")
    assert [(c.role, c.file) for c in finding.culprits] == [
        ("dependency", "numpy/core/multiarray.py"),
        ("product", "shop/native.py"),
    ]
    assert "numpy" in finding.culprits[0].what


def test_a_dependency_that_the_test_called(bench: Bench) -> None:
    assert_undecided(crashed(bench, TEST, NUMPY))


def test_the_test_made_the_last_call_that_was_seen(bench: Bench) -> None:
    bench.file("tests/test_shop.py", "from shop import native\n\ndef test_read():\n    native.read()\n")
    assert_undecided(crashed(bench, TEST))


def test_the_test_ends_the_process_by_itself(bench: Bench) -> None:
    bench.file("tests/test_shop.py", SUICIDAL)
    finding = bench.classify([bench.crash(TEST, signal="SIGABRT")] * 6)[0]
    assert (finding.verdict, finding.cause, finding.strength) == (Verdict.WRONG_TEST, "crash", Strength.SUPPORTED)
    assert [(c.role, c.file, c.lines) for c in finding.culprits] == [("test", "tests/test_shop.py", (4,))]


def test_a_parametrised_test_that_ends_the_process(bench: Bench) -> None:
    bench.file("tests/test_shop.py", SUICIDAL.replace("os.abort()", "ctypes.string_at(0)"))
    trials = [bench.crash(TEST, CTYPES)] * 6
    finding = bench.classify(trials, target="tests/test_shop.py::TestIt::test_read[a::b]")[0]
    assert finding.verdict is Verdict.WRONG_TEST


def test_a_line_that_also_passes_is_not_what_decides(bench: Bench) -> None:
    bench.file("tests/test_shop.py", SUICIDAL)
    finding = bench.classify([bench.crash(TEST, signal="SIGABRT"), *bench.passes(20)])[0]
    assert_undecided(finding)
    assert any("ran without dying in 20 trials" in text for text in finding.not_established)


def test_a_watchdog_of_the_test_is_not_the_test(bench: Bench) -> None:
    bench.file("tests/test_shop.py", "import os\n\ndef watchdog():\n    os.abort()\n")
    thread = (f"{STDLIB}/threading.py", 975, "run")
    assert_undecided(crashed(bench, thread, ("tests/test_shop.py", 4, "watchdog"), signal="SIGABRT"))
    assert_undecided(crashed(bench, TEST, ("tests/test_shop.py", 4, "watchdog"), signal="SIGABRT"))


def test_a_thread_that_runs_product_code_is_the_products(bench: Bench) -> None:
    failing = bench.crash((f"{STDLIB}/threading.py", 975, "run"), PRODUCT)
    assert bench.classify([failing, *bench.passes(9)])[0].verdict is Verdict.REAL_BUG


def test_a_helper_of_the_tests_that_the_product_called_back(bench: Bench) -> None:
    bench.file("tests/helpers.py", "import os\n\ndef on_read():\n    os.abort()\n")
    assert_undecided(crashed(bench, TEST, PRODUCT, ("tests/helpers.py", 4, "on_read"), signal="SIGABRT"))


def test_the_test_itself_called_back_by_the_product(bench: Bench) -> None:
    bench.file("tests/test_shop.py", SUICIDAL)
    assert_undecided(crashed(bench, PRODUCT, TEST, signal="SIGABRT"))


@pytest.mark.parametrize("module", [f"{STDLIB}/unittest/mock.py", f"{PACKAGES}/mock/mock.py"])
def test_a_stand_in_that_kills(bench: Bench, module: str) -> None:
    assert_undecided(crashed(bench, TEST, PRODUCT, (module, 1139, "_execute_mock_call"), signal="SIGABRT"))


def test_a_stand_in_above_the_product_is_no_excuse(bench: Bench) -> None:
    finding = crashed(bench, TEST, (f"{STDLIB}/unittest/mock.py", 1395, "patched"), PRODUCT)
    assert finding.verdict is Verdict.REAL_BUG


def test_the_runner_itself_died(bench: Bench) -> None:
    assert_undecided(crashed(bench, (f"{PACKAGES}/_pytest/assertion/rewrite.py", 9, "x")))
    assert_undecided(crashed(bench, TEST, PRODUCT, (f"{PACKAGES}/_pytest/x.py", 9, "x"), NUMPY))


def test_only_the_standard_library(bench: Bench) -> None:
    failing = bench.crash(CTYPES)
    bare = type(failing)(
        arm=BASELINE, stage=Stage.SCREEN, outcome=Outcome.CRASHED, signal="SIGSEGV",
        failure=type(failing.failure)(phase="call", exception="SIGSEGV", frames=bench.frames(CTYPES)),
    )  # fmt: skip
    assert_undecided(bench.classify([bare, *bench.passes(9)])[0])


def test_no_frames_at_all(bench: Bench) -> None:
    assert_undecided(crashed(bench))
    assert_undecided(bench.classify([Trial(arm=BASELINE, stage=Stage.SCREEN, outcome=Outcome.CRASHED, exit_status=3),
                                     *bench.passes(9)])[0])  # fmt: skip


@pytest.mark.parametrize("places", [(TEST, PRODUCT), (TEST,)])
def test_a_death_after_the_last_test(bench: Bench, places: tuple[tuple[str, int, str], ...]) -> None:
    bench.file("tests/test_shop.py", SUICIDAL)
    assert_undecided(crashed(bench, *places, phase="exit", signal="SIGABRT"))


@pytest.mark.parametrize(
    "output",
    [{"stderr": "double free or corruption (fasttop)\n"}, {"text": "Fatal Python error\n  Garbage-collecting\n"}],
)
def test_a_place_where_damage_was_only_noticed(bench: Bench, output: dict[str, str]) -> None:
    assert_undecided(crashed(bench, TEST, PRODUCT, **output))


def test_code_that_may_be_either(bench: Bench) -> None:
    assert_undecided(crashed(bench, TEST, ("shop/testing/server.py", 3, "serve")))
    assert_undecided(crashed(bench, TEST, PRODUCT, ("shop/testing/server.py", 3, "serve")))
    assert_undecided(crashed(bench, TEST, ("/elsewhere/common/native.py", 3, "call")))


def test_stacks_that_do_not_agree(bench: Bench) -> None:
    trials = [bench.crash(TEST, PRODUCT), bench.crash(TEST, PRODUCT, NUMPY), *bench.passes(9)]
    assert_undecided(bench.classify(trials)[0])


def test_a_fixture_that_ends_the_process_is_left_open(bench: Bench) -> None:
    bench.file("tests/conftest.py", "import os\n\ndef test_read():\n    os.abort()\n")
    assert_undecided(crashed(bench, ("tests/conftest.py", 4, "test_read"), phase="setup", signal="SIGABRT"))


def test_a_stack_that_was_cut_never_blames_the_test(bench: Bench) -> None:
    bench.file("tests/test_shop.py", SUICIDAL)
    filler = [(f"{STDLIB}/asyncio/events.py", 80, "_run")] * 99
    assert_undecided(crashed(bench, *filler, TEST, signal="SIGABRT"))


def test_a_recursion_of_the_product_that_ran_out_of_stack(bench: Bench) -> None:
    frames = [("shop/tree.py", 9, "visit")] * 99
    trials = [bench.crash(*frames), bench.crash(*frames, ("shop/log.py", 3, "log")), *bench.passes(9)]
    findings = bench.classify(trials)
    assert [(f.verdict, f.cause) for f in findings] == [(Verdict.REAL_BUG, "crash")]


def test_an_environment_below_the_root(bench: Bench) -> None:
    inside = (".venv/lib/python3.13/site-packages/numpy/core.py", 7, "dot")
    stdlib = (".venv/lib/python3.13/ctypes/__init__.py", 538, "string_at")
    finding = crashed(bench, TEST, PRODUCT, inside, stdlib)
    assert [(c.role, c.file) for c in finding.culprits] == [
        ("dependency", "numpy/core.py"),
        ("product", "shop/native.py"),
    ]
    assert_undecided(crashed(bench, TEST, inside, stdlib))


def test_an_installed_product(bench: Bench) -> None:
    bench.file("src/shop/native.py", "")
    finding = crashed(bench, TEST, (f"{PACKAGES}/shop/native.py", 40, "_read"))
    assert finding.verdict is Verdict.REAL_BUG
    assert (finding.culprits[0].role, finding.culprits[0].file) == ("product", "src/shop/native.py")
    assert finding.culprits[0].lines == (40,)


def test_a_root_that_is_a_link(bench: Bench, tmp_path: Path) -> None:
    bench.file("project/shop/native.py", "")
    link = tmp_path / "link"
    link.symlink_to(bench.root / "project")
    real = bench.root / "project"
    bench.root = link
    trials = [
        bench.crash((str(real / "tests/test_shop.py"), 4, "test_read"), (str(real / "shop/native.py"), 40, "_read"))
    ]
    finding = bench.classify([*trials, *bench.passes(9)])[0]
    assert finding.culprits[0].file == "shop/native.py"


def test_a_product_that_always_dies_is_no_stable_failure(bench: Bench) -> None:
    finding = bench.classify([bench.crash(TEST, PRODUCT) for _ in range(20)])[0]
    assert (finding.verdict, finding.cause) == (Verdict.REAL_BUG, "crash")
    assert "20 of 20 trials" in finding.summary


def test_a_death_that_is_always_there_and_tells_nothing(bench: Bench) -> None:
    finding = bench.classify([bench.crash() for _ in range(20)])[0]
    assert finding.verdict is Verdict.STABLE_FAIL
    assert any("whose call it was" in text for text in finding.not_established)


def test_other_outcomes_are_not_judged(bench: Bench) -> None:
    finding = bench.classify([bench.fail("OSError", place=PRODUCT), *bench.passes(9)])[0]
    assert finding.verdict is Verdict.UNDETERMINED


def test_nothing_of_this_machine_is_in_the_finding(bench: Bench) -> None:
    finding = crashed(bench, TEST, PRODUCT, NUMPY, CTYPES)
    assert str(bench.root) not in repr(finding)
    assert STDLIB not in repr(finding)
