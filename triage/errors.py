"""Exit statuses, and the errors that a user can cause; imported by everything, imports nothing of `triage`."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What `triage` tells the shell."""

    OK = 0
    """The job was done, whatever the verdict."""
    CONDITION = 1
    """A `--fail-on` condition held."""
    USAGE = 2
    """Wrong usage or configuration."""
    UNRUNNABLE = 3
    """The target could not be run, or the controls missed."""
    NOTHING_SELECTED = 4
    """No test matches the node id."""
    INTERNAL = 70
    """A fault of `triage` itself."""
    INTERRUPTED = 130
    """Stopped by the user or by SIGTERM."""


PRECEDENCE = (
    ExitCode.INTERNAL,
    ExitCode.INTERRUPTED,
    ExitCode.UNRUNNABLE,
    ExitCode.NOTHING_SELECTED,
    ExitCode.CONDITION,
    ExitCode.OK,
)
"""With several targets, the first of these that any of them ended with is the status of the whole."""


class TriageError(Exception):
    """Something that the user or the environment caused, reported in one line and never with a traceback.

    `message` is a lowercase fragment with values in backticks and no full stop; `hint` says what to do.
    """

    exit_code = ExitCode.USAGE

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(TriageError):
    """A wrong option, value or configuration."""


class UnrunnableError(TriageError):
    """The target cannot be run here: no interpreter, no pytest, a collection error, controls that missed."""

    exit_code = ExitCode.UNRUNNABLE


class NothingSelectedError(TriageError):
    """No test matches what was asked for."""

    exit_code = ExitCode.NOTHING_SELECTED
