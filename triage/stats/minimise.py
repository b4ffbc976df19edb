"""The smallest part of a failing sequence that still fails, found with an oracle that may be noisy.

Delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input", IEEE TSE 28 (2002)) as a
generator: it yields what to try and is sent what happened, so it knows nothing of processes, and whoever runs the trials
decides when and where.

    search = ddmin(polluters, confirm_pass=4, budget=200)
    try:
        candidate = next(search)
        while True:
            candidate = search.send(fails(candidate))
    except StopIteration as stop:
        minimal = stop.value
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from math import comb
from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")
Subset = tuple[int, ...]
"""Ascending positions in the sequence; two equal items are still two."""


class Minimal(Struct, Generic[T], frozen=True):
    """What a search found."""

    items: tuple[T, ...]
    """The smallest sequence that was seen to fail (the given one, if no smaller was), in the given order."""
    queries: int
    """How many trials were asked for."""
    complete: bool
    """Whether leaving out any single item was seen to make it pass; False if the budget ran out before."""


def ddmin(
    items: Sequence[T], *, confirm_pass: int = 1, confirm_fail: int = 1, budget: int | None = None
) -> Generator[tuple[T, ...], bool, Minimal[T]]:
    """Search for a minimal failing subsequence: yields a candidate, is sent True if it failed, returns a `Minimal`.

    The caller knows already that all items together fail and that none of them pass; neither is asked for. Order is
    kept. The same answers lead to the same questions. The result is 1-minimal: without any one of its items it
    passed. Other, smaller sets may fail too; with one needed item about 2 log2(n) candidates are decided, at most
    n^2 + 3n for the most contrived oracle.

    A candidate is asked for until it has failed `confirm_fail` times or passed `confirm_pass` times, whichever comes first;
    then it is never asked for again. The two errors are not alike. A failing candidate believed to pass only leaves
    the result larger than need be. A passing one believed to fail ends in items that have nothing to do with it. So:

    - `confirm_pass`: if all items together fail at rate r, `trials_to_exclude(r, c)` passes; each candidate as bad as the
      whole is then recognised with probability c.
    - `confirm_fail`: one failure decides where none of the items means no failure (a rate near 0). With a rate e > 0
      without any item, one failure in up to `confirm_pass` trials happens by itself with probability
      1 - (1 - e)^confirm_pass, for each of the candidates; then ask for two or three, and raise `confirm_pass` in proportion.

    `budget` bounds the number of questions; when it is spent, the smallest set seen to fail so far is returned, incomplete.
    Raises `ValueError` if a number is out of range.
    """
    if confirm_pass < 1 or confirm_fail < 1:
        raise ValueError(f"`confirm_pass` {confirm_pass} and `confirm_fail` {confirm_fail} must be at least 1")
    if budget is not None and budget < 0:
        raise ValueError(f"`budget` {budget} is negative")
    return _Search(items, confirm_pass, confirm_fail, budget).run()


def repetitions(rate: float, background: float, error: float = 0.01, most: int = 12) -> tuple[int, int]:
    """Return `confirm_pass` and `confirm_fail` with which each candidate is decided rightly with probability 1 - `error`.

    `rate` is that of a set that fails, `background` that of one that does not. The pair with the fewest trials is taken;
    where none up to `most` of either is good enough, the one whose larger error is smallest. The error of a race between f
    failures and p passes is a negative binomial tail.
    """
    pairs = [(passes, fails) for fails in range(1, most + 1) for passes in range(1, most + 1)]

    def worst(pair: tuple[int, int]) -> float:
        passes, fails = pair
        return max(_first(fails, passes, background), 1 - _first(fails, passes, rate))

    good = [pair for pair in pairs if worst(pair) <= error]
    return min(good, key=lambda pair: (sum(pair), worst(pair))) if good else min(pairs, key=worst)


def _first(fails: int, passes: int, rate: float) -> float:
    """Probability that `fails` failures come before `passes` passes."""
    return sum(comb(fails - 1 + k, k) * rate**fails * (1 - rate) ** k for k in range(passes))


class _BudgetSpentError(Exception):
    """The next question may not be asked."""


class _Search(Generic[T]):
    """The state of one search: `chunks` partitions the smallest set that is known to fail."""

    def __init__(self, items: Sequence[T], confirm_pass: int, confirm_fail: int, budget: int | None) -> None:
        self.items = tuple(items)
        self.confirm_pass = confirm_pass
        self.confirm_fail = confirm_fail
        self.budget = budget
        self.queries = 0
        self.decided: dict[Subset, bool] = {}
        self.chunks: list[Subset] = [tuple(range(len(self.items)))]

    def run(self) -> Generator[tuple[T, ...], bool, Minimal[T]]:
        complete = True
        try:
            while any(len(chunk) > 1 for chunk in self.chunks):
                self.chunks = [half for chunk in self.chunks for half in _halves(chunk)]
                yield from self._keep_one_chunk()
                yield from self._leave_out_chunks()
        except _BudgetSpentError:
            complete = False
        kept = _joined(self.chunks)
        return Minimal(items=self._pick(kept), queries=self.queries, complete=complete)

    def _keep_one_chunk(self) -> Generator[tuple[T, ...], bool, None]:
        """Go on with a single chunk if one fails alone, later ones first."""
        for chunk in reversed(self.chunks):
            if (yield from self._fails(chunk)):
                self.chunks = [chunk]
                return

    def _leave_out_chunks(self) -> Generator[tuple[T, ...], bool, None]:
        """Leave out, one at a time and earlier ones first, chunks without which the rest still fails.

        Goes round until each chunk has been needed since the last one was left out: with chunks of one item that is
        1-minimality. The complement of one chunk of two is the other one, which has been asked for.
        """
        at = needed = 0
        while len(self.chunks) > 2 and needed < len(self.chunks):
            at %= len(self.chunks)
            rest = self.chunks[:at] + self.chunks[at + 1 :]
            if (yield from self._fails(_joined(rest))):
                self.chunks, needed = rest, 0
            else:
                at, needed = at + 1, needed + 1

    def _fails(self, subset: Subset) -> Generator[tuple[T, ...], bool, bool]:
        if subset in self.decided:
            return self.decided[subset]
        failed = passed = 0
        while failed < self.confirm_fail and passed < self.confirm_pass:
            if self.queries == self.budget:
                raise _BudgetSpentError
            self.queries += 1
            if (yield self._pick(subset)):
                failed += 1
            else:
                passed += 1
        self.decided[subset] = failed == self.confirm_fail
        return self.decided[subset]

    def _pick(self, subset: Subset) -> tuple[T, ...]:
        return tuple(self.items[position] for position in subset)


def _halves(chunk: Subset) -> tuple[Subset, ...]:
    middle = len(chunk) // 2
    return (chunk[:middle], chunk[middle:]) if middle else (chunk,)


def _joined(chunks: list[Subset]) -> Subset:
    return tuple(position for chunk in chunks for position in chunk)
