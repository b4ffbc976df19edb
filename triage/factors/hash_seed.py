"""`hash_seed`: the seed of the hashes of strings and bytes, which decides the order of their sets."""

from __future__ import annotations

from random import Random
from typing import ClassVar

from msgspec.structs import replace

from triage.factors.base import Factor, draw_seed
from triage.model.arm import Level
from triage.model.invocation import Invocation


class HashSeed(Factor):
    """`PYTHONHASHSEED`; the baseline leaves it as the user has it, usually random."""

    name: ClassVar[str] = "hash_seed"
    rank: ClassVar[int] = 20

    def fresh(self, rng: Random) -> Level:
        """Draw another seed."""
        return self.level(draw_seed(rng))

    def apply(self, level: Level, invocation: Invocation) -> Invocation:
        """Pin the seed."""
        return replace(invocation, env=(*invocation.env, ("PYTHONHASHSEED", level.value)))
