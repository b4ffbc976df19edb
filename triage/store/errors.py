"""Why the history cannot be used, as one line and what to do about it."""

from __future__ import annotations

from pathlib import Path

from triage.errors import TriageError

MOVE = "move it away; triage makes a new one"
REASONS = (
    ("is full", "no space left to write `{path}`", "free disk space and run the same command again"),
    ("not a database", "`{path}` is damaged or not a history", MOVE),
    ("malformed", "`{path}` is damaged or not a history", MOVE),
    ("locked", "`{path}` has been locked by another process for too long", "wait for that process, or end it"),
    ("unable to open", "cannot open `{path}`: {text}", "make the file and its folder writable"),
    ("readonly", "cannot write `{path}`: {text}", "make the file and its folder writable"),
    ("I/O error", "cannot write `{path}`: {text}", "check the disk that it is on"),
)
"""Part of SQLite's message, what we say, and the hint; SQLite's wording has been stable for many years."""


class HistoryError(TriageError):
    """The history cannot be read or written."""


def explain(error: BaseException, path: Path, *, newer: bool) -> HistoryError:
    """Return what to tell the user about an error of SQLite, of the operating system or of decoding a stored value.

    `newer` says that the file was written by a newer version of `triage`.
    """
    text = str(error)
    if isinstance(error, OSError):
        why = (error.strerror or text).lower()
        return HistoryError(f"cannot write `{path}`: {why}", "make its folder writable")
    for part, message, hint in REASONS:
        if part in text:
            return HistoryError(message.format(path=path, text=text), hint)
    if newer:
        return HistoryError(f"cannot read `{path}`, which a newer version of triage wrote: {text}", "update triage")
    return HistoryError(f"cannot use `{path}`: {text}", MOVE)


def newer_version(path: Path) -> HistoryError:
    """Return the refusal to write what a newer version of `triage` has written."""
    return HistoryError(
        f"`{path}` was written by a newer version of triage and is not changed",
        "update triage, or move the file away to start a new history",
    )


def foreign_database(path: Path) -> HistoryError:
    """Return the refusal to add tables to a database that is not ours."""
    return HistoryError(f"`{path}` is a database of another program", MOVE)
