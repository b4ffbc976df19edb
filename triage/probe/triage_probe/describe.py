"""Configuration, plugins, packages and items as the wire has them.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import hashlib
from importlib import metadata
from typing import TYPE_CHECKING, Any, Callable, Iterable

if TYPE_CHECKING:
    import pytest

FLAKY_ATTRIBUTE = "_flaky_max_runs"
"""Of `flaky.names.FlakyNames`, since its first version."""


def plugins(config: pytest.Config) -> list[list[str]]:
    """Return name, distribution and version of each plugin that an installed distribution brings."""
    manager = config.pluginmanager
    found = []
    for plugin, distribution in manager.list_plugin_distinfo():
        name = manager.get_name(plugin) or ""
        found.append([name, str(distribution.project_name), str(distribution.version)])
    return found


def packages() -> list[list[str]]:
    """Return name and version of each installed distribution; of two with one name, the one that is imported."""
    found: dict[str, list[str]] = {}
    for distribution in metadata.distributions():
        name = distribution.metadata["Name"]
        if name:
            found.setdefault(name.lower().replace("_", "-"), [name, str(distribution.version)])
    return sorted(found.values())


def items(session_items: Iterable[pytest.Item], clean: Callable[[str], str]) -> list[dict[str, Any]]:
    """Return id, file, line (from 1) and marks of each item."""
    found = []
    for item in session_items:
        file, line, _name = item.location
        marks = dict.fromkeys(clean(mark.name) for mark in item.iter_markers())
        if decorated_as_flaky(item):
            marks.setdefault("flaky")
        found.append(
            {
                "id": clean(item.nodeid),
                "file": clean(str(file)),
                "line": None if line is None else line + 1,
                "marks": list(marks),
            }
        )
    return found


def decorated_as_flaky(item: pytest.Item) -> bool:
    """Whether the decorator of the package `flaky` was put on the test or its class; it leaves attributes and no mark.

    pytest puts a function's attributes among the keywords of its item.
    """
    return FLAKY_ATTRIBUTE in item.keywords or hasattr(getattr(item, "cls", None), FLAKY_ATTRIBUTE)


def digest(ids: Iterable[str]) -> str:
    """Return the SHA-256 of the ids in order, one a line."""
    return hashlib.sha256("\n".join(ids).encode("utf-8")).hexdigest()
