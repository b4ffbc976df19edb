"""The contract `triage.sweep/1`: one line of JSON after the verdicts."""

from __future__ import annotations

import msgspec

from triage.model.encoding import encode
from triage.model.sweep import Conclusion, Document
from triage.report.sweep_words import by_gravity, counts


def document(conclusion: Conclusion) -> Document:
    """Return what is printed."""
    sweep, start = conclusion.sweep, conclusion.sweep.start
    return Document(
        sweep=start.sweep,
        started=start.started,
        ended=sweep.ended,
        complete=sweep.complete,
        root=start.root,
        selection=start.selection,
        counts=counts(sweep),
        tests=tuple(by_gravity(sweep.everything)),
        comparison=conclusion.comparison,
        since=conclusion.since,
        errors=start.errors,
        environment=start.environment,
        command=start.command,
        folder=start.folder,
        budget_seconds=start.budget_seconds,
        selected_in_all=start.selected_in_all,
    )


def render(conclusion: Conclusion) -> str:
    """Return one line of JSON, without its line end."""
    builtins = msgspec.to_builtins(document(conclusion))
    return encode(builtins).decode()
