"""How long a trial may take before it counts as hung.

The rule: `FIRST` seconds as long as no trial has passed; then `FACTOR` times the longest passing one, plus `SLACK`,
and never less than `FLOOR`. A hang costs the whole limit, a limit too short makes a slow machine look like a hang: the
second lies about the target, so every constant errs on its side.
"""

from __future__ import annotations

from collections.abc import Sequence

FIRST = 60.0
"""Seconds; more than pytest and its imports need on a cold, loaded machine."""
FACTOR = 5.0
"""One trial's wall time varies by less than this when its neighbours come and go."""
SLACK = 5.0
"""Seconds for a stall that does not grow with the test: a cold disk, a swapped-out interpreter."""
FLOOR, FORKED_FLOOR = 12.0, 6.0
"""Seconds; a forked trial imports nothing."""


def time_limit(
    passing: Sequence[float],
    *,
    slowdown: float = 1.0,
    test_seconds: float = 0.0,
    repeat: int = 1,
    floor: float = FLOOR,
) -> float:
    """Return the time limit of a trial in seconds.

    `passing` are the wall times of passing trials of the same target and scope, each with one execution. `slowdown` is
    how much slower the arm is by its own doing (CPU load, tracing); `repeat` executions that take `test_seconds`
    each add to it; `floor` is the least. Raises ValueError if a value makes no sense.
    """
    if slowdown < 1 or repeat < 1 or test_seconds < 0 or any(seconds < 0 for seconds in passing):
        raise ValueError(f"no limit follows from {passing=} {slowdown=} {test_seconds=} {repeat=}")
    once = max(floor, FACTOR * max(passing) + min(SLACK, floor / 2)) if passing else FIRST
    return slowdown * (once + FACTOR * test_seconds * (repeat - 1))
