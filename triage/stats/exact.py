"""Fisher's exact test between two arms, its exact power, and the numbers of trials that follow from it.

"a" is the arm that is suspected to fail more often, "b" the one it is compared with. All p-values are quotients of whole
numbers, rounded once, so a comparison with a level is not decided by accumulated rounding. Wrong arguments raise
`ValueError`. Results are cached: a simulation asks the same questions a million times.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

from triage.stats.intervals import require_counts, require_open, trials_to_exclude

EXCLUSION = 0.99
"""With this confidence a counterfactual without any failure excludes the trigger's rate."""
DEFAULT_CAP = 500
NEGLIGIBLE = 1e-18
"""Terms of a binomial distribution below this share of its largest are left out of a power."""
SLACK = 1e-9
"""How much a computed bound of a power is trusted less than the power itself."""


def fisher_greater(a_failed: int, a_trials: int, b_failed: int, b_trials: int) -> float:
    """Return the exact one-sided p-value of "a does not fail more often than b".

    Given the number of failures in both arms together, it is the probability that at least `a_failed` of them fall to a
    if both have the same rate. Reject at `alpha` when it is at most `alpha`: for every common rate that happens with a
    probability of at most `alpha`. 1 if an arm has no trials. Source: Fisher, "The design of experiments" (1935).
    """
    return _greater(a_failed, a_trials, b_failed, b_trials)


def fisher_two_sided(a_failed: int, a_trials: int, b_failed: int, b_trials: int) -> float:
    """Return the exact two-sided p-value of "a and b fail equally often".

    It adds the probabilities of all tables with the same margins that are at most as probable as the one observed (the
    usual definition; there are others); equally probable ones are found equal, as they are compared as whole numbers.
    """
    return _two_sided(a_failed, a_trials, b_failed, b_trials)


def power_fisher(p_a: float, p_b: float, n: int, alpha: float, *, b_trials: int | None = None) -> float:
    """Return the probability that `fisher_greater` is at most `alpha` with n trials in each arm.

    `p_a` and `p_b` are the true rates; arm b has `b_trials` trials if given. It is the sum over both binomial
    distributions; far tails are left out, which makes it too small by less than 1e-12.
    """
    _require_design(p_a, p_b, alpha)
    return _power(p_a, p_b, n, n if b_trials is None else b_trials, alpha)


def detectable_difference(
    p_b: float, n: int, alpha: float, power: float = 0.9, *, b_trials: int | None = None
) -> float | None:
    """Return the smallest excess of a's rate over `p_b` that n trials an arm find at `alpha` with this power.

    The difference to state where two arms "agree": everything smaller could have been missed. Accurate to 1e-6, never
    too small; None if not even an arm that always fails would be found.
    """
    require_open("power", power)
    if power_fisher(1.0, p_b, n, alpha, b_trials=b_trials) < power:
        return None
    missed, found = p_b, 1.0
    while found - missed > 1e-6:
        middle = (missed + found) / 2
        if power_fisher(middle, p_b, n, alpha, b_trials=b_trials) >= power:
            found = middle
        else:
            missed = middle
    return found - p_b


def smallest_useful_n(alpha: float) -> int:
    """Return the n below which no result of two arms with n trials each is significant at `alpha`.

    With fewer even "all failed" against "none failed" is not: its p-value is 1 / C(2n, n).
    """
    require_open("alpha", alpha)
    n = 1
    while fisher_greater(n, n, 0, n) > alpha:
        n += 1
    return n


def confirm_size(
    p_trigger: float, p_counter: float, alpha: float, power: float = 0.9, *, floor: int = 10, cap: int = DEFAULT_CAP
) -> int | None:
    """Return how many trials each arm of a confirmation gets, fixed beforehand; None if that is more than `cap`.

    It is the smallest n that is at least `floor`, at least `trials_to_exclude(p_trigger, 0.99)` (so that a
    counterfactual without failures says something by itself), and at which `power_fisher` reaches `power`. A few larger n
    may fall short again: the power of an exact test is a saw-tooth in n, as the level it really uses is. That does
    no harm as long as exactly n trials are run. `p_trigger` comes from trials that picked the arm and is too high on
    average; pass a cautious one. None too if `p_trigger` is not above `p_counter`.

    Method: the randomised version of the test uses the whole level, so its power is at least that of the test, and as it
    is uniformly most powerful unbiased (Lehmann and Romano, "Testing statistical hypotheses", 4.5) it does not fall
    with n (ignoring a trial is unbiased too). Bisection on it gives an n below which nothing need be tried.
    """
    _require_design(p_trigger, p_counter, alpha)
    require_open("power", power)
    if p_trigger <= p_counter:
        return None
    low = max(floor, trials_to_exclude(p_trigger, EXCLUSION))
    return _first_n(p_trigger, p_counter, alpha, power, (low, cap))


@lru_cache(maxsize=2**12)
def _first_n(p_a: float, p_b: float, alpha: float, power: float, bounds: tuple[int, int]) -> int | None:
    """Return the first n from the lower to the upper bound, both included, with this power; see `confirm_size`."""
    low, cap = bounds
    wanted = power - SLACK
    if low > cap or _power_randomised(p_a, p_b, cap, alpha) < wanted:
        return None
    high = cap
    while low < high:
        middle = (low + high) // 2
        if _power_randomised(p_a, p_b, middle, alpha) >= wanted:
            high = middle
        else:
            low = middle + 1
    return next((n for n in range(low, cap + 1) if _power(p_a, p_b, n, n, alpha) >= power), None)


@lru_cache(maxsize=2**16)
def _greater(a_failed: int, a_trials: int, b_failed: int, b_trials: int) -> float:
    require_counts(a_failed, a_trials)
    require_counts(b_failed, b_trials)
    trials, both = a_trials + b_trials, a_failed + b_failed
    tables = math.comb(trials, both)
    highest = min(a_trials, both)
    lowest = max(0, both - b_trials)
    # The shorter of the two tails is added up; whole numbers lose nothing in the subtraction.
    if highest - a_failed < a_failed - lowest:
        term = math.comb(a_trials, highest) * math.comb(b_trials, both - highest)
        tail = term
        for k in range(highest, a_failed, -1):
            term = term * (k * (b_trials - both + k)) // ((a_trials - k + 1) * (both - k + 1))
            tail += term
        return tail / tables
    if a_failed == lowest:
        return 1.0
    term = math.comb(a_trials, lowest) * math.comb(b_trials, both - lowest)
    tail = term
    for k in range(lowest + 1, a_failed):
        term = term * ((a_trials - k + 1) * (both - k + 1)) // (k * (b_trials - both + k))
        tail += term
    return (tables - tail) / tables


@lru_cache(maxsize=2**14)
def _two_sided(a_failed: int, a_trials: int, b_failed: int, b_trials: int) -> float:
    require_counts(a_failed, a_trials)
    require_counts(b_failed, b_trials)
    both = a_failed + b_failed
    observed = math.comb(a_trials, a_failed) * math.comb(b_trials, b_failed)
    weights = (
        math.comb(a_trials, k) * math.comb(b_trials, both - k)
        for k in range(max(0, both - b_trials), min(a_trials, both) + 1)
    )
    return sum(weight for weight in weights if weight <= observed) / math.comb(a_trials + b_trials, both)


@lru_cache(maxsize=2**14)
def _power(p_a: float, p_b: float, a_trials: int, b_trials: int, alpha: float) -> float:
    tails = _upper_tails(a_trials, p_a)
    total = 0.0
    critical = 0
    for b_failed, probability in _binomial(b_trials, p_b):
        # More failures in b never make fewer in a significant, so the search goes on where it stood.
        critical = _critical(critical, a_trials, b_failed, b_trials, alpha)
        if critical > a_trials:
            break
        total += probability * tails[critical]
    return min(1.0, total)


def _critical(start: int, a_trials: int, b_failed: int, b_trials: int, alpha: float) -> int:
    """Return the smallest number of failures in a, from `start`, that is significant; `a_trials` + 1 if none is."""
    low, high, step = start, start, 1
    # In doubling steps up to the first significant number: mostly it is the very next one.
    while high <= a_trials and _greater(high, a_trials, b_failed, b_trials) > alpha:
        low, high, step = high + 1, min(high + step, a_trials + 1), step * 2
    while low < high:
        middle = (low + high) // 2
        if _greater(middle, a_trials, b_failed, b_trials) > alpha:
            low = middle + 1
        else:
            high = middle
    return high


@lru_cache(maxsize=2**12)
def _power_randomised(p_a: float, p_b: float, n: int, alpha: float) -> float:
    """Return the power of the test that uses the level in full, by a draw at the boundary; see `confirm_size`."""
    tails = _upper_tails(n, p_a)
    a_range = dict(_binomial(n, p_a))
    b_range = dict(_binomial(n, p_b))
    total = 0.0
    critical = 0
    for b_failed, probability in b_range.items():
        critical = _critical(critical, n, b_failed, n, alpha)
        total += probability * tails[critical]
        # Just below the critical number the test rejects with the share of the level that is left over for this margin.
        # Several numbers may be next to it: one for each table that is insignificant while one failure more, moved from
        # b to a, is significant.
        for a_failed in range(critical - 1, -1, -1):
            beyond = _beyond(a_failed, b_failed, n)
            if beyond > alpha:
                break
            here = _greater(a_failed, n, b_failed, n)
            total += probability * a_range.get(a_failed, 0.0) * (alpha - beyond) / (here - beyond)
    return min(1.0, total)


def _beyond(a_failed: int, b_failed: int, n: int) -> float:
    """Return the probability that more than `a_failed` of the failures of two arms with n trials each fall to a."""
    return _greater(a_failed + 1, n, b_failed - 1, n) if a_failed < n and b_failed > 0 else 0.0


def _upper_tails(n: int, p: float) -> list[float]:
    """Return P(X >= k) for k from 0 to n + 1."""
    tails = [0.0] * (n + 2)
    terms = dict(_binomial(n, p))
    for k in range(n, -1, -1):
        tails[k] = tails[k + 1] + terms.get(k, 0.0)
    return tails


def _binomial(n: int, p: float) -> Iterator[tuple[int, float]]:
    """Yield (k, P(X = k)) in ascending order, without negligible terms.

    Terms are computed relative to the largest and divided by their sum, so no factorial has to fit into a float.
    """
    if p in {0.0, 1.0}:
        yield (n if p else 0), 1.0
        return
    odds = p / (1 - p)
    mode = min(n, math.floor((n + 1) * p))
    below: list[float] = []
    term = 1.0
    for k in range(mode, 0, -1):
        term *= k / ((n - k + 1) * odds)
        if term < NEGLIGIBLE:
            break
        below.append(term)
    above = [1.0]
    for k in range(mode + 1, n + 1):
        term = above[-1] * (n - k + 1) / k * odds
        if term < NEGLIGIBLE:
            break
        above.append(term)
    terms = [*reversed(below), *above]
    total = math.fsum(terms)
    yield from ((k, term / total) for k, term in enumerate(terms, mode - len(below)))


def _require_design(p_a: float, p_b: float, alpha: float) -> None:
    require_open("alpha", alpha)
    if not (0 <= p_a <= 1 and 0 <= p_b <= 1):
        raise ValueError(f"rates {p_a} and {p_b} are not both in [0, 1]")
