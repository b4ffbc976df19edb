"""Finds the factors by name: every module of this package that defines a `Factor`."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

import triage.factors
from triage.factors.base import Factor


@cache
def factors() -> dict[str, type[Factor]]:
    """Return every factor by its name, in their order of rank."""
    found: list[type[Factor]] = []
    for module in pkgutil.iter_modules(triage.factors.__path__):
        if module.name in {"base", "registry"}:
            continue
        values = vars(importlib.import_module(f"{triage.factors.__name__}.{module.name}")).values()
        found += [v for v in values if isinstance(v, type) and issubclass(v, Factor) and v is not Factor]
    return {factor.name: factor for factor in sorted(found, key=lambda factor: (factor.rank, factor.name))}
