"""Every way in which a trial can end."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """How one trial ended; each way to end is a value of its own."""

    PASSED = "passed"
    FAILED = "failed"
    ERROR = "error"
    """Setup or teardown raised."""
    CRASHED = "crashed"
    """The process died by a signal, or ended itself in the middle of the test or after it."""
    HUNG = "hung"
    """The time limit was reached."""
    KILLED = "killed"
    """Ended from outside, by a signal that programs do not raise by accident, or out of memory with the kernel's word."""
    SKIPPED = "skipped"
    XFAILED = "xfailed"
    XPASSED = "xpassed"
    NOT_COLLECTED = "not_collected"
    """The target never started: not collected, deselected, or an earlier test ended the process."""
    BROKEN = "broken"
    """The instrument itself failed; says nothing about the target."""


FAILURES = frozenset({Outcome.FAILED, Outcome.ERROR, Outcome.CRASHED, Outcome.HUNG})
NO_EVIDENCE = frozenset({Outcome.BROKEN, Outcome.SKIPPED, Outcome.NOT_COLLECTED, Outcome.KILLED})
"""Left out of every rate: these trials say neither that the target passes nor that it fails."""

GRAVITY: dict[Outcome, int] = {Outcome.CRASHED: 3, Outcome.HUNG: 2, Outcome.FAILED: 1, Outcome.ERROR: 1}
"""Which of two failures is the graver one; larger is graver, absent is no failure."""
