import math

from hypothesis import given, settings
from hypothesis import strategies as st

from triage.stats.intervals import clopper_pearson, trials_to_exclude, upper_bound

# No deadline, as the machine may be busy; the same examples each time, as a suite about flakiness must not be flaky.
repeatable = settings(deadline=None, derandomize=True, database=None)

counts = st.integers(1, 500).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials)))
confidences = st.floats(0.5, 0.9999)


@repeatable
@given(counts, confidences)
def test_an_interval_holds_the_observed_rate_and_stays_a_rate(count: tuple[int, int], confidence: float):
    failed, trials = count
    low, high = clopper_pearson(failed, trials, confidence)
    assert 0 <= low <= failed / trials <= high <= 1
    assert low < high


@repeatable
@given(counts, confidences)
def test_passes_and_failures_are_treated_alike(count: tuple[int, int], confidence: float):
    failed, trials = count
    low, high = clopper_pearson(failed, trials, confidence)
    mirrored = clopper_pearson(trials - failed, trials, confidence)
    assert math.isclose(low, 1 - mirrored[1], abs_tol=1e-12)
    assert math.isclose(high, 1 - mirrored[0], abs_tol=1e-12)


@repeatable
@given(counts, confidences)
def test_a_one_sided_bound_is_one_side_of_the_wider_interval(count: tuple[int, int], confidence: float):
    failed, trials = count
    _, high = (
        clopper_pearson(failed, trials, 2 * confidence - 1) if confidence > 0.5 else (0.0, upper_bound(*count, 0.5))
    )
    assert math.isclose(upper_bound(failed, trials, confidence), high, rel_tol=1e-9)


@repeatable
@given(counts, confidences, confidences)
def test_more_confidence_never_narrows(count: tuple[int, int], one: float, other: float):
    less, more = sorted((one, other))
    low, high = clopper_pearson(*count, less)
    wider_low, wider_high = clopper_pearson(*count, more)
    assert wider_low <= low + 1e-12
    assert wider_high >= high - 1e-12


@repeatable
@given(counts, confidences)
def test_another_failure_raises_and_another_pass_lowers_both_ends(count: tuple[int, int], confidence: float):
    failed, trials = count
    low, high = clopper_pearson(failed, trials, confidence)
    worse_low, worse_high = clopper_pearson(failed + 1, trials + 1, confidence)
    better_low, better_high = clopper_pearson(failed, trials + 1, confidence)
    assert better_low <= low <= worse_low
    assert better_high <= high <= worse_high


@repeatable
@given(st.floats(1e-4, 1), confidences)
def test_the_number_of_trials_that_excludes_a_rate_is_the_smallest(rate: float, confidence: float):
    n = trials_to_exclude(rate, confidence)
    assert upper_bound(0, n, confidence) <= rate * (1 + 1e-6)
    assert n == 1 or upper_bound(0, n - 1, confidence) > rate * (1 - 1e-6)
