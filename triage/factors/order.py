"""`order`: which tests run before the target, and in which order. Tests after it cannot matter and are not run."""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from random import Random
from typing import ClassVar

from msgspec.structs import replace

from triage.factors.base import Factor, Forks, Search, arm_of, draw_seed, write_order
from triage.model.arm import Level
from triage.model.invocation import Invocation
from triage.model.observation import Observation, Request
from triage.model.trial import Stage
from triage.stats.minimise import ddmin, repetitions

ORDERS = "orders"
"""Folder for long orders, below the one that `triage` owns."""
LONGEST_COMMAND = 6_000
"""Characters of node ids that a command line may hold before they go to a file."""
MISSED = 0.02
"""Chance that a set of tests is taken for what it is not, for each set tried."""
MOST_QUERIES = 120


def naming(ids: tuple[str, ...], invocation: Invocation, orders: str) -> Invocation:
    """Return the invocation that runs exactly these tests, in this order.

    They are named on the command line or, if they are too many, in a file in the folder `orders` below the root folder.
    """
    if sum(map(len, ids)) <= LONGEST_COMMAND:
        return replace(invocation, node_ids=ids)
    digest = hashlib.sha256("\0".join(ids).encode()).hexdigest()[:16]
    path = write_order(invocation.root, orders, f"{digest}.json", ids)
    files = tuple(dict.fromkeys(id_.split("::", 1)[0] for id_ in ids))
    return replace(invocation, node_ids=files, levels=(*invocation.levels, f"order={path}"))


class Order(Factor):
    """`isolated` (the baseline), `file`, `scope`, `reversed`, `shuffled:SEED`, and the minimal sets found among them."""

    name: ClassVar[str] = "order"
    rank: ClassVar[int] = 10
    forks: ClassVar[Forks] = Forks.CHILD

    def reason(self) -> str | None:
        """Alone in its scope, a test has no order."""
        return None if self._others() else "no other test in the scope (`--scope PATH` widens it)"

    @property
    def home(self) -> Level:
        """Alone."""
        return self.level("isolated")

    def levels(self) -> tuple[Level, ...]:
        """What the user's command names; then the orders that users meet: pytest's own and its reverse, file and whole scope."""
        given = (self.level(start.value, self._until_target(start.ids)) for start in self.starts)
        before, after = self._split()
        own_file = tuple(id_ for id_ in before if self._file(id_) == self.context.target.file)
        found = (
            *given,
            self.level("scope", before),
            self.level("reversed", tuple(reversed(after))),
            self.level("file", own_file if own_file != before else ()),
        )
        return tuple(level for level in found if level.ids)

    def fresh(self, rng: Random) -> Level | None:
        """Shuffle the whole scope with a seed that the level's name records, cut off at the target."""
        others = self._others()
        if len(others) < 2:
            return None
        seed = draw_seed(rng)
        everything = [*others, self.context.target.id]
        Random(seed).shuffle(everything)
        before = tuple(everything[: everything.index(self.context.target.id)])
        return self.level(f"shuffled:{seed}", before) if before else None

    def refine(
        self, trigger: Level | None, counter: Level | None, signature: str, rate: float, background: float
    ) -> Search | None:
        """Minimise the tests before the target: those that make it fail, or, if it fails alone, those that it needs."""
        if counter is None and trigger is not None and trigger.ids:
            return self._minimal(trigger.ids, signature, rate, background, failing=True)
        if trigger is None and counter is not None and counter.ids:
            return self._minimal(counter.ids, signature, 1 - background, 1 - rate, failing=False)
        return None

    def _minimal(
        self, ids: tuple[str, ...], signature: str, rate: float, background: float, *, failing: bool
    ) -> Search:
        """Run ddmin: what it calls a failure happens with `rate` after all of `ids`, and with `background` without any.

        Where it also happens by itself, one time proves nothing, and more are asked for on both sides.
        """
        passes, fails = repetitions(min(max(rate, 0.1), 0.99), min(max(background, 0.0), 0.9), MISSED)
        search = ddmin(ids, confirm_pass=passes, confirm_fail=fails, budget=MOST_QUERIES)
        try:
            candidate = next(search)
            while True:
                failed = yield from self._failed(candidate, signature)
                candidate = search.send(failed is failing)
        except StopIteration as stop:
            return self.explicit(stop.value.items)

    def _failed(self, ids: tuple[str, ...], signature: str) -> Generator[Request, Observation, bool]:
        for _ in range(3):
            seen = yield Request(arm_of(self.explicit(ids) if ids else None), Stage.FOCUS)
            if seen.evidence:
                return seen.signature == signature
        return False

    def explicit(self, ids: tuple[str, ...]) -> Level:
        """Return the level at which exactly `ids` run before the target."""
        if len(ids) == 1:
            return self.level(f"after {ids[0]}", ids)
        digest = hashlib.sha256("\0".join(ids).encode()).hexdigest()[:8]
        return self.level(f"after {len(ids)} tests ({digest})", ids)

    def apply(self, level: Level, invocation: Invocation) -> Invocation:
        """Name the tests on the command line, in order; in a file if they are too many."""
        return self.named((*level.ids, *invocation.node_ids), invocation) if level.ids else invocation

    def named(self, ids: tuple[str, ...], invocation: Invocation) -> Invocation:
        """Return the invocation that runs exactly these tests, in this order."""
        return naming(ids, invocation, self.context.orders)

    def _until_target(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        """Return what comes before the target; nothing if it is not among them."""
        target = self.context.target.id
        return ids[: ids.index(target)] if target in ids else ()

    def _others(self) -> tuple[str, ...]:
        return tuple(item.id for item in self.context.project.scope if item.id != self.context.target.id)

    def _split(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the tests that pytest runs before the target, and those after it."""
        ids = [item.id for item in self.context.project.scope]
        if self.context.target.id not in ids:
            return tuple(ids), ()
        at = ids.index(self.context.target.id)
        return tuple(ids[:at]), tuple(ids[at + 1 :])

    @staticmethod
    def _file(id_: str) -> str:
        return id_.split("::", 1)[0]
