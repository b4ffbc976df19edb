import math
import random
from collections.abc import Callable, Sequence
from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from triage.stats.minimise import Minimal, ddmin

# No deadline, as the machine may be busy; the same examples each time, as a suite about flakiness must not be flaky.
repeatable = settings(deadline=None, derandomize=True, database=None)

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


def monotone(*needed: set[int]) -> Oracle:
    """Fail whenever one of these sets is there as a whole."""
    return lambda candidate: any(one <= set(candidate) for one in needed)


def arbitrary(seed: int, n: int, share: float) -> Oracle:
    """Fail for any subsets whatever of more than a quarter of the items (smaller ones would end a search early)."""

    def fails(candidate: tuple) -> bool:
        if len(candidate) in {0, n}:
            return bool(candidate)
        return random.Random(f"{seed} {candidate}").random() < share and len(candidate) > n / 4

    return fails


def is_subsequence(part: Sequence, whole: Sequence) -> bool:
    rest = iter(whole)
    return all(item in rest for item in part)


needed_sets = st.integers(1, 60).flatmap(
    lambda n: st.tuples(st.just(n), st.sets(st.integers(0, n - 1), min_size=1, max_size=3))
)
oracles = st.tuples(st.integers(0, 2**32), st.integers(1, 24), st.sampled_from([0.05, 0.15, 0.25, 0.5, 0.9]))


@repeatable
@given(needed_sets)
def test_one_two_or_three_needed_items_are_found_exactly(case: tuple[int, set[int]]):
    n, needed = case
    result, asked = drive(range(n), monotone(needed))
    assert result == Minimal(items=tuple(sorted(needed)), queries=len(asked), complete=True)


@repeatable
@given(st.integers(1, 2000), st.data())
def test_one_needed_item_takes_two_questions_a_halving(n: int, data: st.DataObject):
    needed = data.draw(st.integers(0, n - 1))
    result, _ = drive(range(n), monotone({needed}))
    assert result.queries <= 2 * math.ceil(math.log2(n))


@repeatable
@given(
    st.integers(2, 9),
    st.lists(st.sets(st.integers(0, 8), min_size=1, max_size=3), min_size=1, max_size=4),
)
def test_several_ways_to_fail_end_in_one_of_the_minimal_sets_of_brute_force(n: int, ways: list[set[int]]):
    ways = [way for way in ways if max(way) < n] or [{0}]
    fails = monotone(*ways)
    minimal = [
        subset
        for size in range(1, n + 1)
        for subset in combinations(range(n), size)
        if fails(subset) and not any(fails(less) for less in combinations(subset, size - 1))
    ]
    assert drive(range(n), fails)[0].items in minimal


@settings(repeatable, max_examples=400)
@given(oracles)
def test_any_oracle_ends_in_a_failing_set_whose_every_item_is_needed(case: tuple[int, int, float]):
    seed, n, share = case
    fails = arbitrary(seed, n, share)
    result, asked = drive(range(n), fails)
    assert result.complete
    assert fails(result.items)
    assert not any(fails(less) for less in combinations(result.items, len(result.items) - 1))
    assert len(asked) <= n * n + 3 * n


@repeatable
@given(oracles)
def test_order_is_kept_and_no_candidate_is_asked_for_twice(case: tuple[int, int, float]):
    seed, n, share = case
    items = random.Random(seed).sample(range(1000), n)
    fails = arbitrary(seed, n, share)
    result, asked = drive(items, fails)
    assert all(is_subsequence(candidate, items) and 0 < len(candidate) < n for candidate in asked)
    assert is_subsequence(result.items, items)
    assert len(set(asked)) == len(asked)


@repeatable
@given(oracles, st.integers(1, 4))
def test_a_candidate_is_asked_for_until_it_failed_once_or_passed_often_enough(
    case: tuple[int, int, float], confirm_pass: int
):
    seed, n, share = case
    fails = arbitrary(seed, n, share)
    _, asked = drive(range(n), fails, confirm_pass=confirm_pass)
    assert all(asked.count(candidate) == (1 if fails(candidate) else confirm_pass) for candidate in set(asked))


@repeatable
@given(oracles, st.integers(0, 60), st.integers(1, 3), st.integers(1, 3))
def test_a_budget_cuts_the_same_search_short_at_a_set_that_fails(
    case: tuple[int, int, float], budget: int, confirm_pass: int, confirm_fail: int
):
    seed, n, share = case
    fails = arbitrary(seed, n, share)
    whole, asked = drive(range(n), fails, confirm_pass=confirm_pass, confirm_fail=confirm_fail)
    cut, asked_first = drive(range(n), fails, confirm_pass=confirm_pass, confirm_fail=confirm_fail, budget=budget)
    assert asked_first == asked[:budget]
    assert cut.queries == len(asked_first)
    assert fails(cut.items)
    assert cut.complete == (len(asked) <= budget)
    assert not cut.complete or cut.items == whole.items
    assert len(cut.items) >= len(whole.items)


@repeatable
@given(oracles, st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 2))
def test_the_same_answers_lead_to_the_same_questions(
    case: tuple[int, int, float], noise: int, confirm_pass: int, confirm_fail: int
):
    _, n, share = case

    def once() -> tuple[Minimal, list[tuple]]:
        rng = random.Random(noise)
        return drive(range(n), lambda _: rng.random() < share, confirm_pass=confirm_pass, confirm_fail=confirm_fail)

    assert once() == once()


@repeatable
@given(needed_sets, st.integers(0, 2**32), st.floats(0.05, 1), st.integers(1, 5))
def test_noise_that_only_hides_failures_never_loses_a_needed_item(
    case: tuple[int, set[int]], seed: int, rate: float, confirm_pass: int
):
    n, needed = case
    rng = random.Random(seed)
    fails = monotone(needed)
    result, _ = drive(range(n), lambda candidate: fails(candidate) and rng.random() < rate, confirm_pass=confirm_pass)
    assert needed <= set(result.items)
