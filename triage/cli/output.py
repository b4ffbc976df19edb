"""Standard output: data only, and one clear line where it cannot be written."""

from __future__ import annotations

import os
import sys

from triage.errors import UsageError


def write(text: str) -> None:
    """Write to standard output at once. Raises `UsageError` if that fails, and lets a reader that has gone away pass."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        sys.stdout = open(os.devnull, "w")  # noqa: PTH123, SIM115 - or the interpreter complains once more at exit
        if not isinstance(error, BrokenPipeError):
            raise UsageError(
                f"standard output cannot be written: {error.strerror}", "`triage show latest` has the last verdict"
            ) from error
