"""The documentation of a cause as text for a terminal."""

from __future__ import annotations

import difflib
import textwrap

from triage.classify.cause import Cause
from triage.classify.registry import causes
from triage.errors import UsageError

WIDTH = 88


def explain(name: str) -> str:
    """Return what `triage explain NAME` prints, without a newline at the end.

    Raises `UsageError` for an unknown cause, with the closest names in the hint.
    """
    known = causes()
    cause = known.get(name.strip().lower().replace("-", "_").replace(" ", "_"))
    if cause is None:
        close = difflib.get_close_matches(name.lower(), known, n=3, cutoff=0.5)
        offered = ", ".join(f"`{other}`" for other in close or known)
        hint = f"did you mean {offered}?" if close else f"known causes: {offered}"
        raise UsageError(f"unknown cause `{name}`", hint)
    return render(cause)


def render(cause: Cause) -> str:
    """Return the page of one cause."""
    verdicts = " or ".join(verdict.value for verdict in cause.verdicts)
    parts = [
        f"{cause.name} ({verdicts})",
        _wrap(cause.meaning),
        _listed("Evidence needed", cause.evidence),
        _listed("What would refute it", cause.refuted_by),
        _listed("Usual fixes", cause.fixes),
        f"Example\n{textwrap.indent(textwrap.dedent(cause.example).strip(), '    ')}",
    ]
    return "\n\n".join(parts)


def _wrap(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), WIDTH)


def _listed(title: str, items: tuple[str, ...]) -> str:
    wrapped = [
        textwrap.fill(" ".join(item.split()), WIDTH, initial_indent="  - ", subsequent_indent="    ") for item in items
    ]
    return "\n".join([title, *wrapped])
