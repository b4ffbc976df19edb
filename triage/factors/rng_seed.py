"""`rng_seed`: the seeds of `random`, of numpy's global generator and of hypothesis, all at once."""

from __future__ import annotations

from random import Random
from typing import ClassVar

from msgspec.structs import replace

from triage.factors.base import Factor, Forks, draw_seed
from triage.model.arm import Level
from triage.model.invocation import Invocation


class RngSeed(Factor):
    """Seeded at start, after collection and before each test, by the levels plugin; hypothesis by its own option."""

    name: ClassVar[str] = "rng_seed"
    rank: ClassVar[int] = 30
    forks: ClassVar[Forks] = Forks.CHILD

    def fresh(self, rng: Random) -> Level:
        """Draw another seed."""
        return self.level(draw_seed(rng))

    def apply(self, level: Level, invocation: Invocation) -> Invocation:
        """Seed every generator that can be seeded from outside."""
        options = invocation.options
        if self.context.has_plugin("hypothesis"):
            options = (*options, f"--hypothesis-seed={level.value}")
        return replace(invocation, options=options, levels=(*invocation.levels, f"rng_seed={level.value}"))
