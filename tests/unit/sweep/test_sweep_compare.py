"""What is said of a sweep beside the one before it."""

import random

import msgspec
import pytest

from triage.model.sweep import Change, Difference, Selection, Shard, State
from triage.model.verdict import Environment, Verdict
from triage.sweep.compare import before, compare, since

A, B, C = "t.py::a", "t.py::b", "u.py::c"


def one(comparison, target=A):
    (found,) = [test for test in comparison.tests if test.target == target]
    return found


def test_new_gone_still_and_changed(make_result, make_sweep):
    then = make_sweep("1", make_result(A, Verdict.REAL_BUG), make_result(B), make_result("t.py::old"))
    now = make_sweep("2", make_result(A, Verdict.STABLE_PASS), make_result(B), make_result(C), started=2000.0)
    comparison = compare(now, then, {A, B, C})
    assert [test.change for test in comparison.tests] == [Change.CHANGED, Change.STILL, Change.NEW]
    assert [(gone.target, gone.why) for gone in comparison.gone] == [
        ("t.py::old", "no longer collected: removed, renamed or moved")
    ]
    assert one(comparison, C).before is None
    assert one(comparison).before.verdict is Verdict.REAL_BUG


@pytest.mark.parametrize(
    ("collected", "errors", "selection", "why"),
    [
        ({"u.py::c"}, (), Selection(), "no longer marked"),
        ({"u.py::c"}, (), Selection(expression="slow"), "no longer selected by the expression"),
        ((), ("u.py",), Selection(), "its file cannot be collected now"),
        ((), ("t.py",), Selection(), "no longer collected: removed, renamed or moved"),
        ((), ("",), Selection(), "no longer collected: removed, renamed or moved"),
        ((), ("u.py2",), Selection(), "no longer collected: removed, renamed or moved"),
    ],
)
def test_why_a_test_is_gone(make_result, make_sweep, collected, errors, selection, why):
    then = make_sweep("1", make_result(C), selection=selection)
    now = make_sweep("2", errors=errors, selection=selection)
    assert [gone.why for gone in compare(now, then, collected).gone] == [why]


@pytest.mark.parametrize(
    ("then", "now", "difference"),
    [
        ((0, 20), (20, 20), Difference.HIGHER),
        ((20, 20), (0, 20), Difference.LOWER),
        ((6, 20), (9, 20), Difference.NOT_SHOWN),
        ((0, 2), (2, 2), Difference.NOT_SHOWN),
    ],
)
def test_rates_differ_only_where_an_exact_test_says_so(make_result, make_sweep, then, now, difference):
    found = one(compare(make_sweep("2", make_result(A, counts=now)), make_sweep("1", make_result(A, counts=then)), ()))
    assert found.difference is difference
    assert 0 <= found.p_value <= 1


def test_the_level_is_split_over_all_pairs(make_result, make_sweep):
    """15 of 40 and 6 of 40 differ at 5% alone (p = 0.04), and do not as one of two."""
    then, now = make_result(A, counts=(6, 40)), make_result(A, counts=(15, 40))
    alone = compare(make_sweep("2", now), make_sweep("1", then), ())
    both = compare(make_sweep("2", now, make_result(B)), make_sweep("1", then, make_result(B)), ())
    assert one(alone).p_value == one(both).p_value
    assert one(alone).difference is Difference.HIGHER
    assert one(both).difference is Difference.NOT_SHOWN
    assert both.level == pytest.approx(0.025)


@pytest.mark.parametrize("state", [State.UNRUNNABLE, State.EXPECTED_FAILURE, State.NOT_REACHED])
def test_nothing_is_compared_without_two_verdicts(make_result, make_sweep, state):
    lacking = make_result(A, state=state, rate=None)
    for now, then in ((lacking, make_result(A)), (make_result(A), lacking)):
        found = one(compare(make_sweep("2", now), make_sweep("1", then), ()))
        assert (found.change, found.difference, found.p_value) == (Change.NOT_COMPARED, Difference.NOT_COMPARED, None)


def test_a_test_that_was_not_reached_is_not_new(make_result, make_sweep):
    then = make_sweep("1", make_result(B), selected=(A, B), complete=False)
    assert one(compare(make_sweep("2", make_result(A)), then, ())).change is Change.NOT_COMPARED


def test_another_environment_is_told(make_result, make_sweep):
    then = make_sweep("1", make_result(A))
    elsewhere = msgspec.structs.replace(
        then.start, environment=Environment(python=("3.13.1",), pytest=None, platform="Linux")
    )
    found = compare(make_sweep("2", make_result(A)), msgspec.structs.replace(then, start=elsewhere), ())
    assert found.environment == ("Python 3.13.1, now 3.11.7", "pytest unknown, now 9.2.0")


def test_the_sweep_before_has_the_same_selection_and_is_complete_if_one_is(make_result, make_sweep):
    result = make_result(A)
    whole, slow = Selection(), Selection(expression="slow")
    sweeps = [
        make_sweep("5", result, selection=slow),
        make_sweep("4", selection=whole, selected=(A,), complete=False),
        make_sweep("3", result, selection=whole, selected=(A, B), complete=False),
        make_sweep("2", result, selection=whole),
        make_sweep("1", result, selection=whole),
    ]
    now = make_sweep("6", result).start
    assert before(now, sweeps).start.sweep == "2"
    assert before(now, sweeps[:3]).start.sweep == "3", "one that was interrupted is better than none"
    assert before(now, sweeps[:2]) is None
    assert before(msgspec.structs.replace(now, root="/elsewhere"), sweeps) is None


def test_shards_are_compared_with_themselves_or_with_the_whole(make_result, make_sweep):
    def selection(shard):
        return Selection(shard=shard)

    results = [make_result(f"t.py::test_{number}") for number in range(40)]
    first = Shard(1, 3)
    own = [result for result in results if first.has(result.target)]
    now = make_sweep("9", *own, selection=selection(first))
    whole = make_sweep("1", *results)
    assert before(now.start, [make_sweep("2", *results, selection=selection(Shard(2, 3))), whole]) is whole
    assert before(whole.start, [now]) is None, "a shard does not cover the whole"
    comparison = compare(now, whole, ())
    assert {test.change for test in comparison.tests} == {Change.STILL}
    assert comparison.gone == (), "tests of other shards are not gone"


def test_since_goes_back_over_sweeps_that_say_the_same(make_result, make_sweep):
    def sweep(name, started, *results):
        return make_sweep(name, *results, started=started)

    bug, open_ = make_result(A, Verdict.REAL_BUG, cause="crash"), make_result(A)
    earlier = [
        sweep("5", 500.0, bug),
        sweep("4", 400.0),
        sweep("3", 300.0, make_result(A, state=State.UNRUNNABLE, verdict=None)),
        sweep("2", 200.0, bug),
        sweep("1", 100.0, open_),
    ]
    (found,) = since(sweep("6", 600.0, bug), earlier)
    assert (found.sweep, found.started) == ("2", 200.0)
    (found,) = since(sweep("6", 600.0, make_result(A, Verdict.REAL_BUG, cause="race")), earlier)
    assert found.sweep == "6", "another cause is another finding"
    assert since(sweep("6", 600.0, make_result(A, state=State.UNRUNNABLE)), earlier) == ()


def test_every_test_is_in_exactly_one_shard():
    drawn = random.Random(5)
    ids = ["t.py::test", "", "a\udc80", *(f"tests/t_{drawn.random()}.py::test[{n}]" for n in range(300))]
    for of in (1, 2, 3, 7):
        shards = [Shard(number, of) for number in range(1, of + 1)]
        assert all(sum(shard.has(one) for shard in shards) == 1 for one in ids)
        assert all(any(shard.has(one) for one in ids) for shard in shards)


def test_shards_are_the_same_on_every_machine():
    assert [Shard(1, 2).has(name) for name in "abcdefgh"] == [True, True, True, False, True, True, False, False]
