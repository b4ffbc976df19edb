import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import triage
from triage.stats.intervals import clopper_pearson, trials_to_exclude, trials_to_see, upper_bound


def at_most(failed: int, trials: int, rate: float) -> float:
    """Brute force: the probability of `failed` or fewer failures."""
    return math.fsum(math.comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(failed + 1))


@pytest.mark.parametrize(
    ("failed", "trials", "low", "high"),
    [
        (0, 10, 0.0, 0.3085),
        (1, 10, 0.0025, 0.4450),
        (5, 10, 0.1871, 0.8129),
        (10, 10, 0.6915, 1.0),
        (4, 20, 0.0573, 0.4366),
        (7, 100, 0.0286, 0.1389),
        (0, 20, 0.0, 0.1684),
    ],
)
def test_the_95_percent_interval_has_the_published_values(failed: int, trials: int, low: float, high: float):
    assert clopper_pearson(failed, trials) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize("trials", [1, 2, 7, 20, 60])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_each_end_leaves_exactly_half_of_the_rest_beyond_it(trials: int, confidence: float):
    tail = (1 - confidence) / 2
    for failed in range(trials + 1):
        low, high = clopper_pearson(failed, trials, confidence)
        if failed < trials:
            assert at_most(failed, trials, high) == pytest.approx(tail, rel=1e-8)
        else:
            assert high == 1
        if failed > 0:
            assert 1 - at_most(failed - 1, trials, low) == pytest.approx(tail, rel=1e-6)
        else:
            assert low == 0


@pytest.mark.parametrize("trials", [1, 2, 3, 5, 10, 17, 31, 60])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_the_true_rate_is_covered_as_often_as_promised(trials: int, confidence: float):
    intervals = [clopper_pearson(failed, trials, confidence) for failed in range(trials + 1)]
    bounds = [upper_bound(failed, trials, confidence) for failed in range(trials + 1)]
    for rate in [step / 97 for step in range(98)]:
        chances = [math.comb(trials, k) * rate**k * (1 - rate) ** (trials - k) for k in range(trials + 1)]
        inside = math.fsum(c for c, (low, high) in zip(chances, intervals, strict=True) if low <= rate <= high)
        below = math.fsum(c for c, bound in zip(chances, bounds, strict=True) if rate <= bound)
        assert inside >= confidence - 1e-12
        assert below >= confidence - 1e-12


def test_zero_failures_leave_the_rate_of_the_closed_form_open():
    assert upper_bound(0, 20) == pytest.approx(1 - 0.05 ** (1 / 20))
    assert upper_bound(0, 300) == pytest.approx(3 / 300, rel=0.01), "the rule of three"


def test_nothing_is_known_without_trials():
    assert clopper_pearson(0, 0) == (0, 1)
    assert upper_bound(0, 0) == 1


def test_an_arm_that_always_failed_has_no_upper_bound():
    assert upper_bound(9, 9) == 1


def test_the_trials_that_the_design_asks_for():
    assert trials_to_exclude(0.07) == 64
    assert trials_to_exclude(0.07, 0.99) == trials_to_see(0.07, 0.99)
    assert upper_bound(0, 20, 0.99) > 0.07, "0 of 20 says nothing about 7%"


@pytest.mark.parametrize(
    ("rate", "confidence", "trials"),
    [
        (0.5, 0.75, 2),
        (0.9, 0.99, 2),
        (0.9, 0.999, 3),
        (0.9, 0.9, 1),
        (1.0, 0.99, 1),
        (0.01, 0.95, 299),
        (0.999, 0.5, 1),
        (0.9, 0.9999, 4),
        (0.3, 0.51, 2),
        (0.5, 1e-12, 1),
    ],
)
def test_a_whole_number_of_trials_is_not_rounded_up(rate: float, confidence: float, trials: int):
    assert trials_to_exclude(rate, confidence) == trials


def test_seeing_a_failure_is_the_default_95_percent():
    assert trials_to_see(0.1) == 29


@pytest.mark.parametrize(("failed", "trials"), [(-1, 5), (6, 5), (0, -1)])
@pytest.mark.parametrize("function", [clopper_pearson, upper_bound])
def test_impossible_counts_are_refused(function: Callable[..., object], failed: int, trials: int):
    with pytest.raises(ValueError, match="impossible"):
        function(failed, trials)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, -0.1, math.nan])
def test_a_confidence_is_a_probability(confidence: float):
    for call in (
        lambda: clopper_pearson(1, 5, confidence),
        lambda: upper_bound(1, 5, confidence),
        lambda: trials_to_exclude(0.1, confidence),
    ):
        with pytest.raises(ValueError, match=r"not in \(0, 1\)"):
            call()


@pytest.mark.parametrize("rate", [0.0, -0.1, 1.5, math.nan])
def test_no_number_of_trials_excludes_an_impossible_rate(rate: float):
    with pytest.raises(ValueError, match=r"not in \(0, 1\]"):
        trials_to_exclude(rate)


SCRIPT = """
import json, sys
def heavy():
    return sorted({name.partition(".")[0] for name in sys.modules} & {"scipy", "numpy"})
from triage.stats import allocation, exact, intervals, minimise
intervals.clopper_pearson(0, 20), exact.confirm_size(0.2, 0.0, 0.05)
before = heavy()
intervals.clopper_pearson(1, 20)
print(json.dumps([before, heavy(), "scipy.stats" in sys.modules]))
"""


def test_scipy_is_loaded_by_the_first_interval_that_needs_it_and_only_its_special_functions():
    # In a process of its own: other tests of this one have loaded scipy.
    root = Path(triage.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=root, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [[], ["numpy", "scipy"], False]
