"""`without=a,b`: plugins that have no effect any more, while their options and marks stay known.

`-p no:NAME` would make pytest reject the options and marks of NAME that the user's configuration mentions.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from typing import Any

import pytest


class Plugin:
    """Unregisters plugins once they are configured."""

    def __init__(self, value: str) -> None:
        self.names = {plain(name) for name in value.split(",") if name}
        if not self.names:
            raise ValueError("names of plugins, separated by commas")

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """After they have declared their marks; absent ones are nothing to do."""
        manager = config.pluginmanager
        distributions: dict[int, str] = {}
        for plugin, distribution in manager.list_plugin_distinfo():
            distributions[id(plugin)] = str(distribution.project_name)
        for name, plugin in manager.list_name_plugin():
            if plugin is None or plugin is self or not manager.is_registered(plugin):
                continue
            module: Any = getattr(plugin, "__name__", "")
            known_as = (name, str(module), distributions.get(id(plugin), ""))
            if self.names & {plain(other) for other in known_as if other}:
                manager.unregister(plugin)


def plain(name: str) -> str:
    """Return `randomly` for `pytest-randomly`, `pytest_randomly` and `randomly`."""
    text = name.strip().lower().replace("-", "_").lstrip("_")
    return text[len("pytest_") :] if text.startswith("pytest_") else text
