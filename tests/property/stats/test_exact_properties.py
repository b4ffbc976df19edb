import math

from hypothesis import given, settings
from hypothesis import strategies as st

from triage.stats.exact import (
    _power_randomised,
    confirm_size,
    fisher_greater,
    fisher_two_sided,
    power_fisher,
    smallest_useful_n,
)
from triage.stats.intervals import trials_to_exclude

# No deadline, as the machine may be busy; the same examples each time, as a suite about flakiness must not be flaky.
repeatable = settings(deadline=None, derandomize=True, database=None)


def counts(lowest: int = 0, most: int = 120):
    return st.integers(lowest, most).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials)))


rates = st.floats(0, 1)
levels = st.floats(1e-4, 0.3)


@repeatable
@given(counts(), counts())
def test_p_values_are_probabilities_and_never_zero(a: tuple[int, int], b: tuple[int, int]):
    assert 0 < fisher_greater(*a, *b) <= 1
    assert 0 < fisher_two_sided(*a, *b) <= 1


@repeatable
@given(counts(), counts())
def test_the_two_directions_share_the_observed_table(a: tuple[int, int], b: tuple[int, int]):
    observed = math.comb(a[1], a[0]) * math.comb(b[1], b[0]) / math.comb(a[1] + b[1], a[0] + b[0])
    assert math.isclose(fisher_greater(*a, *b) + fisher_greater(*b, *a), 1 + observed, rel_tol=1e-12)


@repeatable
@given(counts(), counts())
def test_passes_and_failures_are_treated_alike(a: tuple[int, int], b: tuple[int, int]):
    swapped = (b[1] - b[0], b[1], a[1] - a[0], a[1])
    assert fisher_greater(*a, *b) == fisher_greater(*swapped)
    assert fisher_two_sided(*a, *b) == fisher_two_sided(*swapped)


@repeatable
@given(counts(), counts())
def test_two_sided_does_not_know_which_arm_is_which(a: tuple[int, int], b: tuple[int, int]):
    assert fisher_two_sided(*a, *b) == fisher_two_sided(*b, *a)
    assert fisher_two_sided(*a, *b) >= min(fisher_greater(*a, *b), fisher_greater(*b, *a)) * (1 - 1e-12)


@repeatable
@given(counts(1), counts(1))
def test_more_failures_in_a_or_fewer_in_b_are_never_less_significant(a: tuple[int, int], b: tuple[int, int]):
    value = fisher_greater(*a, *b)
    if a[0] < a[1]:
        assert fisher_greater(a[0] + 1, a[1], *b) <= value
    if b[0] > 0:
        assert fisher_greater(*a, b[0] - 1, b[1]) <= value


@repeatable
@given(st.integers(1, 60), rates, levels)
def test_one_rate_is_called_two_at_most_as_often_as_permitted(n: int, rate: float, alpha: float):
    assert power_fisher(rate, rate, n, alpha) <= alpha


@repeatable
@given(st.integers(1, 60), rates, rates, rates, levels)
def test_a_larger_difference_is_found_more_often(n: int, one: float, other: float, third: float, alpha: float):
    low, middle, high = sorted((one, other, third))
    power = power_fisher(high, low, n, alpha)
    assert 0 <= power <= 1
    assert power >= power_fisher(middle, low, n, alpha) - 1e-12
    assert power >= power_fisher(high, middle, n, alpha) - 1e-12


@repeatable
@given(st.integers(1, 40), rates, levels)
def test_the_randomised_test_uses_the_level_in_full(n: int, rate: float, alpha: float):
    assert math.isclose(_power_randomised(rate, rate, n, alpha), alpha, rel_tol=1e-9)


@repeatable
@given(st.integers(1, 50), rates, rates, levels)
def test_the_randomised_test_is_the_envelope_that_the_bisection_relies_on(
    n: int, one: float, other: float, alpha: float
):
    low, high = sorted((one, other))
    envelope = _power_randomised(high, low, n, alpha)
    assert envelope >= power_fisher(high, low, n, alpha) - 1e-12
    assert _power_randomised(high, low, n + 1, alpha) >= envelope - 1e-10


@repeatable
@given(rates, rates, levels, st.floats(0.05, 0.99), st.integers(1, 80))
def test_the_size_of_a_confirmation_is_what_a_plain_search_finds(
    one: float, other: float, alpha: float, power: float, floor: int
):
    p_counter, p_trigger = sorted((one, other))
    size = confirm_size(p_trigger, p_counter, alpha, power, floor=floor, cap=80)
    if p_trigger == p_counter:
        assert size is None
        return
    start = max(floor, trials_to_exclude(p_trigger, 0.99), smallest_useful_n(alpha))
    found = (n for n in range(start, 81) if power_fisher(p_trigger, p_counter, n, alpha) >= power)
    assert size == next(found, None)
