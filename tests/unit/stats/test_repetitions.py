"""How often a candidate of a noisy search is tried, against simulation."""

from random import Random

import pytest

from triage.stats.minimise import repetitions


def test_without_noise_once_is_enough():
    assert repetitions(1.0, 0.0) == (1, 1)


@pytest.mark.parametrize(("rate", "background"), [(0.99, 0.0), (0.5, 0.0), (0.95, 0.1), (0.8, 0.2), (0.7, 0.02)])
def test_both_errors_are_kept(rate, background):
    passes, fails = repetitions(rate, background, error=0.02)
    rng = Random(f"{rate}{background}")

    def believed_to_fail(p):
        failed = passed = 0
        while failed < fails and passed < passes:
            if rng.random() < p:
                failed += 1
            else:
                passed += 1
        return failed == fails

    runs = 4000
    assert sum(not believed_to_fail(rate) for _ in range(runs)) / runs <= 0.03
    assert sum(believed_to_fail(background) for _ in range(runs)) / runs <= 0.03


def test_rates_that_hardly_differ_get_the_best_there_is():
    passes, fails = repetitions(0.5, 0.4, most=5)
    assert 1 <= passes <= 5
    assert 1 <= fails <= 5
