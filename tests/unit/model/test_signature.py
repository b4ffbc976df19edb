from __future__ import annotations

import random
from pathlib import Path

import pytest

from triage.model.arm import BASELINE
from triage.model.outcome import Outcome
from triage.model.signature import Signature, project_path, signature_of, template
from triage.model.trial import Failure, Frame, Stage, Trial

ROOT = "/home/me/shop"


def trial(outcome: Outcome = Outcome.FAILED, **failure: object) -> Trial:
    signal = failure.pop("signal", None)
    status = failure.pop("exit_status", None)
    known = Failure(**{"phase": "call", **failure}) if failure else None
    return Trial(arm=BASELINE, stage=Stage.SCREEN, outcome=outcome, failure=known, signal=signal, exit_status=status)


def signature(outcome: Outcome = Outcome.FAILED, **failure: object) -> Signature:
    found = signature_of(trial(outcome, **failure), ROOT)
    assert found is not None
    return found


def frame(file: str, line: int = 1, function: str = "f") -> Frame:
    return Frame(f"{ROOT}/{file}", line, function)


TEST = frame("tests/test_cart.py", 9, "test_total")
PRODUCT = frame("shop/cart.py", 12, "total")
PYTEST = Frame("/opt/py/lib/python3.11/site-packages/_pytest/python.py", 1, "call")
STDLIB = Frame("/opt/py/lib/python3.11/json/decoder.py", 337, "decode")


@pytest.mark.parametrize("outcome", [o for o in Outcome if o not in {"failed", "error", "crashed", "hung"}])
def test_no_failure_has_no_signature(outcome: Outcome) -> None:
    assert signature_of(trial(outcome, exception="ValueError"), ROOT) is None


def test_the_deepest_frame_in_the_project_is_the_place() -> None:
    found = signature(exception="ValueError", message="no", frames=(PYTEST, TEST, PRODUCT, STDLIB))
    assert (found.file, found.line, found.function) == ("shop/cart.py", 12, "total")


def test_an_assertion_is_known_by_its_place_alone() -> None:
    one = signature(exception="AssertionError", message="assert 3 == 4\n + where 3 = f()", frames=(TEST, PRODUCT))
    other = signature(exception="builtins.AssertionError", message="assert [] == ['x']", frames=(TEST, PRODUCT))
    assert one == other
    assert one.key == other.key
    assert one.text == "AssertionError at shop/cart.py:12 in total"


def test_an_assertion_that_is_raised_by_hand_has_a_message_of_its_own() -> None:
    source = "    raise AssertionError(f'lost {n} rows')"
    lost = signature(exception="AssertionError", message="lost 3 rows", frames=(TEST,), source=source)
    twice = signature(exception="AssertionError", message="lost 17 rows", frames=(TEST,), source=source)
    added = signature(exception="AssertionError", message="added 3 rows", frames=(TEST,), source=source)
    assert lost == twice != added


def test_other_exceptions_differ_by_what_they_say() -> None:
    no_key = signature(exception="ValueError", message="no key 'a'", frames=(TEST, PRODUCT))
    other_key = signature(exception="ValueError", message="no key 'b c'", frames=(TEST, PRODUCT))
    no_value = signature(exception="ValueError", message="no value 'a'", frames=(TEST, PRODUCT))
    assert no_key.key == other_key.key != no_value.key


def test_setup_and_teardown_are_different_failures() -> None:
    setup = signature(Outcome.ERROR, phase="setup", exception="OSError", frames=(TEST,))
    teardown = signature(Outcome.ERROR, phase="teardown", exception="OSError", frames=(TEST,))
    call = signature(Outcome.FAILED, phase="call", exception="OSError", frames=(TEST,))
    assert len({setup.key, teardown.key, call.key}) == 3
    assert "setup" in setup.text


def test_a_crash_is_its_signal_and_place() -> None:
    found = signature(Outcome.CRASHED, exception="SIGSEGV", frames=(TEST, PRODUCT, STDLIB), text="Fatal Python error")
    assert found.text == "SIGSEGV at shop/cart.py:12 in total"
    assert found != signature(Outcome.CRASHED, exception="SIGABRT", frames=(TEST, PRODUCT, STDLIB))


def test_a_crash_without_frames_has_only_its_phase() -> None:
    call = signature(Outcome.CRASHED, exception="SIGSEGV")
    late = signature(Outcome.CRASHED, exception="SIGSEGV", phase="exit")
    assert call.file is None
    assert call.key != late.key
    assert late.text == "SIGSEGV at exit"


def test_a_crash_of_which_nothing_is_known_but_the_signal() -> None:
    found = signature_of(Trial(arm=BASELINE, stage=Stage.SCREEN, outcome=Outcome.CRASHED, signal="SIGSEGV"), ROOT)
    assert found is not None
    assert found.exception == "SIGSEGV"


def test_a_process_that_ended_itself_has_its_exit_status() -> None:
    three = signature(Outcome.CRASHED, phase="call", exit_status=3)
    four = signature(Outcome.CRASHED, phase="call", exit_status=4)
    assert three.key != four.key
    assert three.text == "death in call: exit status 3"


def test_a_hang_is_caught_anywhere_in_a_loop() -> None:
    early = signature(Outcome.HUNG, frames=(TEST, frame("shop/cart.py", 12, "wait")), message="timeout after 31 s")
    late = signature(Outcome.HUNG, frames=(TEST, frame("shop/cart.py", 14, "wait")), message="timeout after 30 s")
    elsewhere = signature(Outcome.HUNG, frames=(TEST, frame("shop/cart.py", 40, "drain")))
    assert early.key == late.key != elsewhere.key
    assert early.text == "hang at shop/cart.py in wait"


def test_the_depth_of_a_recursion_does_not_matter() -> None:
    parse, visit = frame("shop/tree.py", 5, "parse"), frame("shop/tree.py", 9, "visit")
    ends_in_visit = signature(exception="RecursionError", frames=(TEST, *[parse, visit] * 400))
    ends_in_parse = signature(exception="RecursionError", frames=(TEST, *[parse, visit] * 390, parse))
    assert ends_in_visit.key == ends_in_parse.key
    assert ends_in_visit.file == "shop/tree.py"


def test_a_recursion_through_foreign_code_is_known_by_its_first_project_frame() -> None:
    found = signature(exception="RecursionError", frames=(PYTEST, TEST, PRODUCT, *[STDLIB] * 900, frame("shop/x.py")))
    assert (found.file, found.line) == ("tests/test_cart.py", 9)


def test_a_stack_that_overflowed_is_known_by_the_recursion() -> None:
    visit = frame("shop/tree.py", 9, "visit")
    one = signature(Outcome.CRASHED, exception="SIGSEGV", frames=(*[visit] * 99, frame("shop/log.py", 3, "log")))
    other = signature(Outcome.CRASHED, exception="SIGSEGV", frames=(*[visit] * 100,))
    assert one.key == other.key


def test_a_crash_below_a_shallow_recursion_keeps_its_place() -> None:
    visit = frame("shop/tree.py", 9, "visit")
    found = signature(Outcome.CRASHED, exception="SIGSEGV", frames=(TEST, *[visit] * 12, PRODUCT))
    assert found.file == "shop/cart.py"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("invalid literal for int() with base 10: 'abc'", "invalid literal for int() with base 10: '12 x'"),
        ("<Job object at 0x7f01> is done", "<Job object at 0xdeadbeef> is done"),
        ("ids [1, 2, [3]] differ", "ids [] differ"),
        ("missing {'a': (1, 2)} in table", "missing {} in table"),
        ("got 1", "got 1, 2, 3"),
        ("took -1.5e-07 s", "took 12 s"),
        ("at 2024-02-29T23:59:59.99Z no rate", "at 2025-03-01T00:00:00+01:00 no rate"),
        ("job 550e8400-e29b-41d4-a716-446655440000 lost", "job 00000000-0000-4000-8000-000000000000 lost"),
        ("[Errno 2] No such file or directory: '/tmp/a b/x'", "[Errno 2] No such file or directory: '/var/y'"),
        ("cannot open /tmp/pytest-of-me/pytest-12/x.db now", "cannot open /x now"),
        ("no reply from localhost:8080", "no reply from localhost:43211"),
        ("name 'it\\'s' unknown", 'name "b" unknown'),
        ("unknown 'abc", "unknown 'x"),
        ("value [1, 2, 3 ...", "value [7 ..."),
        ("expected True, got None", "expected False, got None"),
        ("lost\nrow 1\nrow 2", "lost\nrow 9"),
    ],
)
def test_values_are_no_part_of_a_message(one: str, other: str) -> None:
    assert template(one) == template(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("row lost", "row found twice"),
        ("cannot read 'x'", "cannot write 'x'"),
        ("f() missing 1 required positional argument: 'x'", "f() got an unexpected keyword argument 'x'"),
        ("it's late", "it's gone"),
        ("read -> write", "write -> read"),
    ],
)
def test_different_words_stay_different(one: str, other: str) -> None:
    assert template(one) != template(other)


def test_random_values_never_reach_the_template() -> None:
    rng = random.Random(7)
    letters = "abcXYZ019 _-:/,.\u00e9"
    made = set()
    for _ in range(500):
        value = "".join(rng.choice(letters) for _ in range(rng.randrange(1, 20)))
        made.add(template(f"no rate for {value!r} at {rng.random()} in [{rng.randrange(99)}, {value!r}]"))
    assert len(made) == 1


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (f"{ROOT}/shop/cart.py", "shop/cart.py"),
        ("shop/cart.py", "shop/cart.py"),
        (f"{ROOT}/tests/../shop/cart.py", "shop/cart.py"),
        (f"{ROOT}/.venv/lib/python3.11/site-packages/x/y.py", None),
        (f"{ROOT}/env/lib64/python3.13t/site-packages/x.py", None),
        (f"{ROOT}/env/lib/python3.13/json/decoder.py", None),
        (f"{ROOT}/.tox/py311/bin/pytest", None),
        (f"{ROOT}/.triage/plugins/triage_levels/plugin.py", None),
        (f"{ROOT}/lib/cart.py", "lib/cart.py"),
        ("/home/me/shop2/cart.py", None),
        ("/opt/py/lib/python3.11/json/decoder.py", None),
        ("<string>", None),
        ("<frozen importlib._bootstrap>", None),
        ("", None),
    ],
)
def test_what_is_of_the_project(file: str, expected: str | None) -> None:
    assert project_path(file, ROOT) == expected


def test_a_root_below_a_folder_of_packages_is_still_a_project() -> None:
    assert project_path("/x/site-packages/shop/a.py", "/x/site-packages/shop") == "a.py"


def test_a_root_that_is_a_link(tmp_path: Path) -> None:
    real = tmp_path / "real"
    (real / "shop").mkdir(parents=True)
    link = tmp_path / "link"
    link.symlink_to(real)
    for file in (real / "shop/cart.py", link / "shop/cart.py"):
        for root in (real, link):
            assert project_path(str(file), str(root)) == "shop/cart.py"


def test_equal_signatures_have_equal_keys_and_different_ones_different_keys() -> None:
    made = [
        Signature(
            outcome=outcome, phase=phase, exception=exception, file=file, line=line, function="f", message=message
        )
        for outcome in (Outcome.FAILED, Outcome.ERROR)
        for phase in ("call", "setup")
        for exception in ("A", None, "None")
        for file in ("a.py", "b.py")
        for line in (1, 11)
        for message in ("", "x")
    ]
    by_key = {found.key: found for found in made}
    assert len(by_key) == len(made)
    assert all(len(key) == 12 for key in by_key)
