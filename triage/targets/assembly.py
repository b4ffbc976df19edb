"""Put what is known about a project together."""

from __future__ import annotations

import os
from collections.abc import Sequence

from triage.errors import NothingSelectedError, UnrunnableError, UsageError
from triage.model.project import Collection, Interpreter, Item, Project, Takeover
from triage.targets.nodeids import Request, select
from triage.targets.takeover import Taken


def assemble(
    *,
    interpreters: Sequence[Interpreter],
    collection: Collection,
    scope: Sequence[Item] = (),
    options: Sequence[str] = (),
    taken: Taken,
    notes: Sequence[Takeover] = (),
) -> Project:
    """Return the project as every trial gets it.

    `collection` is of the requested node ids, `scope` the tests that may run around a target (without any: those of the
    collection), `options` the user's pytest options and `notes` what the environment adds to the takeovers. Both
    collections are made under `taken`, if it says `recollect`. Raises `UnrunnableError` without an interpreter.
    """
    if not interpreters:
        raise UnrunnableError("no interpreter to run the tests with", hint="name one with --python")
    return Project(
        root=collection.root,
        interpreters=tuple(interpreters),
        options=(*options, *taken.options),
        levels=taken.levels,
        takeovers=(*taken.takeovers, *notes),
        collection=collection,
        scope=tuple(scope) or collection.items,
    )


def targets(request: Request, collection: Collection) -> tuple[Item, ...]:
    """Return the items that the arguments stand for, each once, in the order of the arguments.

    Raises `NothingSelectedError` for an argument without any, `UnrunnableError` if that may be due to an error of collection,
    `UsageError` if pytest chose another root folder: its ids would then mean something else than the arguments do.
    """
    require_root(request, collection)
    try:
        chosen = [item for argument in request.arguments for item in select(argument, collection.items)]
    except NothingSelectedError as error:
        if collection.errors:
            raise UnrunnableError(
                f"the tests could not be collected: {gist(collection.errors[0])}",
                hint="`python -m pytest --collect-only` shows the whole error",
            ) from error
        raise
    return tuple({item.id: item for item in chosen}.values())


def require_root(request: Request, collection: Collection) -> None:
    """Raise `UsageError` if pytest chose another root folder than the arguments' own."""
    if os.path.realpath(collection.root) != os.path.realpath(request.root):
        raise UsageError(
            f"pytest takes `{collection.root}` as its root folder, not `{request.root}`",
            hint=f"add `-- --rootdir={request.root}`, or start `triage` with the project's own configuration",
        )


def gist(error: str) -> str:
    """Return the line of a collection error that says most: the last one that pytest marks with `E`, else the last."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    marked = [line.removeprefix("E ").strip() for line in lines if line.startswith("E ")]
    return (marked or lines or ["no reason given"])[-1]
