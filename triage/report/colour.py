"""Colour as an addition: whatever it says is also said in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO

from triage.model.verdict import Verdict

RESET = "\x1b[0m"
BOLD = "\x1b[1m"
DIM = "\x1b[2m"
VERDICTS = {
    Verdict.REAL_BUG: "\x1b[1;31m",
    Verdict.WRONG_TEST: "\x1b[1;33m",
    Verdict.ENVIRONMENT: "\x1b[1;35m",
    Verdict.STABLE_PASS: "\x1b[1;32m",
    Verdict.STABLE_FAIL: "\x1b[1;31m",
    Verdict.UNDETERMINED: "\x1b[1;36m",
}


def paint(text: str, style: str, *, colour: bool) -> str:
    """Return `text` in a style of this module if colour is wanted."""
    return f"{style}{text}{RESET}" if colour and text.strip() else text


def is_wanted(stream: TextIO, environ: Mapping[str, str]) -> bool:
    """Return whether colour belongs on `stream`: a terminal that is not dumb, unless NO_COLOR is set and not empty."""
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR"):
        return True
    return environ.get("TERM") != "dumb" and stream.isatty()
