import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product

import pytest
from scipy.stats import fisher_exact

from triage.stats.exact import (
    confirm_size,
    detectable_difference,
    fisher_greater,
    fisher_two_sided,
    power_fisher,
    smallest_useful_n,
)
from triage.stats.intervals import trials_to_exclude

ALPHAS = [0.1, 0.05, 0.05 / 3, 0.01]


def chance(k: int, n: int, p: float) -> float:
    return math.comb(n, k) * p**k * (1 - p) ** (n - k)


def enumerated_power(p_a: float, p_b: float, n: int, m: int, alpha: float) -> float:
    """Brute force over all tables, each judged by the exact test."""
    return math.fsum(
        chance(a, n, p_a) * chance(b, m, p_b)
        for a, b in product(range(n + 1), range(m + 1))
        if fisher_greater(a, n, b, m) <= alpha
    )


def fractional_greater(a: int, n: int, b: int, m: int) -> Fraction:
    both = a + b
    tail = sum(math.comb(n, k) * math.comb(m, both - k) for k in range(a, min(n, both) + 1))
    return Fraction(tail, math.comb(n + m, both))


def test_the_lady_tasting_tea():
    assert fisher_greater(4, 4, 0, 4) == 1 / 70
    assert fisher_greater(3, 4, 1, 4) == 17 / 70
    assert fisher_two_sided(3, 4, 1, 4) == 34 / 70


def test_a_p_value_that_equals_the_level_is_found_equal():
    assert fisher_greater(3, 3, 0, 3) == 0.05


@pytest.mark.parametrize(("n", "m"), [(1, 1), (3, 5), (8, 8), (12, 7), (0, 4), (4, 0)])
def test_every_small_table_has_the_exact_value(n: int, m: int):
    for a, b in product(range(n + 1), range(m + 1)):
        assert fisher_greater(a, n, b, m) == float(fractional_greater(a, n, b, m)), (a, b)


@pytest.mark.parametrize(("n", "m"), [(5, 5), (9, 14), (20, 20), (64, 64), (150, 40)])
def test_scipy_agrees(n: int, m: int):
    for a, b in product(range(0, n + 1, max(1, n // 5)), range(0, m + 1, max(1, m // 5))):
        table = [[a, n - a], [b, m - b]]
        assert fisher_greater(a, n, b, m) == pytest.approx(fisher_exact(table, "greater").pvalue, rel=1e-8), table
        assert fisher_two_sided(a, n, b, m) == pytest.approx(fisher_exact(table).pvalue, rel=1e-8), table


def test_arms_of_thousands_of_trials_neither_overflow_nor_vanish():
    value = fisher_greater(1200, 2000, 800, 2000)
    assert value == float(fractional_greater(1200, 2000, 800, 2000))
    assert 0 < value < 1e-30


@pytest.mark.parametrize("function", [fisher_greater, fisher_two_sided])
@pytest.mark.parametrize("counts", [(5, 4, 0, 4), (0, 4, 5, 4), (-1, 4, 0, 4), (0, 4, 0, -4)])
def test_impossible_tables_are_refused(function: Callable[..., object], counts: tuple[int, ...]):
    with pytest.raises(ValueError, match="impossible"):
        function(*counts)


@pytest.mark.parametrize("n", [5, 10, 20, 40, 64])
@pytest.mark.parametrize("alpha", ALPHAS)
def test_two_arms_of_one_rate_are_told_apart_at_most_as_often_as_permitted(n: int, alpha: float):
    for p in [step / 40 for step in range(41)]:
        assert enumerated_power(p, p, n, n, alpha) <= alpha
        assert enumerated_power(p, p, n, max(1, n // 2), alpha) <= alpha


@pytest.mark.parametrize("p_b", [0.0, 0.03, 0.5, 0.9, 1.0])
@pytest.mark.parametrize(("n", "m"), [(1, 1), (6, 6), (20, 20), (30, 12), (41, 41)])
def test_power_is_the_sum_over_all_tables(n: int, m: int, p_b: float):
    for p_a, alpha in product([0.0, 0.07, 0.4, 0.95, 1.0], ALPHAS):
        expected = enumerated_power(p_a, p_b, n, m, alpha)
        assert power_fisher(p_a, p_b, n, alpha, b_trials=m) == pytest.approx(expected, abs=1e-12)


def test_power_has_a_closed_form_where_one_arm_is_certain():
    # Against an arm that never fails, 5 of 20 are significant at 5% (p = 0.024) and 4 are not (p = 0.053).
    expected = 1 - sum(chance(k, 20, 0.2) for k in range(5))
    assert power_fisher(0.2, 0.0, 20, 0.05) == pytest.approx(expected)


def test_twelve_against_twelve_miss_a_rate_of_a_quarter_two_times_in_three():
    assert power_fisher(0.25, 0.0, 12, 0.05) == pytest.approx(0.351, abs=5e-4)


def test_without_trials_there_is_no_power():
    assert power_fisher(1.0, 0.0, 0, 0.05) == 0


@pytest.mark.parametrize("alpha", [0.0, 1.0, 5])
def test_a_level_is_a_probability(alpha: float):
    for call in (
        partial(power_fisher, 0.5, 0.1, 10, alpha),
        partial(detectable_difference, 0.1, 10, alpha),
        partial(confirm_size, 0.5, 0.1, alpha),
        partial(smallest_useful_n, alpha),
    ):
        with pytest.raises(ValueError, match="alpha"):
            call()


@pytest.mark.parametrize("power", [0.0, 1.0])
def test_a_power_is_a_probability(power: float):
    for call in (partial(detectable_difference, 0.1, 10, 0.05), partial(confirm_size, 0.5, 0.1, 0.05)):
        with pytest.raises(ValueError, match="power"):
            call(power)


def test_rates_are_probabilities():
    with pytest.raises(ValueError, match="rates"):
        power_fisher(7, 0.1, 10, 0.05)


@pytest.mark.parametrize(("alpha", "n"), [(0.5, 1), (0.2, 2), (0.1, 3), (0.05, 3), (0.049, 4), (0.01, 5), (0.001, 7)])
def test_below_the_smallest_useful_n_nothing_is_significant(alpha: float, n: int):
    assert smallest_useful_n(alpha) == n
    assert fisher_greater(n, n, 0, n) <= alpha
    for fewer in range(1, n):
        assert all(fisher_greater(a, fewer, b, fewer) > alpha for a, b in product(range(fewer + 1), repeat=2))


@pytest.mark.parametrize(("p_b", "n", "m"), [(0.0, 20, 20), (0.1, 20, 20), (0.3, 64, 64), (0.05, 10, 80)])
def test_the_detectable_difference_is_found_and_a_smaller_one_is_not(p_b: float, n: int, m: int):
    difference = detectable_difference(p_b, n, 0.05, 0.9, b_trials=m)
    assert difference is not None
    assert power_fisher(p_b + difference, p_b, n, 0.05, b_trials=m) >= 0.9
    assert power_fisher(p_b + difference - 2e-6, p_b, n, 0.05, b_trials=m) < 0.9


def test_arms_that_can_tell_nothing_have_no_detectable_difference():
    assert detectable_difference(0.0, 2, 0.05) is None
    assert detectable_difference(1.0, 50, 0.05) is None


@pytest.mark.parametrize(
    ("p_trigger", "p_counter"),
    [(1.0, 0.0), (0.9, 0.1), (0.6, 0.0), (0.5, 0.2), (0.35, 0.1), (0.2, 0.0), (0.2, 0.02), (0.07, 0.0), (0.05, 0.01)],
)
@pytest.mark.parametrize("alpha", [0.05, 0.05 / 3])
def test_the_size_of_a_confirmation_is_the_first_with_the_power(p_trigger: float, p_counter: float, alpha: float):
    excluding = trials_to_exclude(p_trigger, 0.99)
    size = confirm_size(p_trigger, p_counter, alpha, 0.9, floor=1, cap=450)
    assert size is not None
    assert size >= max(excluding, smallest_useful_n(alpha))
    assert power_fisher(p_trigger, p_counter, size, alpha) >= 0.9
    smaller = range(excluding, size)
    assert all(power_fisher(p_trigger, p_counter, n, alpha) < 0.9 for n in smaller)


def test_the_size_of_a_confirmation_respects_floor_and_cap():
    assert confirm_size(1.0, 0.0, 0.05) == 10
    assert confirm_size(1.0, 0.0, 0.05, floor=33) == 33
    size = confirm_size(0.2, 0.0, 0.05)
    assert size == 38
    assert confirm_size(0.2, 0.0, 0.05, cap=38) == 38
    assert confirm_size(0.2, 0.0, 0.05, cap=37) is None
    assert confirm_size(0.2, 0.0, 0.05, floor=39, cap=38) is None


def test_the_size_of_a_confirmation_excludes_the_rate_even_where_less_power_would_do():
    assert confirm_size(0.07, 0.0, 0.05, 0.01, floor=1) == 64


def test_no_size_confirms_a_trigger_that_is_none():
    assert confirm_size(0.2, 0.2, 0.05) is None
    assert confirm_size(0.0, 0.0, 0.05) is None
    assert confirm_size(0.1, 0.4, 0.05) is None
    assert confirm_size(1e-7, 0.0, 0.05) is None
