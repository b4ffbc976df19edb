"""`workers`: the whole scope, the target among it, on processes of pytest-xdist that run side by side.

What differs from the baseline is more than one thing: other tests run before the target in its process, and others beside it in
other processes, on a machine that has more to do. So a level that fails is looked into (`refine`): what its worker really ran up
to the target is run again in one process without xdist. If that fails too, the order of those tests is the trigger, and it is
made as small as it goes; if it does not, what is left is that tests ran side by side.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import ClassVar

from msgspec.structs import replace

from triage.factors.base import Factor, Search, arm_of
from triage.factors.order import Order
from triage.model.arm import Level
from triage.model.invocation import Invocation
from triage.model.observation import Observation, Request
from triage.model.trial import Stage
from triage.stats.intervals import trials_to_see
from triage.stats.minimise import repetitions

SPLITS = (
    (2, "load"), (4, "load"), (2, "loadfile"), (2, "worksteal"), (2, "loadscope"), (4, "loadfile"), (4, "worksteal"),
    (2, "loadgroup"), (1, "load"), (4, "loadscope"), (4, "loadgroup"), (2, "each"),
)  # fmt: skip
"""Numbers of workers and modes, in the order in which they are screened: what is met most often first."""
ALONE = ((2, "each"), (4, "each"))
"""Where no other test is in the scope, the target can only meet itself."""
OFF = ("-n", "0")
"""What `triage.targets.takeover` adds to the options of a user whose own command has workers."""
GROUPED = "xdist_group"
"""The mark without which `loadgroup` does what `load` does."""
MOST_TRIES, MOST_REPLAYS = 12, 6
"""Trials until one fails whose sequence can be replayed, and replays of it."""
MISSED = 0.02
"""Chance that a sequence that does it is taken for one that does not, or the reverse."""


class Workers(Factor):
    """`N MODE`: `-n N --dist MODE`. The baseline is one process without xdist."""

    name: ClassVar[str] = "workers"
    rank: ClassVar[int] = 35
    one_sided: ClassVar[bool] = True
    """A death after the last test of a worker is not seen (xdist hides it), so that what fails without workers alone says little; a
    test that needs others before it is found by `order`."""

    def reason(self) -> str | None:
        """Say so without xdist, or where xdist would refuse to run the tests."""
        if not self.context.has_plugin("pytest-xdist"):
            python = self.context.interpreter.path
            return f"pytest-xdist is not active in `{python}` (`{python} -m pip install pytest-xdist` adds it)"
        unsteady = self.context.project.unsteady
        if unsteady:
            return f"xdist refuses to run tests that workers collect differently: {unsteady[0].statement}"
        return None

    @property
    def home(self) -> Level:
        """No worker."""
        return self.level("none")

    def levels(self) -> tuple[Level, ...]:
        """The user's own split first, then the usual ones, without those that are the same as another here."""
        scope = self.context.project.scope
        alone = all(item.id == self.context.target.id for item in scope)
        one_file = len({item.file for item in scope}) < 2
        grouped = any(GROUPED in item.marks for item in scope)
        chosen = [
            self.level(f"{count} {mode}")
            for count, mode in (ALONE if alone else SPLITS)
            if not (one_file and mode == "loadfile") and (grouped or mode != "loadgroup")
        ]
        return tuple(dict.fromkeys((*self.starts, *chosen)))

    def refine(
        self, trigger: Level | None, counter: Level | None, signature: str, rate: float, background: float
    ) -> Search | None:
        """Tell the worker's own sequence from tests that run side by side; returns a level of `order` for the first."""
        if trigger is None or counter is not None:
            return None
        return self._sequence(trigger, signature, rate, background)

    def _sequence(self, trigger: Level, signature: str, rate: float, background: float) -> Search:
        tries = min(MOST_TRIES, trials_to_see(min(max(rate, 0.1), 0.99)))
        before = yield from self._before(trigger, signature, tries)
        if not before:
            return trigger
        own = self._order.explicit(before)
        passes, fails = repetitions(min(max(rate, 0.1), 0.99), min(max(background, 0.0), 0.9), MISSED, MOST_REPLAYS)
        failed = passed = 0
        while failed < fails and passed < passes:
            seen = yield Request(arm_of(own), Stage.FOCUS)
            if not seen.evidence:
                return trigger
            failed += seen.signature == signature
            passed += seen.signature != signature
        if failed < fails:
            return trigger
        smaller = self._order.refine(own, None, signature, failed / (failed + passed), background)
        return own if smaller is None else (yield from smaller)

    def _before(self, trigger: Level, signature: str, tries: int) -> Generator[Request, Observation, tuple[str, ...]]:
        """Return what ran before the target in its worker in a trial that failed so; nothing if none did."""
        for _ in range(tries):
            seen = yield Request(arm_of(trigger), Stage.FOCUS)
            if seen.evidence and seen.signature == signature:
                return seen.before
        return ()

    @property
    def _order(self) -> Order:
        """The factor that the sequence of a worker is a level of."""
        return Order(self.context)

    def owner(self, level: Level) -> Factor:
        """A sequence that was found to do it by itself is a level of `order`."""
        return self if level.factor == self.name else self._order

    def apply(self, level: Level, invocation: Invocation) -> Invocation:
        """Run the scope with the target among it, on workers."""
        count, _, mode = level.value.partition(" ")
        if count == "none":
            return invocation
        options = without_off(invocation.options)
        invocation = replace(invocation, options=(*options, "-n", count, "--dist", mode))
        project, target = self.context.project, self.context.target
        ids = tuple(item.id for item in project.scope)
        ids = ids if target.id in ids else (*ids, target.id)
        if project.scope_arguments is None:
            return self._order.named(ids, invocation)
        arguments = project.scope_arguments
        if ids[-1] == target.id and len(ids) > len(project.scope):
            files = dict.fromkeys(id_.split("::", 1)[0] for id_ in ids[:-1])
            arguments = (*(arguments or files), target.id)
        return replace(invocation, node_ids=arguments)


def without_off(options: tuple[str, ...]) -> tuple[str, ...]:
    """Return options without the `-n 0` that switches xdist off in all other trials."""
    at = next((at for at in range(len(options) - 1) if options[at : at + 2] == OFF), None)
    return options if at is None else (*options[:at], *options[at + 2 :])
