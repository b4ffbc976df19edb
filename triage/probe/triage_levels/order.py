"""`order=FILE`: the tests whose node ids are in FILE, a JSON list, run in that order, and no others.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import json

import pytest

SHOWN = 3
"""Missing ids that the message names."""


class Plugin:
    """Selects and orders the collected items."""

    def __init__(self, value: str) -> None:
        # Read at once: `value` is relative to the folder in which pytest was started, and the target may leave it.
        try:
            with open(value, encoding="utf-8") as file:
                ids = json.load(file)
        except OSError as error:
            raise ValueError(error.strerror or str(error)) from None
        except ValueError as error:
            raise ValueError(f"no JSON: {error}") from None
        if not isinstance(ids, list) or not all(isinstance(id_, str) for id_ in ids):
            raise ValueError("no JSON list of node ids")
        if len(set(ids)) != len(ids):
            raise ValueError("a node id is listed twice")
        self.ids: list[str] = ids

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Every plugin has changed the items by now; those that look at the outcome come after us."""
        wanted = set(self.ids)
        chosen: dict[str, pytest.Item] = {}
        rest = []
        for item in session.items:
            if item.nodeid in wanted and item.nodeid not in chosen:
                chosen[item.nodeid] = item
            else:
                rest.append(item)
        missing = [id_ for id_ in self.ids if id_ not in chosen]
        if missing and not session.testsfailed:  # else pytest itself says which files it could not collect
            shown = "".join(f"\n  {id_}" for id_ in missing[:SHOWN])
            raise pytest.UsageError(f"TRIAGE_LEVELS: order: {len(missing)} node id(s) not collected:{shown}")
        session.items[:] = [chosen[id_] for id_ in self.ids if id_ in chosen]
        if rest:
            session.config.hook.pytest_deselected(items=rest)
