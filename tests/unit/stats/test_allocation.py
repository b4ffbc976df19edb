from fractions import Fraction

import pytest

from triage.stats.allocation import spend_alpha, split_alpha
from triage.stats.exact import power_fisher


def test_claims_share_the_level_equally():
    assert split_alpha(0.05, 1) == 0.05
    assert split_alpha(0.05, 5) == pytest.approx(0.01)


def test_attempts_halve_what_is_left():
    assert [spend_alpha(0.05, attempt) for attempt in (1, 2, 3)] == [0.025, 0.0125, 0.00625]


@pytest.mark.parametrize("alpha", [0.05, 0.1, 1 / 3])
def test_any_number_of_attempts_spends_less_than_the_level(alpha: float):
    assert sum(Fraction(spend_alpha(alpha, attempt)) for attempt in range(1, 200)) < Fraction(alpha)


def test_three_claims_with_three_attempts_each_are_all_right_as_often_as_promised():
    # Exact, for independent claims that are all false: arms of 30 trials at one rate.
    for rate in [step / 20 for step in range(21)]:
        right = 1.0
        for attempt in (1, 2, 3):
            right *= (1 - power_fisher(rate, rate, 30, spend_alpha(split_alpha(0.05, 3), attempt))) ** 3
        assert 1 - right <= 0.05


@pytest.mark.parametrize("alpha", [0.0, 1.0, 5.0])
def test_a_level_is_a_probability(alpha: float):
    with pytest.raises(ValueError, match="alpha"):
        split_alpha(alpha, 1)
    with pytest.raises(ValueError, match="alpha"):
        spend_alpha(alpha, 1)


def test_claims_and_attempts_are_counted_from_one():
    with pytest.raises(ValueError, match="0 claims"):
        split_alpha(0.05, 0)
    with pytest.raises(ValueError, match="attempt 0"):
        spend_alpha(0.05, 0)
