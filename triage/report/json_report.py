"""The contract for programs: one line of JSON for each target, keys in the order of the manual."""

from __future__ import annotations

from typing import Any

import msgspec

from triage.model.encoding import encode
from triage.model.verdict import Report

FINDING_KEYS = (
    "verdict",
    "cause",
    "strength",
    "summary",
    "culprits",
    "polluters",
    "polluter_sets",
    "setters",
    "cleaners",
    "state",
    "trigger",
    "rates",
    "reproduction",
    "counterfactual",
    "evidence",
    "hypotheses",
    "not_established",
    "next",
)
"""What a finding and the headline have in common."""
REPORT_KEYS = (
    "schema",
    "experiment",
    "target",
    *FINDING_KEYS,
    "findings",
    "environment",
    "layers",
    "receipt",
    "trials",
    "wall_seconds",
)
"""The keys of `triage.verdict/1`; later ones come after them, in the order in which the value has them."""


def render(report: Report) -> str:
    """Return one line of JSON, without its line end."""
    builtins = msgspec.to_builtins(report)
    builtins["findings"] = [ordered(finding, FINDING_KEYS) for finding in builtins["findings"]]
    return encode(ordered(builtins, REPORT_KEYS)).decode()


def ordered(value: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """Return `value` with `keys` first."""
    return {**{key: value[key] for key in keys}, **value}
