"""`faulthandler` in the trial's own file, from the probe's import to the end of the interpreter.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import faulthandler
import os

from .wire import Appender


class CrashFile:
    """Where the interpreter writes all threads' stacks when a fatal signal arrives.

    pytest's own plugin points `faulthandler` at stderr, and turns it off before the interpreter ends; targets do the
    same. `arm` takes it back.
    """

    def __init__(self, path: str) -> None:
        self._file = Appender(path)
        self._enable = faulthandler.enable
        self.stderr = _duplicate_stderr()
        self.next_is_trial = False
        """Whether the next child to be forked is a trial of its own, whose crashes belong in the file."""
        self.arm()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._disarm)

    def arm(self) -> None:
        """Point `faulthandler` at our file, whoever had it."""
        self._enable(file=self._file.fileno(), all_threads=True)

    def descriptors(self) -> tuple[int, int]:
        """Return the descriptors that are ours."""
        return self._file.fileno(), self.stderr

    def _disarm(self) -> None:
        # A crash of a forked child is not the crash of the trial's process, unless that child is the trial.
        if self.next_is_trial:
            self.next_is_trial = False
            return
        try:
            self._enable(file=self.stderr, all_threads=True)
        except (OSError, ValueError, RuntimeError):
            return


def _duplicate_stderr() -> int:
    # pytest's capture redirects descriptor 2 later on.
    try:
        return os.dup(2)
    except OSError:
        return 2
