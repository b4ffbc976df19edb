"""The documentation of causes, verdicts and strengths as text for a terminal."""

from __future__ import annotations

import difflib
import textwrap

from triage.classify.cause import Cause
from triage.classify.registry import causes
from triage.classify.terms import TERMS, Term
from triage.errors import UsageError

WIDTH = 88
INDENT = 24


def explain(name: str) -> str:
    """Return what `triage explain NAME` prints, without a newline at the end.

    Raises `UsageError` for an unknown word, with the closest ones in the hint.
    """
    known = causes()
    word = name.strip().lower().replace("-", "_").replace(" ", "_")
    if word in known:
        return render(known[word])
    if word in TERMS:
        return render_term(word, TERMS[word])
    close = difflib.get_close_matches(word, [*known, *TERMS], n=3, cutoff=0.5)
    offered = ", ".join(f"`{other}`" for other in close or [*known, *TERMS])
    hint = f"did you mean {offered}?" if close else f"there are {offered}"
    raise UsageError(f"`{name}` is no cause, verdict or strength", hint)


def listing(width: int = WIDTH) -> str:
    """Return every word that can be explained, with the first sentence of its meaning."""
    lines: list[str] = []
    groups = (
        ("Verdicts: who is wrong", {name: term.meaning for name, term in TERMS.items() if term.kind == "verdict"}),
        ("Strengths: how sure", {name: term.meaning for name, term in TERMS.items() if term.kind == "strength"}),
        ("Causes: why", {name: cause.meaning for name, cause in causes().items()}),
    )
    for title, words in groups:
        lines += ["", title] if lines else [title]
        for name, meaning in words.items():
            first = " ".join(meaning.split()).split(". ")[0].rstrip(".")
            head = f"  {name:{INDENT - 4}}  "
            lines.append(textwrap.fill(first, width, initial_indent=head, subsequent_indent=" " * INDENT))
    return "\n".join(lines)


def render_term(name: str, term: Term) -> str:
    """Return the page of a verdict or a strength."""
    own = [cause.name for cause in causes().values() if name in cause.verdicts]
    usual = textwrap.fill(", ".join(own), WIDTH, initial_indent="  ", subsequent_indent="  ")
    parts = [
        f"{name} ({term.kind})",
        _wrap(term.meaning),
        _listed("What it takes", term.decided_by),
        _listed("What it does not say", term.not_said),
        f"Its causes (`triage explain CAUSE`)\n{usual}" if own else "",
    ]
    return "\n\n".join(part for part in parts if part)


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
