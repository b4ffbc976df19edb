import math

from hypothesis import given, settings
from hypothesis import strategies as st

from triage.stats.clusters import clustered_interval, design_effect, effective
from triage.stats.intervals import clopper_pearson

# No deadline, as the machine may be busy; the same examples each time, as a suite about flakiness must not be flaky.
repeatable = settings(deadline=None, derandomize=True, database=None)

Clusters = list[tuple[int, int]]
cluster = st.integers(1, 80).flatmap(lambda trials: st.tuples(st.integers(0, trials), st.just(trials)))
several = st.lists(cluster, min_size=1, max_size=25)
confidences = st.floats(0.5, 0.999)


def pooled(clusters: Clusters) -> tuple[int, int]:
    return sum(failed for failed, _ in clusters), sum(trials for _, trials in clusters)


@repeatable
@given(several, confidences)
def test_clusters_never_narrow_the_interval_of_their_trials(clusters: Clusters, confidence: float):
    low, high = clustered_interval(clusters, confidence)
    exact_low, exact_high = clopper_pearson(*pooled(clusters), confidence)
    assert 0 <= low <= exact_low + 1e-9
    assert exact_high - 1e-9 <= high <= 1


@repeatable
@given(several)
def test_clusters_are_worth_no_more_than_their_trials_and_have_their_rate(clusters: Clusters):
    failed, trials = effective(clusters)
    all_failed, total = pooled(clusters)
    assert design_effect(clusters) >= 1
    assert 0 <= failed <= trials <= total
    assert math.isclose(failed / trials, all_failed / total, rel_tol=1e-9)


@repeatable
@given(several, confidences)
def test_passes_and_failures_of_clusters_are_treated_alike(clusters: Clusters, confidence: float):
    low, high = clustered_interval(clusters, confidence)
    mirrored = clustered_interval([(trials - failed, trials) for failed, trials in clusters], confidence)
    assert math.isclose(low, 1 - mirrored[1], abs_tol=1e-9)
    assert math.isclose(high, 1 - mirrored[0], abs_tol=1e-9)


@repeatable
@given(several, st.randoms(use_true_random=False))
def test_the_order_of_clusters_does_not_matter(clusters: Clusters, rng):
    shuffled = rng.sample(clusters, len(clusters))
    assert math.isclose(design_effect(clusters), design_effect(shuffled), rel_tol=1e-9)


@repeatable
@given(st.lists(st.booleans(), min_size=1, max_size=200), confidences)
def test_clusters_of_one_trial_each_have_the_exact_interval(outcomes: list[bool], confidence: float):
    clusters = [(int(failed), 1) for failed in outcomes]
    expected = clopper_pearson(sum(outcomes), len(outcomes), confidence)
    found = clustered_interval(clusters, confidence)
    assert all(math.isclose(a, b, abs_tol=1e-9) for a, b in zip(found, expected, strict=True))
