"""Collects under several hash seeds, to see whether the tests are the same ones in every process."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from triage.errors import NothingSelectedError, TriageError
from triage.model.project import Collection, Item, Unsteady
from triage.targets.steadiness import SEEDS, files_of, is_parametrised, unsteady

Collect = Callable[[tuple[str, ...], str], Collection]
"""Collects some arguments under a hash seed."""
SHARE = 0.1
"""Part of the budget that this may take."""
SIDE_BY_SIDE = 2


def look(items: Sequence[Item], collect: Collect, price: float, budget: float) -> tuple[Unsteady, ...] | None:
    """Return the tests that other hash seeds collect differently; None if the budget does not allow to look.

    `items` were collected under a seed of their own, which took `price` seconds.
    """
    files = files_of(items)
    if not files:
        return ()
    seeds = SEEDS[: int(SHARE * budget / max(price, 1e-3))]
    if not seeds:
        return None
    known = set(files)
    first = [item for item in items if item.id.partition("::")[0] in known]
    try:
        with ThreadPoolExecutor(SIDE_BY_SIDE) as pool:
            others = [found.items for found in pool.map(lambda seed: collect(files, seed), seeds)]
    except TriageError:
        return None
    return unsteady([first, *others])


def explained(
    error: NothingSelectedError,
    ids: Sequence[str],
    collect: Collect,
    found: Callable[[Collection], object],
) -> NothingSelectedError:
    """Return the error that says that ids exist under some hash seeds only, where they do; else the one that there was.

    `ids` are those that were asked for; `found` raises where a collection does not have them all.
    """
    files = tuple(dict.fromkeys(id_.partition("::")[0] for id_ in ids if is_parametrised(id_)))
    if not files:
        return error
    collections: list[Collection] = []
    for seed in SEEDS:
        try:
            collections.append(collect(files, seed))
            found(collections[-1])
        except TriageError:
            continue
        changing = unsteady([collection.items for collection in (collect(files, "0"), *collections)])
        asked = {id_.partition("[")[0] for id_ in ids}
        why = next((one for one in changing if one.test in asked), None)
        if why is None:
            return error
        return NothingSelectedError(
            f"not collected this time, though under PYTHONHASHSEED={seed} it is: {why.statement}",
            hint=f"give the parameters an order and names that stay (`sorted(...)`, `ids=...`), or name `{why.test}`",
        )
    return error


class Stopwatch:
    """Measures how long a block takes, in seconds."""

    seconds = 0.0

    def __enter__(self) -> Stopwatch:
        self._began = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.monotonic() - self._began
