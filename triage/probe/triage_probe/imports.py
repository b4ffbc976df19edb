"""Waiting for the target to import a module, without importing it ourselves.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, Callable, Sequence


def follow(name: str, action: Callable[[Any], None], report: Callable[[BaseException], None]) -> None:
    """Call `action` with a module as soon as it was executed, or at once if it is loaded; faults of `action` go to `report`."""
    loaded = sys.modules.get(name)
    if loaded is None:
        sys.meta_path.insert(0, _Finder(name, action, report))
        return
    action(loaded)


class _Finder(MetaPathFinder):
    """Waits for one module, then leaves `sys.meta_path`."""

    def __init__(self, name: str, action: Callable[[Any], None], report: Callable[[BaseException], None]) -> None:
        self._name = name
        self._action = action
        self._report = report

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the module as usual, and see to what happens after it was executed."""
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            self._watch(spec.loader)
        return spec

    def _watch(self, loader: Loader) -> None:
        def exec_module(module: ModuleType) -> None:
            vars(loader).pop("exec_module", None)  # one loader may serve many modules
            loader.exec_module(module)
            try:
                self._action(module)
            except Exception as error:  # noqa: BLE001 - the target's import has succeeded
                self._report(error)

        loader.exec_module = exec_module  # type: ignore[method-assign]
