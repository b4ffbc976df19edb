"""Random generators across a fork: which were only drawn from before it, and which the target had seeded.

A process started afresh begins with generators that nobody can predict. Forked children of one process would all go on with
its numbers (numpy's), or lose the seed that the target had set at import (`random` seeds itself anew in every child). So
what the target seeded is kept and what it did not is renewed. A generator that was only drawn from is told by
stepping its first state forward (MT19937, in blocks of 624 words) until the present one is met.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import hashlib
import random
from typing import Any, Callable

from .imports import follow

NUMPY = "numpy.random"
BLOCK = 624
"""Words of the Mersenne Twister's state; all are replaced at once."""
MOST_BLOCKS = 400
"""A generator that is further from its first state than this many blocks counts as seeded."""


class Generators:
    """Looks at the global generators at their import, and at the end of collection; puts right what a fork got wrong."""

    def __init__(self, report: Callable[[BaseException], None]) -> None:
        self._first = random.getstate()
        self._numpy: Any = None
        self._numpy_first: Any = None
        self._kept: Any = None
        self._numpy_seeded = False
        follow(NUMPY, self._see_numpy, report)

    def _see_numpy(self, module: Any) -> None:
        self._numpy = module
        self._numpy_first = module.get_state()

    def look(self) -> dict[str, str]:
        """Find out, before the first fork, what was seeded; returns a digest of each generator's state that was."""
        seeded = {}
        now = random.getstate()
        if not python_drew(self._first, now):
            self._kept = now
            seeded["random"] = digest(now)
        if self._numpy is not None:
            state = self._numpy.get_state()
            self._numpy_seeded = not numpy_drew(self._numpy, self._numpy_first, state)
            if self._numpy_seeded:
                seeded[NUMPY] = digest([part.tolist() if hasattr(part, "tolist") else part for part in state])
        return seeded

    def renew(self) -> None:
        """In a forked child: as a process of its own would have them."""
        if self._kept is not None:
            random.setstate(self._kept)
        if self._numpy is not None and not self._numpy_seeded:
            self._numpy.seed()


def python_drew(first: Any, now: Any) -> bool:
    """Whether the state `now` is reached from `first` by drawing alone."""
    clone = random.Random()
    clone.setstate(first)
    words = now[1][:BLOCK]
    for _ in range(MOST_BLOCKS):
        if clone.getstate()[1][:BLOCK] == words:
            return True
        for _ in range(BLOCK):
            clone.getrandbits(32)
    return False


def numpy_drew(module: Any, first: Any, now: Any) -> bool:
    """The same of numpy's legacy global generator."""
    if first[0] != "MT19937" or now[0] != "MT19937":
        return bool(first[0] == now[0])
    clone = module.RandomState()
    clone.set_state(first)
    for _ in range(MOST_BLOCKS):
        if (clone.get_state()[1] == now[1]).all():
            return True
        clone.bytes(4 * BLOCK)
    return False


def digest(state: object) -> str:
    """Return a short digest of a generator's state."""
    return hashlib.sha256(repr(state).encode()).hexdigest()[:16]
