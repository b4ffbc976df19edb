"""The fork engine: one trial is a fork of a pytest process that has collected, and costs little more than the fork.

Trials that have all in common that is fixed before the fork share a server (`triage.runner.fork_server`).
"""

from __future__ import annotations

import time

from msgspec.structs import replace

from triage.model.invocation import Invocation
from triage.runner.closing import Closing
from triage.runner.cold import ColdRunner, Finished, Request, interpret, make_trial
from triage.runner.fork_server import (
    HYPOTHESIS_SEED,
    ForkServer,
    RefusedError,
    ServerDiedError,
    UnforkableError,
    supported,
)
from triage.runner.process import ProcessEnd

__all__ = ["ForkPool", "ForkServer", "UnforkableError", "supported"]

CHILD_LEVELS = frozenset({"rng_seed", "repeat"})
"""Levels that a child applies to itself; all others are fixed when a server starts."""


class ForkPool(Closing):
    """The servers of one project. Keeps the most recently used ones; a context manager."""

    MOST = 6
    """Servers alive at once: each is as large as the collected project, and arms that take turns need one each."""

    def __init__(self, runner: ColdRunner) -> None:
        self.runner = runner
        self._servers: dict[tuple[Invocation, int], ForkServer] = {}
        self._refused: dict[tuple[Invocation, tuple[str, ...]], str] = {}
        self._died: set[Invocation] = set()

    def run(self, request: Request, around: tuple[str, ...] = (), generation: int = 0) -> tuple[Finished, float]:
        """Run a request's target, after the tests that its arm's order names, in a fork of a server that has collected `around`.

        Another `generation` means another server. Returns what came of it, and the seconds that starting a server took (0 if it
        was there). Raises `UnforkableError` where this cannot be done; it then stays so for all requests alike. Passes on
        CancelledError and KeyboardInterrupt; nothing of the trial is left running then.
        """
        common, items, levels = split(request, around)
        for case in ((common, ()), (common, items)):
            if case in self._refused:
                raise UnforkableError(self._refused[case])
        try:
            server, price = self._server(common, generation, request.limit)
            finished = server.run(request, items, levels)
        except RefusedError as error:
            self._refused[common, items] = error.message
            raise
        except ServerDiedError:
            self._forget(common, generation)
            return self._lost(request, common), price
        except UnforkableError as error:
            self._refused[common, ()] = error.message
            raise
        except BaseException:
            self._forget(common, generation)
            raise
        self._died.discard(common)
        if server.worn:
            self._forget(common, generation)
        return finished, price

    @property
    def servers(self) -> tuple[ForkServer, ...]:
        """The living servers, the one used last at the end."""
        return tuple(self._servers.values())

    def seeded(self) -> tuple[dict[str, str], ...]:
        """Return, for each living server, the generators that the target seeded at import."""
        return tuple(server.seeded for server in self._servers.values())

    def close(self) -> None:
        """End all servers."""
        while self._servers:
            self._servers.popitem()[1].close()

    def _server(self, common: Invocation, generation: int, limit: float) -> tuple[ForkServer, float]:
        key = (common, generation)
        server = self._servers.pop(key, None)
        price = 0.0
        if server is None:
            for old in [known for known in self._servers if known[0] == common]:
                self._forget(*old)
            while len(self._servers) >= self.MOST:
                self._forget(*next(iter(self._servers)))
            server = ForkServer(self.runner, common, max(limit, 10.0))
            price = server.start_seconds
        self._servers[key] = server
        return server, price

    def _forget(self, common: Invocation, generation: int) -> None:
        server = self._servers.pop((common, generation), None)
        if server is not None:
            server.close()

    def _lost(self, request: Request, common: Invocation) -> Finished:
        """Say of a trial whose server died that it says nothing; raises `UnforkableError` where that happens twice in a row."""
        reason = "the process that it was forked from ended meanwhile"
        if common in self._died:
            self._refused[common, ()] = reason
            raise UnforkableError(reason)
        self._died.add(common)
        end = ProcessEnd(error=reason)
        wire, verdict = interpret(request, end, b"", "")
        trial = make_trial(
            request, end, wire, verdict, started=time.time(), command=request.invocation.command(self.runner.base)
        )
        return Finished(trial=trial, wire=wire, end=end)


def split(request: Request, around: tuple[str, ...]) -> tuple[Invocation, tuple[str, ...], tuple[str, ...]]:
    """Return what a server must be started with, the tests that the child runs in order, and the levels that it applies."""
    invocation = request.invocation
    order = request.arm.level("order")
    assert request.target is not None
    words = {word: word.partition("=")[0] for word in invocation.levels}
    common = replace(
        invocation,
        node_ids=around or (request.target,),
        options=tuple(option for option in invocation.options if not option.startswith(HYPOTHESIS_SEED)),
        levels=tuple(word for word, name in words.items() if name not in CHILD_LEVELS and name != "order"),
    )
    items = (*(order.ids if order else ()), request.target)
    return common, items, tuple(word for word, name in words.items() if name in CHILD_LEVELS)
