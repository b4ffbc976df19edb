"""What a test did while it ran; and one that reaches beyond this machine is not run again unasked."""

from __future__ import annotations

import platform
from collections.abc import Iterable

from triage.classify.case import Facts
from triage.model.project import Item, Project
from triage.runner.wire import Reached, Wire
from triage.targets.side_effects import Reach, reach

ALLOW = "add --allow-side-effects if that may happen hundreds of times"
LEAVE_OUT = "or leave that test out of the scope (--scope PATH, --skip order --skip workers)"


def facts_of(wire: Wire, target: Item, project: Project) -> Facts:
    """Return what the target did in one process; what imports and forks reached for counts as well."""
    mine = [facts for facts in wire.facts if facts.id == target.id]
    reached = [one for one in wire.reached if one.id in {target.id, ""}]
    return Facts(
        threads=max((facts.threads for facts in mine), default=0),
        processes=max((facts.processes for facts in mine), default=0),
        forks=max((facts.forks for facts in mine), default=0),
        sleeps=max((facts.sleeps for facts in mine), default=0),
        connects=tuple(dict.fromkeys(value for one in reached for value in one.connects)),
        binds=tuple(dict.fromkeys(value for facts in mine for value in facts.binds)),
        lookups=tuple(dict.fromkeys(value for one in reached for value in one.lookups)),
        marks=target.marks,
        asynchronous=bool({"asyncio", "anyio", "trio"} & set(target.marks)),
        collected=tuple(dict.fromkeys(item.file for item in (*project.scope, target))),
        reruns=next((t.what for t in project.takeovers if "rerun" in t.why), None),
    )


def refusal(wire: Wire, target: str) -> tuple[str, str] | None:
    """Say why a test is not run again after what a process reached for, and what to do; None if it may be."""
    found = _beyond(wire.reached)
    if found is None:
        return None
    others = list(dict.fromkeys(one.id for one in wire.reached if one.id not in {target, ""} and _beyond([one])))
    if others and not _beyond([one for one in wire.reached if one.id in {target, ""}]):
        return (
            f"`{others[0]}`, which ran before or beside it, {found.statement}; it is not run again",
            f"{ALLOW}, {LEAVE_OUT}",
        )
    return f"the test {found.statement}; it is not run again", ALLOW


def _beyond(reached: Iterable[Reached]) -> Reach | None:
    every = list(reached)
    return reach(
        dict.fromkeys(address for one in every for address in one.connects),
        dict.fromkeys(name for one in every for name in one.lookups),
        (platform.node(),),
        dict.fromkeys(command for one in every for command in one.commands),
    )
