"""Exact intervals for a failure rate, and how many trials without a failure say something about it.

Rates, confidences and levels are probabilities from 0 to 1, never percentages. A wrong argument is a fault of the caller,
so it raises `ValueError`. scipy is imported where it is needed: the two ends (no failure, only failures) have closed forms
and are by far the most frequent.
"""

from __future__ import annotations

import math

ROUNDING = 1e-9
"""A number of trials that exceeds a whole one by less than this is that whole number: 1 - 0.9 is not quite 0.1."""


def clopper_pearson(failed: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the exact two-sided interval of a failure rate; without any trial it is (0, 1).

    It covers the true rate with a probability of at least `confidence`, whatever the rate; each side errs in at most
    half of the rest. Source: Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of
    the binomial", Biometrika 26 (1934). Raises `ValueError` for counts or a confidence out of range.
    """
    require_counts(failed, trials)
    require_open("confidence", confidence)
    tail = (1 - confidence) / 2
    return 1 - _upper(trials - failed, trials, tail), _upper(failed, trials, tail)


def upper_bound(failed: int, trials: int, confidence: float = 0.95) -> float:
    """Return the exact one-sided upper bound of a failure rate; without any trial it is 1.

    The true rate exceeds it with a probability of at most 1 - `confidence`. This is the bound to state for a target that
    did not fail: 0 of 20 leaves rates up to 13.9% open. Source and errors: as `clopper_pearson`.
    """
    require_counts(failed, trials)
    require_open("confidence", confidence)
    return _upper(failed, trials, 1 - confidence)


def trials_to_exclude(rate: float, confidence: float = 0.99) -> int:
    """Return the smallest n such that 0 failures of n exclude `rate`: (1 - rate)^n is at most 1 - `confidence`.

    64 trials exclude 7% with a confidence of 99%. Raises `ValueError` for a rate outside (0, 1] (nothing excludes 0).
    """
    if not 0 < rate <= 1:
        raise ValueError(f"rate {rate} is not in (0, 1]")
    require_open("confidence", confidence)
    if rate == 1:
        return 1
    return max(1, math.ceil(math.log1p(-confidence) / math.log1p(-rate) - ROUNDING))


def trials_to_see(rate: float, confidence: float = 0.95) -> int:
    """Return the smallest n such that a target with this rate fails at least once in n with probability `confidence`.

    The same number as `trials_to_exclude`, asked before the trials instead of after them: what is seen this surely is
    excluded this surely when it is not seen. Raises `ValueError` for a rate outside (0, 1].
    """
    return trials_to_exclude(rate, confidence)


def require_counts(failed: int, trials: int) -> None:
    """Raise `ValueError` unless 0 <= failed <= trials."""
    if not 0 <= failed <= trials:
        raise ValueError(f"{failed} failed of {trials} trials is impossible")


def require_open(name: str, probability: float) -> None:
    """Raise `ValueError` unless the probability lies strictly between 0 and 1."""
    if not 0 < probability < 1:
        raise ValueError(f"{name} {probability} is not in (0, 1)")


def _upper(failed: int, trials: int, tail: float) -> float:
    """Return the rate at which `failed` or fewer of `trials` have exactly the probability `tail`."""
    if failed == trials:
        return 1.0
    if failed == 0:
        return -math.expm1(math.log(tail) / trials)
    from scipy.special import betaincinv  # type: ignore[import-untyped]  # noqa: PLC0415 - slow to import

    return float(betaincinv(failed + 1, trials - failed, 1 - tail))
