"""What listeners and reports are told of an experiment, in their form."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from triage.experiment.ledger import counted
from triage.model.arm import Arm, Depth, Level
from triage.model.claim import ArmCount
from triage.model.verdict import Finding, Report, Strength, Verdict

FEWEST_SHOWN = 10
"""Forked trials from which on an arm has a line of its own among the rates."""


def merged(counts: Iterable[ArmCount]) -> tuple[ArmCount, ...]:
    """Put the forked arms of a factor that had hardly a trial each, such as fresh seeds, together into one."""
    kept: list[ArmCount] = []
    few: dict[str, list[ArmCount]] = {}
    for count in counts:
        if count.arm.depth is Depth.COLD or not count.arm.levels or count.trials >= FEWEST_SHOWN:
            kept.append(count)
        elif count.trials:
            few.setdefault(count.arm.levels[0].factor, []).append(count)
    for factor, group in few.items():
        kept.append(group[0] if len(group) == 1 else together(factor, group))
    return tuple(kept)


def together(factor: str, group: list[ArmCount]) -> ArmCount:
    """Add the counts of several levels up, by the processes that their trials were forked from."""
    clusters: defaultdict[int | None, list[int]] = defaultdict(lambda: [0, 0])
    for count in group:
        for process, (failed, trials) in zip(count.processes, count.clusters, strict=True):
            clusters[process][0] += failed
            clusters[process][1] += trials
    arm = Arm((Level(factor=factor, value=f"({len(group)} levels)"),), Depth.FORKED)
    return counted(arm, clusters)


def headed(findings: tuple[Finding, ...], **rest: Any) -> Report:
    """Return a report whose top level repeats its first, gravest finding; `rest` are the fields that only a report has."""
    return Report(**{name: getattr(findings[0], name) for name in Finding.__struct_fields__}, findings=findings, **rest)


def unfit_finding(why: str, what_to_do: str, excluded: Iterable[tuple[str, str]] = ()) -> Finding:
    """Return the finding of a target that was not experimented on."""
    return Finding(
        verdict=Verdict.UNDETERMINED,
        strength=Strength.SUGGESTED,
        summary=f"Nothing was found out: {why}.",
        not_established=("whether it is flaky at all", *(f"{name}: {reason}" for name, reason in excluded)),
        next=what_to_do,
    )
