"""Forked trials of one experiment: which tests the process to be forked has collected, and what became of forking here."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from triage.model.outcome import Outcome
from triage.model.project import Item
from triage.model.trial import Trial
from triage.runner.cold import ColdRunner, Finished, Request
from triage.runner.forks import ForkPool, UnforkableError, split

DEAR = 3.0
"""A process that collects the whole scope may take so many times as long to start as a cold trial; else only the target."""
LEAST_DEAR = 2.0
"""Seconds that are never too long for a start."""
MOST_FILES = 2000
DEADLY = 3
"""First forked trials, all of which hang or crash where a fresh process passed, after which no more are forked."""


class Forking:
    """Runs forked trials of `target`. A context manager; `reason` says why there are none, once that is known."""

    def __init__(
        self,
        runner: ColdRunner,
        target: Item,
        scope: Sequence[Item],
        cold: Trial,
        reason: str | None,
        last_cluster: int = 0,
    ) -> None:
        """`cold` is a trial in a fresh process, `reason` why there cannot be any forked one, None if there can.

        The processes that trials are forked from are numbered from `last_cluster` on.
        """
        self.pool = ForkPool(runner)
        self.target = target
        self.cold_seconds = cold.wall_seconds
        self._deadly = 0 if cold.outcome is Outcome.PASSED else None
        files = tuple(dict.fromkeys(item.id.split("::", 1)[0] for item in (*scope, target)))
        alone = (target.id,)
        self._candidates = [alone] if len(files) > MOST_FILES or len(scope) <= 1 else [files, alone]
        self._clusters: dict[object, int] = {}
        self._last = last_cluster
        self._seeded: dict[str, set[str]] = {}
        self.reason = reason

    def run(self, request: Request, generation: int) -> tuple[Finished, float]:
        """Run a forked trial; returns it with the seconds that the start of its process took, 0 if it was there.

        Raises `UnforkableError` if such trials cannot be forked; `reason` then says why if none can.
        """
        order = request.arm.level("order")
        while self._candidates:
            around = self._candidates[0]
            if order is not None and len(around) == 1 and around[0] == self.target.id:
                raise UnforkableError("the process to be forked has collected the target alone")
            try:
                finished, start = self.pool.run(request, around, generation)
            except UnforkableError as error:
                if request.arm.levels:
                    raise
                self._next(error.message)
                continue
            if start > max(LEAST_DEAR, DEAR * self.cold_seconds) and len(self._candidates) > 1:
                self._next("")
            if start:
                for seeded in self.pool.seeded():
                    for generator, digest in seeded.items():
                        self._seeded.setdefault(generator, set()).add(digest)
            self._watch(finished.trial.outcome)
            return self._numbered(finished, (generation, split(request, around)[0]), start), start
        raise UnforkableError(self.reason or "")

    @property
    def seeded_apart(self) -> tuple[str, ...]:
        """Generators that the target seeds at import, with another state in each process."""
        return tuple(sorted(name for name, digests in self._seeded.items() if len(digests) > 1))

    def close(self) -> None:
        """End all processes that were to be forked."""
        self.pool.close()

    def _watch(self, outcome: Outcome) -> None:
        """Give up where forking itself seems to kill: each such trial may cost a whole time limit."""
        if self._deadly is None:
            return
        if outcome not in {Outcome.HUNG, Outcome.CRASHED}:
            self._deadly = None
            return
        self._deadly += 1
        if self._deadly >= DEADLY:
            self._candidates = []
            self.reason = f"the first {DEADLY} forked trials hung or crashed, where a fresh process had passed"

    def _next(self, why: str) -> None:
        self._candidates.pop(0)
        self.pool.close()
        if not self._candidates:
            self.reason = why

    def _numbered(self, finished: Finished, key: object, start: float) -> Finished:
        if start or key not in self._clusters:
            self._last += 1
            self._clusters[key] = self._last
        return replace(finished, trial=replace(finished.trial, cluster=self._clusters[key]))
