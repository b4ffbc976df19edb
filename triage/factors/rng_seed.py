"""`rng_seed`: the seeds of `random`, of numpy's global generator and of hypothesis, all at once."""

from __future__ import annotations

from random import Random
from typing import ClassVar

from msgspec.structs import replace

from triage.factors.base import Factor, Forks, draw_seed
from triage.model.arm import Level
from triage.model.invocation import Invocation
from triage.targets.ci import leaving

KEEP_ORDER = "--randomly-dont-reorganize"


class RngSeed(Factor):
    """Seeded at start, after collection and before each test, by the levels plugin; hypothesis by its own option."""

    name: ClassVar[str] = "rng_seed"
    rank: ClassVar[int] = 30
    forks: ClassVar[Forks] = Forks.CHILD

    def levels(self) -> tuple[Level, ...]:
        """The seed of a random-ordering plugin, if the user's command names one."""
        return self.starts

    def fresh(self, rng: Random) -> Level:
        """Draw another seed."""
        return self.level(draw_seed(rng))

    def apply(self, level: Level, invocation: Invocation) -> Invocation:
        """Seed every generator that can be seeded from outside."""
        if level in self.starts:  # the plugin itself seeds, which depends on the test and on its version; not the order
            return replace(
                invocation,
                options=(*invocation.options, KEEP_ORDER),
                levels=leaving(invocation.levels, self._plugin()),
            )
        options = invocation.options
        if self.context.has_plugin("hypothesis"):
            options = (*options, f"--hypothesis-seed={level.value}")
        return replace(invocation, options=options, levels=(*invocation.levels, f"rng_seed={level.value}"))

    def _plugin(self) -> str:
        """Return the name under which pytest-randomly is registered."""
        plugins = self.context.project.collection.plugins
        return next(plugin.name for plugin in plugins if plugin.distribution.lower() == "pytest-randomly")
