from random import Random

import pytest

from triage.stats.clusters import FEWEST, alike, clustered_interval, design_effect, effective
from triage.stats.intervals import clopper_pearson

Clusters = list[tuple[int, int]]


def drawn(rng: Random, rate: float, correlation: float, clusters: int, size: int) -> Clusters:
    """Beta-binomial clusters: each has a rate of its own, and `correlation` is that of two trials of one cluster."""
    found = []
    for _ in range(clusters):
        own = rate
        if correlation:
            scale = (1 - correlation) / correlation
            own = rng.betavariate(rate * scale, (1 - rate) * scale)
        found.append((sum(rng.random() < own for _ in range(size)), size))
    return found


def test_clusters_that_all_have_the_same_rate_cost_nothing():
    assert design_effect([(3, 10)] * 8) == 1
    assert effective([(3, 10)] * 8) == (24, 80)


def test_clusters_that_spread_as_independent_trials_do_cost_next_to_nothing():
    rng = Random(1)
    effects = [design_effect(drawn(rng, 0.3, 0.0, 40, 25)) for _ in range(50)]
    assert sum(effects) / 50 == pytest.approx(1.1, abs=0.1), "never below 1, so a little above it on average"


@pytest.mark.parametrize("size", [2, 30, 500])
@pytest.mark.parametrize("failing", [5, 50])
def test_clusters_that_fail_always_or_never_count_for_one_trial_each(size: int, failing: int):
    clusters = [(size, size)] * failing + [(0, size)] * (100 - failing)
    assert size <= design_effect(clusters) <= size * 100 / 99
    failed, trials = effective(clusters)
    assert (failed, trials) == pytest.approx((failing, 100), rel=0.011)


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_what_is_correlated_costs_as_much_as_the_correlation_says(rate: float):
    rng = Random(2)
    found = design_effect(drawn(rng, rate, 0.3, 1000, 20))
    assert found == pytest.approx(1 + 19 * 0.3, rel=0.15), "1 + (size - 1) times the correlation"


def test_clusters_of_several_sizes_are_weighed_by_their_trials():
    assert design_effect([(1, 10), (10, 100), (4, 40)]) == 1
    large = design_effect([(30, 100), (0, 100), (0, 2), (0, 2)])
    small = design_effect([(5, 100), (5, 100), (2, 2), (0, 2)])
    assert large > 10 * small


@pytest.mark.parametrize("clusters", [[(7, 20)], [(1, 20), (9, 20)]])
def test_of_too_few_clusters_each_counts_as_one_trial(clusters: Clusters):
    assert len(clusters) < FEWEST
    assert effective(clusters)[1] == len(clusters)
    low, high = clustered_interval(clusters)
    assert low < 0.05
    assert high > 0.8
    narrower = clustered_interval([*clusters, (8, 20)])
    assert low < narrower[0] < narrower[1] < high, "a third one tells how they spread"


def test_where_nothing_failed_the_interval_is_that_of_the_processes():
    assert clustered_interval([(0, 1000)] * 5) == clopper_pearson(0, 5)
    assert clustered_interval([(1000, 1000)] * 5) == clopper_pearson(5, 5)
    assert clustered_interval([(0, 1)] * 40) == clopper_pearson(0, 40)


def test_without_trials_nothing_is_known():
    assert clustered_interval([]) == (0, 1)
    assert clustered_interval([(0, 0), (0, 0)]) == (0, 1)
    assert design_effect([]) == 1


def test_clusters_without_a_trial_change_nothing():
    clusters = [(3, 10), (5, 10), (1, 10), (4, 9)]
    assert design_effect([(0, 0), *clusters, (0, 0)]) == design_effect(clusters)
    assert clustered_interval([(0, 0), *clusters, (0, 0)]) == clustered_interval(clusters)


@pytest.mark.parametrize(("failed", "trials"), [(1, 3), (1, 20), (7, 20), (19, 20), (12, 300)])
def test_clusters_of_one_trial_each_are_independent_trials(failed: int, trials: int):
    clusters = [(1, 1)] * failed + [(0, 1)] * (trials - failed)
    assert design_effect(clusters) == pytest.approx(1)
    assert clustered_interval(clusters) == pytest.approx(clopper_pearson(failed, trials), abs=1e-9)


def test_more_confidence_is_wider():
    clusters = [(3, 10), (9, 10), (1, 10), (4, 10)]
    low, high = clustered_interval(clusters, 0.8)
    wider_low, wider_high = clustered_interval(clusters, 0.99)
    assert wider_low < low < high < wider_high


@pytest.mark.parametrize("clusters", [[(2, 1)], [(-1, 4), (2, 4)]])
def test_impossible_clusters_are_refused(clusters: Clusters):
    with pytest.raises(ValueError, match="impossible"):
        clustered_interval(clusters)


SIMULATED = 600


@pytest.mark.parametrize("correlation", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("rate", [0.3, 0.5])
@pytest.mark.parametrize(("clusters", "size"), [(12, 30), (5, 30), (40, 10)])
def test_the_true_rate_is_covered_however_trials_agree_within_a_cluster(
    rate: float, correlation: float, clusters: int, size: int
):
    """Of beta-binomial clusters; seeded, so no figure here can change by chance."""
    rng = Random(3)
    intervals = [clustered_interval(drawn(rng, rate, correlation, clusters, size)) for _ in range(SIMULATED)]
    assert sum(low <= rate <= high for low, high in intervals) / SIMULATED >= 0.93


def test_the_pooled_interval_would_not_cover_it():
    """What the clusters are for: the same trials, counted as if they were independent."""
    rng = Random(3)
    covered = 0
    for _ in range(SIMULATED):
        clusters = drawn(rng, 0.3, 0.5, 12, 30)
        low, high = clopper_pearson(sum(failed for failed, _ in clusters), 12 * 30)
        covered += low <= 0.3 <= high
    assert covered / SIMULATED < 0.5


def test_of_few_clusters_the_spread_is_trusted_less():
    """Without the quotient of Student's quantiles, 85 % of these intervals cover."""
    rng = Random(4)
    intervals = [clustered_interval(drawn(rng, 0.5, 0.1, 3, 50)) for _ in range(SIMULATED)]
    assert sum(low <= 0.5 <= high for low, high in intervals) / SIMULATED >= 0.93


def test_clusters_are_alike_unless_chance_can_hardly_do_it() -> None:
    assert alike([(9, 30), (10, 30), (11, 30)])
    assert not alike([(0, 30), (18, 30), (0, 30)])
    assert alike([(0, 30)] * 3)
    assert not alike([(9, 30), (10, 30)]), "two of them say nothing of their spread"


def test_clusters_that_chance_made_are_seldom_called_different() -> None:
    rng = Random(7)
    drawn = [[(sum(rng.random() < 0.3 for _ in range(20)), 20) for _ in range(4)] for _ in range(400)]
    assert sum(not alike(clusters) for clusters in drawn) / len(drawn) <= 0.09
