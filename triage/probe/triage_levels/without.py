"""`without=a,b`: plugins that have no effect any more, while their options and marks stay known.

`basetemp` among them is pytest's option of that name. `-p no:NAME` would make pytest reject the options and marks of NAME
that the user's configuration mentions.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from typing import Any

import pytest

BASE = "basetemp"


class Plugin:
    """Unregisters plugins once they are configured."""

    def __init__(self, value: str) -> None:
        self.names = {plain(name) for name in value.split(",") if name}
        if not self.names:
            raise ValueError("names of plugins, separated by commas")

    def pytest_addoption(self, pluginmanager: Any) -> None:
        """Register the other half, which comes last where this one comes first."""
        pluginmanager.register(After(self), f"{__name__}.after")

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Forget a `basetemp`; hide xdist from the plugins' own `pytest_configure`, if there are no workers.

        In it they declare their marks, so it must run; but some that rerun failures also start a thread and a socket there to
        talk to xdist's workers.
        """
        manager: Any = config.pluginmanager
        if BASE in self.names and not hasattr(config, "workerinput"):
            config.option.basetemp = None  # workers are given theirs by xdist
        workers = getattr(config.option, "numprocesses", None) or getattr(config.option, "tx", None)
        if not workers and not hasattr(config, "workerinput"):
            known = manager.hasplugin
            manager.hasplugin = lambda name: name != "xdist" and known(name)

    def finish(self, manager: Any) -> None:
        """Show xdist again, and unregister the plugins; absent ones are nothing to do."""
        vars(manager).pop("hasplugin", None)
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


class After:
    """Comes after all others."""

    def __init__(self, plugin: Plugin) -> None:
        self._plugin = plugin

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """Every plugin has been configured."""
        self._plugin.finish(config.pluginmanager)


def plain(name: str) -> str:
    """Return `randomly` for `pytest-randomly`, `pytest_randomly` and `randomly`."""
    text = name.strip().lower().replace("-", "_").lstrip("_")
    return text[len("pytest_") :] if text.startswith("pytest_") else text
