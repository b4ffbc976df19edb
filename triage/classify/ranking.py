"""Which two explanations to put before the user where nothing was decided.

The weights and their scale are in `triage.classify.cause`. The product comes first where they are equal, and one of the two
is always the best explanation that blames the product, however low its weight: until a mechanism has excluded it, nobody
may read the list as "the test is wrong".
"""

from __future__ import annotations

from triage.classify.case import Case
from triage.classify.cause import Suspicion
from triage.classify.registry import suspicions
from triage.model.verdict import Hypothesis, Verdict


def hypotheses(case: Case) -> tuple[Hypothesis, ...]:
    """Return the best explanation that blames the product and the best one that does not, the better one first."""
    found = list(suspicions(case))
    best = [
        max(side, key=lambda pair: pair[1].weight)
        for side in (
            [pair for pair in found if pair[1].verdict is Verdict.REAL_BUG],
            [pair for pair in found if pair[1].verdict is not Verdict.REAL_BUG],
        )
        if side
    ]
    best.sort(key=lambda pair: -pair[1].weight)
    return tuple(_hypothesis(cause, suspicion) for cause, suspicion in best)


def _hypothesis(cause: str, suspicion: Suspicion) -> Hypothesis:
    return Hypothesis(verdict=suspicion.verdict, cause=cause, missing=suspicion.missing)
