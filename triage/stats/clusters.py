"""Failure rates from trials that come in clusters: forks of one process share what it drew when it started.

Within a cluster trials may agree more than chance would have it; n of them are then worth fewer independent ones. How many is
estimated from the spread between the clusters.
"""

from __future__ import annotations

from collections.abc import Sequence

from triage.stats.intervals import clopper_pearson, require_counts

FEWEST = 3
"""Clusters from which on their spread says something about that spread."""


def design_effect(clusters: Sequence[tuple[int, int]]) -> float:
    """Return how many times the variance of the pooled rate exceeds that of independent trials; never less than 1.

    `clusters` are (failed, trials). The variance is that of the ratio estimator over clusters. With fewer than `FEWEST`
    clusters nothing is known of it, and every cluster counts as one trial; so it does where no trial or all of them failed, of
    which the caller must make what it can. Source: Kish, "Survey sampling" (1965), chapters 5 and 6.
    """
    for failed, trials in clusters:
        require_counts(failed, trials)
    known = [cluster for cluster in clusters if cluster[1]]
    total = sum(trials for _, trials in known)
    rate = sum(failed for failed, _ in known) / total if total else 0.0
    if len(known) < FEWEST or rate in {0.0, 1.0}:
        return max(1.0, total / max(1, len(known)))
    count = len(known)
    spread = sum((failed - rate * trials) ** 2 for failed, trials in known)
    variance = count / (count - 1) * spread / total**2
    return max(1.0, variance * (total - 1) / (rate * (1 - rate)))


def alike(clusters: Sequence[tuple[int, int]], level: float = 0.05) -> bool:
    """Whether the clusters differ no more than chance lets them; False with fewer than `FEWEST` of them.

    Pearson's chi-square test of homogeneity at `level`. Meant for clusters of some ten trials and more; where all trials ended the
    same, the clusters are alike. Raises `ValueError` for impossible counts.
    """
    for failed, trials in clusters:
        require_counts(failed, trials)
    known = [cluster for cluster in clusters if cluster[1]]
    total = sum(trials for _, trials in known)
    if len(known) < FEWEST:
        return False
    rate = sum(failed for failed, _ in known) / total
    if rate in {0.0, 1.0}:
        return True
    spread = sum((failed - rate * trials) ** 2 / trials for failed, trials in known) / (rate * (1 - rate))
    from scipy.special import gammaincc  # type: ignore[import-untyped]  # noqa: PLC0415 - slow to import

    return float(gammaincc((len(known) - 1) / 2, spread / 2)) > level


def clustered_interval(clusters: Sequence[tuple[int, int]], confidence: float = 0.95) -> tuple[float, float]:
    """Return a two-sided interval of the failure rate: the exact one at the effective numbers of failures and trials.

    Fewer clusters know their own spread less well, which the quotient of two quantiles of Student's t makes up for. Without a
    failure (or a pass) it is the interval of the number of clusters: what one process drew at its start may decide all its
    trials. Where a low rate comes from few clusters that fail often, it covers the true one less often than `confidence`:
    nothing has shown the spread yet. Source: Korn and Graubard, "Confidence intervals for proportions with small expected number
    of positive counts estimated from survey data", Survey Methodology 24 (1998). Raises `ValueError` for impossible counts.
    """
    failed, trials = effective(clusters)
    known, total = sum(bool(size) for _, size in clusters), sum(size for _, size in clusters)
    if known >= FEWEST and known < total and 0 < failed < trials:
        from scipy.special import stdtrit  # noqa: PLC0415 - slow to import

        quantile = (1 + confidence) / 2
        shrink = float((stdtrit(total - 1, quantile) / stdtrit(known - 1, quantile)) ** 2)
        failed, trials = failed * shrink, trials * shrink
    return clopper_pearson_real(failed, trials, confidence)


def rate_interval(
    failed: int, trials: int, clusters: Sequence[tuple[int, int]], confidence: float = 0.95
) -> tuple[float, float]:
    """Return the two-sided interval of a failure rate: that of its clusters if it has any, else the exact one."""
    return clustered_interval(clusters, confidence) if clusters else clopper_pearson(failed, trials, confidence)


def effective(clusters: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Return the failures and trials, no whole numbers, that as many independent trials would have to be."""
    factor = design_effect(clusters)
    return sum(failed for failed, _ in clusters) / factor, sum(trials for _, trials in clusters) / factor


def clopper_pearson_real(failed: float, trials: float, confidence: float) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson for numbers that need not be whole."""
    if trials <= 0:
        return 0.0, 1.0
    if float(failed).is_integer() and float(trials).is_integer():
        return clopper_pearson(int(failed), int(trials), confidence)
    from scipy.special import betaincinv  # noqa: PLC0415 - slow to import

    tail = (1 - confidence) / 2
    low = float(betaincinv(failed, trials - failed + 1, tail)) if failed > 0 else 0.0
    high = float(betaincinv(failed + 1, trials - failed, 1 - tail)) if failed < trials else 1.0
    return low, high
