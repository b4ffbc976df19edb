"""`triage tui`: starts the terminal application, if what it needs is installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from triage.errors import ExitCode, UsageError


def tui() -> ExitCode:
    """Look through the history of this project. Raises `UsageError` without Textual and without a terminal."""
    if find_spec("textual") is None:
        raise UsageError(
            "`triage tui` needs Textual, which is not installed",
            "`pip install 'flaky-triage[tui]'`; `triage history` and `triage show` do without",
        )
    from triage.tui.app import run  # noqa: PLC0415 - Textual is optional and takes most of a second

    return run(Path.cwd())
