"""Finds the causes by name: every module of `triage.classify.causes` is one.

A module has `CAUSE`, may have `judge(case) -> Proposal | None`, which decides or abstains, and may have
`suspect(case) -> Iterator[Suspicion]`, which only ranks.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from functools import cache
from types import ModuleType

import triage.classify.causes
from triage.classify.case import Case
from triage.classify.cause import Cause, Proposal, Suspicion


@cache
def modules() -> dict[str, ModuleType]:
    """Return the module of every cause by the cause's name, in alphabetical order."""
    names = sorted(module.name for module in pkgutil.iter_modules(triage.classify.causes.__path__))
    return {name: importlib.import_module(f"{triage.classify.causes.__name__}.{name}") for name in names}


def causes() -> dict[str, Cause]:
    """Return the documentation of every cause by its name."""
    return {name: module.CAUSE for name, module in modules().items()}


def judge(case: Case) -> Proposal | None:
    """Return what the rules say, or None if all of them abstain.

    Two rules that decide differently cancel each other: that is no ground to call anybody wrong.
    """
    proposals = [proposal for module in modules().values() if (proposal := _judge(module, case)) is not None]
    verdicts = {(proposal.verdict, proposal.cause) for proposal in proposals}
    return proposals[0] if len(verdicts) == 1 else None


def suspicions(case: Case) -> Iterator[tuple[str, Suspicion]]:
    """Yield every cause's suspicions with its name."""
    for name, module in modules().items():
        if hasattr(module, "suspect"):
            for suspicion in module.suspect(case):
                yield name, suspicion


def _judge(module: ModuleType, case: Case) -> Proposal | None:
    if not hasattr(module, "judge"):
        return None
    proposal: Proposal | None = module.judge(case)
    return proposal
