"""Levels that act inside the target: a pytest plugin that is part of the printed command (`docs/wire.md`).

    TRIAGE_LEVELS="rng_seed=7 repeat=20" PYTHONPATH=.triage/plugins python -m pytest -p triage_levels ...

Each factor is a module of this package with a class `Plugin`, made from the value behind the `=` (a `ValueError` says what
is wrong with it) and registered with pytest; a module whose name begins with an underscore is none.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
import pkgutil
import sys
from importlib import import_module
from typing import Any

import pytest

VARIABLE = "TRIAGE_LEVELS"
FOLDER = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def _take_words() -> list[str]:
    """Return the words of the variable, and make environment and `sys.path` what they were without this plugin."""
    text = os.environ.pop(VARIABLE, "")
    sys.path[:] = [entry for entry in sys.path if not _is_own(entry)]
    value = os.environ.get("PYTHONPATH")
    if value is not None:
        left = [entry for entry in value.split(os.pathsep) if not _is_own(entry)]
        if not left:
            del os.environ["PYTHONPATH"]
        elif os.pathsep.join(left) != value:
            os.environ["PYTHONPATH"] = os.pathsep.join(left)
    return text.split()


def _is_own(entry: str) -> bool:
    return bool(entry) and os.path.realpath(entry) == FOLDER


def _make_plugins(words: list[str]) -> dict[str, Any]:
    """Return a plugin for each word; raises pytest.UsageError, which ends pytest with one line."""
    known = sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
    plugins: dict[str, Any] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or name not in known:
            raise pytest.UsageError(f"{VARIABLE}: unknown level `{word}`; known: {', '.join(known)}")
        if name in plugins:
            raise pytest.UsageError(f"{VARIABLE}: `{name}` is set twice")
        try:
            plugins[name] = import_module(f"{__name__}.{name}").Plugin(value)
        except ValueError as error:
            raise pytest.UsageError(f"{VARIABLE}: `{word}`: {error}") from None
    return plugins


WORDS = _take_words()
PLUGINS = _make_plugins(WORDS)


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the factors: the first hook that pytest calls on a plugin, at once after importing it."""
    for name, plugin in PLUGINS.items():
        pluginmanager.register(plugin, f"{__name__}.{name}")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(specs: list[Any]) -> None:
    """Let xdist's workers, which import this plugin as well, find it and its words."""
    plugin = sys.modules.get("xdist.plugin")
    paths = getattr(plugin, "_sys_path", None)
    if isinstance(paths, list) and FOLDER not in paths:
        paths.append(FOLDER)
    for spec in specs:
        spec.env[VARIABLE] = " ".join(WORDS)
