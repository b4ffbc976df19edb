"""Collects under several hash seeds, to see whether the tests are the same ones in every process."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from triage.errors import NothingSelectedError, TriageError
from triage.model.outcome import Outcome
from triage.model.project import Collection, Item, Unsteady
from triage.model.trial import Trial
from triage.targets.steadiness import SEEDS, base_of, files_of, is_parametrised, unsteady

Collect = Callable[[tuple[str, ...], str], Collection]
"""Collects some arguments under a hash seed."""
SHARE = 0.1
"""Part of the budget that this may take."""
MOST = 0.25
"""A collection that takes more than this part of it is not repeated at all."""
SIDE_BY_SIDE = 2


def look(items: Sequence[Item], collect: Collect, price: float, budget: float) -> tuple[Unsteady, ...] | None:
    """Return the tests that other hash seeds collect differently; None if the budget does not allow to look.

    `items` were collected under a seed of their own, which took `price` seconds.
    """
    files = files_of(items)
    if not files:
        return ()
    seeds = SEEDS[: max(SIDE_BY_SIDE, int(SIDE_BY_SIDE * SHARE * budget / max(price, 1e-3)))]
    if price > MOST * budget:
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
    """Return the error that says that ids are not the same in every process, where they are not; else the one that there was.

    `ids` are those that were asked for; `found` raises where a collection does not have them all.
    """
    files = tuple(dict.fromkeys(id_.partition("::")[0] for id_ in ids if is_parametrised(id_)))
    if not files:
        return error
    try:
        collections = {seed: collect(files, seed) for seed in SEEDS}
    except TriageError:
        return error
    asked = {base_of(id_) for id_ in ids}
    changing = unsteady([collection.items for collection in collections.values()])
    why = next((one for one in changing if one.test in asked), None)
    if why is None:
        return error
    there = next((seed for seed, collection in collections.items() if _succeeds(found, collection)), None)
    known = f" (PYTHONHASHSEED={there} has it)" if there is not None else ""
    return NothingSelectedError(
        f"not collected this time{known}: {why.statement}",
        hint=f"give the parameters an order and names that stay (`sorted(...)`, `ids=...`), or name `{why.test}`",
    )


def why_not_run(trial: Trial, target: Item, changing: Sequence[Unsteady]) -> str:
    """Return why a trial did not run the target: because its node id is not the same in every process, if that is known."""
    if trial.outcome is Outcome.NOT_COLLECTED:
        for one in changing:
            if one.ids_differ and one.test == base_of(target.id):
                return f"its node id exists in some processes only, as {one.statement}"
    return trial.reason or "no reason given"


def _succeeds(found: Callable[[Collection], object], collection: Collection) -> bool:
    try:
        found(collection)
    except TriageError:
        return False
    return True


class Stopwatch:
    """Measures how long a block takes, in seconds."""

    seconds = 0.0

    def __enter__(self) -> Stopwatch:
        self._began = time.monotonic()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds = time.monotonic() - self._began
