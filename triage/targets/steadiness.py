"""Whether tests are collected alike in every process: parameters taken from a set are not.

xdist compares what its workers collect and runs nothing where they differ ("Different tests were collected"); a node id with such
parameters may exist in one run and not in the next.
"""

from __future__ import annotations

from collections.abc import Sequence

from triage.model.project import Item, Unsteady

SEEDS = ("1", "2", "3")
"""Hash seeds under which is collected, beside the run that has its own."""


def is_parametrised(id_: str) -> bool:
    """Whether a node id has parameters."""
    return id_.endswith("]")


def base_of(id_: str) -> str:
    """Return a node id without its parameters, which may hold brackets themselves."""
    return id_.partition("[")[0] if is_parametrised(id_) else id_


def files_of(items: Sequence[Item]) -> tuple[str, ...]:
    """Return the files that have parametrised tests; elsewhere there is nothing to compare."""
    return tuple(dict.fromkeys(item.id.partition("::")[0] for item in items if is_parametrised(item.id)))


def unsteady(collections: Sequence[Sequence[Item]]) -> tuple[Unsteady, ...]:
    """Return the parametrised tests whose ids or their order are not the same in all of these collections of the same files."""
    grouped = [_grouped(items) for items in collections]
    found = []
    for test in dict.fromkeys(name for groups in grouped for name in groups):
        sequences = [tuple(item.id for item in groups.get(test, ())) for groups in grouped]
        other = next((ids for ids in sequences if ids != sequences[0]), None)
        if other is None:
            continue
        item = next(item for groups in grouped for item in groups.get(test, ()))
        found.append(
            Unsteady(
                test=test,
                file=item.file,
                line=item.line,
                ids_differ=any(set(ids) != set(sequences[0]) for ids in sequences),
                seen=tuple(tuple(id_[len(test) :] for id_ in ids) for ids in (sequences[0], other)),
            )
        )
    return tuple(found)


def _grouped(items: Sequence[Item]) -> dict[str, list[Item]]:
    groups: dict[str, list[Item]] = {}
    for item in items:
        if is_parametrised(item.id):
            groups.setdefault(base_of(item.id), []).append(item)
    return groups
