"""Which of the collected tests a sweep takes."""

from __future__ import annotations

from triage.errors import NothingSelectedError, UnrunnableError, UsageError
from triage.model.project import Collection, Item
from triage.model.sweep import DESPITE_MARKS, Selection
from triage.targets.assembly import gist, require_root, targets
from triage.targets.configuration import Configured
from triage.targets.nodeids import Request, select

HOW = "a sweep takes tests with `@pytest.mark.flaky` or `@pytest.mark.quarantine`, or those that `-m EXPR` names"


def arguments_of(request: Request, selection: Selection | None) -> tuple[str, ...]:
    """Return what pytest is given to collect: nothing where a sweep takes what pytest finds by itself in the root folder."""
    arguments = tuple(argument.node_id for argument in request.arguments)
    return () if selection and not selection.paths and arguments == (".",) else arguments


def despite(selection: Selection | None, configured: Configured) -> tuple[str, ...]:
    """Return the pytest options that a swept test needs in its trials: those that take back a mark expression."""
    return DESPITE_MARKS if selection and configured.has_option("-m") else ()


def selected(selection: Selection, request: Request, collection: Collection) -> tuple[Item, ...]:
    """Return the items that a sweep takes, of all shards or of its own.

    A shard may be empty. Raises `NothingSelectedError` if the whole selection is, `UnrunnableError` if that may be due to an
    error of collection.
    """
    require_root(request, collection)
    if selection.expression is None:
        found = _collected(selection, request, collection)
        chosen = tuple(item for item in found if selection.wants(item.marks))
    else:
        found = chosen = tuple({item.id: item for item in _each(request, collection)}.values())
    if not chosen:
        if collection.errors:
            raise UnrunnableError(
                f"no test is {selection.words} in what can be collected, and not all can: {gist(collection.errors[0])}",
                hint="`python -m pytest --collect-only` shows the whole error",
            )
        of = "" if selection.expression else f" ({len(found)} collected)"
        whole = Selection(expression=selection.expression)
        raise NothingSelectedError(f"no test is {whole.words}{of}", hint=HOW)
    return tuple(item for item in chosen if selection.shard is None or selection.shard.has(item.id))


def check_arguments(expression: str | None, pytest_args: tuple[str, ...]) -> None:
    """Raise `UsageError` for an empty expression, and for one that is passed to pytest behind the back of the sweep."""
    if expression is not None and not expression.strip():
        raise UsageError("`-m` has an empty expression", hint=HOW)
    if Configured(words=pytest_args).has_option("-m"):
        raise UsageError("`-m` after `--` would be overridden", hint="write it before: `triage sweep -m EXPR`")


def refuse_expression(stderr: str) -> None:
    """Raise `UsageError` if pytest says that it cannot read the mark expression; it collects everything all the same."""
    for line in stderr.splitlines():
        _, found, why = line.partition("Wrong expression passed to '-m': ")
        if found:
            raise UsageError(
                f"pytest cannot read the expression after `-m`: {why.strip()}", hint="such as `-m 'flaky and not slow'`"
            )


def _collected(selection: Selection, request: Request, collection: Collection) -> tuple[Item, ...]:
    try:
        return targets(request, collection)
    except NothingSelectedError:
        if selection.paths:
            raise
        return ()


def _each(request: Request, collection: Collection) -> list[Item]:
    """Return what the arguments stand for among the items that the expression left over."""
    found: list[Item] = []
    for argument in request.arguments:
        try:
            found += select(argument, collection.items)
        except NothingSelectedError:
            continue
    return found
