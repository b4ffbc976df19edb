"""A target that fails in several ways: what each finding counts is a part, and one cause may well make all of them."""

from __future__ import annotations

from triage.classify.wording import at_level, of
from triage.model.arm import BASELINE, Arm, Depth
from triage.model.claim import ArmCount, Study
from triage.model.verdict import Evidence

MOST_NAMED = 4
"""Arms that one sentence names."""


def several_ways(study: Study) -> list[Evidence]:
    """Say how often arms failed in any way, where the failures of one arm are spread over several signatures."""
    spread = [count for count in study.total if count.arm.depth is Depth.COLD and _is_spread(count, study)]
    if not spread:
        return []
    spread.sort(key=lambda count: (-count.failed / count.trials, -count.trials))
    own = [count for count in study.total if count.arm == BASELINE and count not in spread and count.trials]
    told = "; ".join(f"{_named(count.arm)} {of(count)}" for count in (*spread[:MOST_NAMED], *own))
    statement = f"several ways to fail are counted apart here; in any way failed: {told}"
    return [Evidence(kind="ways", statement=statement)]


def _is_spread(count: ArmCount, study: Study) -> bool:
    kinds = [one for known in study.studies for one in known.arms if one.arm == count.arm and one.failed]
    return count.failed > 0 and len(kinds) > 1


def _named(arm: Arm) -> str:
    return "run alone" if arm == BASELINE else " and ".join(at_level(x.factor, x.value) for x in arm.levels)
