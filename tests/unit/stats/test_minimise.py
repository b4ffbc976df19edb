import random
from collections.abc import Callable, Sequence

import pytest

from triage.stats.intervals import trials_to_exclude
from triage.stats.minimise import Minimal, ddmin

Oracle = Callable[[tuple], bool]


def drive(items: Sequence, oracle: Oracle, **options: int) -> tuple[Minimal, list[tuple]]:
    search = ddmin(items, **options)
    asked = []
    try:
        candidate = next(search)
        while True:
            asked.append(candidate)
            candidate = search.send(oracle(candidate))
    except StopIteration as stop:
        return stop.value, asked


def needs(*needed: object) -> Oracle:
    return lambda candidate: set(needed) <= set(candidate)


def test_one_polluter_is_found_by_halving():
    result, asked = drive("abcdefgh", needs("c"))
    assert result == Minimal(items=("c",), queries=5, complete=True)
    assert asked == [tuple(part) for part in ("efgh", "abcd", "cd", "d", "c")]


def test_later_halves_are_asked_for_first():
    _, asked = drive("abcdefgh", needs("h"))
    assert asked == [tuple("efgh"), tuple("gh"), tuple("h")]


def test_two_items_that_only_pollute_together():
    result, _ = drive("abcdefgh", needs("b", "g"))
    assert result.items == ("b", "g")
    assert result.complete


def test_three_items_of_many():
    result, _ = drive(range(100), needs(3, 50, 99))
    assert result.items == (3, 50, 99)
    assert result.complete


def test_everything_can_be_needed():
    result, _ = drive("abcde", needs(*"abcde"))
    assert result.items == tuple("abcde")
    assert result.complete


@pytest.mark.parametrize("items", [(), ("a",)])
def test_what_cannot_shrink_is_not_asked_for(items: tuple[str, ...]):
    assert drive(items, needs("a")) == (Minimal(items=items, queries=0, complete=True), [])


def test_equal_items_are_still_two():
    result, _ = drive("xaxb", lambda candidate: candidate.count("x") == 2)
    assert result.items == ("x", "x")


def test_items_need_not_be_hashable():
    result, _ = drive([[1], [2], [3]], lambda candidate: [2] in candidate)
    assert result.items == ([2],)


def test_a_pass_is_believed_only_after_several():
    answers = iter([False, False, True])
    result, asked = drive("ab", lambda _: next(answers), confirm_pass=3)
    assert asked == [("b",)] * 3
    assert result == Minimal(items=("b",), queries=3, complete=True)


def test_a_failure_is_believed_only_after_several_where_failures_happen_by_themselves():
    answers = {("b",): iter([True, False, False, False]), ("a",): iter([True, False, True])}
    result, asked = drive("ab", lambda candidate: next(answers[candidate]), confirm_pass=3, confirm_fail=2)
    assert asked == [("b",)] * 4 + [("a",)] * 3
    assert result.items == ("a",)


def test_a_spent_budget_returns_the_smallest_set_that_failed():
    result, asked = drive("abcdefgh", needs("h"), budget=2)
    assert result == Minimal(items=("g", "h"), queries=2, complete=False)
    assert len(asked) == 2


def test_an_undecided_candidate_is_not_believed():
    result, _ = drive("abcd", needs("d"), budget=1, confirm_fail=2, confirm_pass=2)
    assert result == Minimal(items=tuple("abcd"), queries=1, complete=False)


def test_without_a_budget_nothing_is_learned():
    assert drive("abc", needs("a"), budget=0)[0] == Minimal(items=tuple("abc"), queries=0, complete=False)


def test_a_budget_that_is_just_enough_is_enough():
    queries = drive("abcdefgh", needs("b", "g"))[0].queries
    assert drive("abcdefgh", needs("b", "g"), budget=queries)[0].complete
    assert not drive("abcdefgh", needs("b", "g"), budget=queries - 1)[0].complete


@pytest.mark.parametrize("settings", [{"confirm_pass": 0}, {"confirm_fail": 0}, {"budget": -1}])
def test_numbers_out_of_range_are_refused_before_the_first_question(settings: dict[str, int]):
    with pytest.raises(ValueError, match=next(iter(settings))):
        ddmin("abc", **settings)


@pytest.mark.parametrize(("rate", "background"), [(0.5, 0.0), (0.2, 0.0), (0.9, 0.05)])
def test_a_noisy_oracle_is_searched_with_the_promised_confidence(rate: float, background: float):
    # With seeds and so with one answer. Without background every result must contain both culprits, as nothing else
    # can fail; how often it has nothing more follows from the confidence in each pass.
    confirm_pass = trials_to_exclude(rate, 0.999) + (2 if background else 0)
    confirm_fail = 3 if background else 1
    exact = sound = 0
    for seed in range(200):
        rng = random.Random(seed)
        culprits = set(rng.sample(range(16), 2))

        def fails(candidate: tuple, rng: random.Random = rng, culprits: set = culprits) -> bool:
            return rng.random() < (rate if culprits <= set(candidate) else background)

        result, _ = drive(range(16), fails, confirm_pass=confirm_pass, confirm_fail=confirm_fail)
        assert result.complete
        sound += culprits <= set(result.items)
        exact += culprits == set(result.items)
    assert exact >= 190
    assert sound >= (190 if background else 200)
