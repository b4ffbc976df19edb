"""A test that reaches beyond this machine is not run again unasked."""

from __future__ import annotations

import platform
from collections.abc import Iterable

from triage.errors import UnrunnableError
from triage.runner.wire import Facts
from triage.targets.side_effects import Reach, reach

ALLOW = "add --allow-side-effects if that may happen hundreds of times"


def beyond(seen: Iterable[Facts]) -> Reach | None:
    """Return what a process reached for beyond this machine, whichever of its tests, fixtures or imports did."""
    facts = list(seen)
    return reach(
        dict.fromkeys(address for one in facts for address in one.connects),
        dict.fromkeys(name for one in facts for name in one.lookups),
        (platform.node(),),
    )


def refuse(seen: Iterable[Facts], target: str) -> None:
    """Raise `UnrunnableError` if there is any such thing."""
    found = beyond(seen)
    if found:
        raise UnrunnableError(f"{found.statement}; `{target}` was run once and not again", ALLOW)
