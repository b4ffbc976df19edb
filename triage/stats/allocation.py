"""How the permitted probability of a false claim is shared out.

Only what is *claimed* is tested, and only on trials that were run for that claim. Screening may try a hundred arms and pick
the worst: the pick says which claim is made, but the trials that decide the claim are fresh, so under "this level changes
nothing" their p-value has its promised distribution whatever was picked and why. Selection on other trials therefore
needs no correction; reusing the trials that selected would need all of it. What does need one is that several claims
are taken to confirmation (`split_alpha`), and that a claim that missed is tried again on more fresh trials
(`spend_alpha`); by Bonferroni's inequality the chance of any false claim is then at most `alpha`, whatever the dependence.
"""

from __future__ import annotations

from triage.stats.intervals import require_open


def split_alpha(alpha: float, claims: int) -> float:
    """Return the level of each claim, if `claims` of them are taken to confirmation: an equal share of `alpha`.

    The number is that of the claims that *may* be made, fixed before the first of their trials, not of those that turn
    out significant. Raises `ValueError` for a level outside (0, 1) or fewer than one claim.
    """
    require_open("alpha", alpha)
    if claims < 1:
        raise ValueError(f"{claims} claims cannot share a level")
    return alpha / claims


def spend_alpha(alpha: float, attempt: int) -> float:
    """Return the level of the attempt with this number (from 1) at one claim: `alpha`/2, `alpha`/4, `alpha`/8, ...

    For a claim that may be tried again on fresh trials when it misses: however often that is, the levels add up to less
    than `alpha`. Each attempt uses its own trials alone (pooling them with the missed ones would select on the outcome).
    Where only one attempt will ever be made, use `alpha` itself. Raises `ValueError` for an attempt below 1.
    """
    require_open("alpha", alpha)
    if attempt < 1:
        raise ValueError(f"attempt {attempt} is not counted from 1")
    return alpha * 0.5**attempt
