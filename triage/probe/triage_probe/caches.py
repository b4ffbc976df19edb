"""pytest's cache and hypothesis' storage in the trial's own folder: what one trial learnt must not steer the next.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
import shutil
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Callable, Sequence

if TYPE_CHECKING:
    import pytest

HYPOTHESIS = "hypothesis.configuration"
WARM = ("unicode_data", "constants")
"""Pure caches of hypothesis: building them takes up to seconds within the first test, which the user's runs do not pay."""


def move_pytest_cache(config: pytest.Config, folder: str) -> None:
    """Before pytest makes its cache: let the setting `cache_dir` name our folder."""
    config._inicache["cache_dir"] = os.path.join(folder, "pytest")  # noqa: SLF001 - there is no public way


def check_pytest_cache(config: pytest.Config, folder: str) -> None:
    """After pytest made its cache: move it if it is elsewhere all the same; none exists with `-p no:cacheprovider`."""
    cache: Any = getattr(config, "cache", None)
    wanted = Path(folder, "pytest")
    if cache is not None and cache._cachedir != wanted:  # noqa: SLF001
        cache._cachedir = wanted  # noqa: SLF001


def move_hypothesis(folder: str, report: Callable[[BaseException], None]) -> None:
    """Move hypothesis' home folder when, and only if, the target imports it; its environment variable is inherited."""
    home = os.path.join(folder, "hypothesis")
    loaded = sys.modules.get(HYPOTHESIS)
    if loaded is not None:
        _set_home(loaded, home)
    else:
        sys.meta_path.insert(0, _Finder(home, report))


def _set_home(module: ModuleType, home: str) -> None:
    own = os.environ.get("HYPOTHESIS_STORAGE_DIRECTORY") or os.path.join(os.getcwd(), ".hypothesis")
    for name in WARM:
        if os.path.isdir(os.path.join(own, name)) and not os.path.exists(os.path.join(home, name)):
            shutil.copytree(os.path.join(own, name), os.path.join(home, name))
    module.set_hypothesis_home_dir(home)


class _Finder(MetaPathFinder):
    """Waits for one module, then leaves `sys.meta_path`."""

    def __init__(self, home: str, report: Callable[[BaseException], None]) -> None:
        self._home = home
        self._report = report

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the module as usual, and see to what happens after it was executed."""
        if fullname != HYPOTHESIS:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            self._follow(spec.loader)
        return spec

    def _follow(self, loader: Loader) -> None:
        def exec_module(module: ModuleType) -> None:
            vars(loader).pop("exec_module", None)  # one loader may serve many modules
            loader.exec_module(module)
            try:
                _set_home(module, self._home)
            except Exception as error:  # noqa: BLE001 - the target's import has succeeded
                self._report(error)

        loader.exec_module = exec_module  # type: ignore[method-assign]
