"""pytest's cache and hypothesis' storage in the trial's own folder: what one trial learnt must not steer the next.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable

from .imports import follow

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
    follow(HYPOTHESIS, lambda module: set_hypothesis_home(module, folder), report)


def set_hypothesis_home(module: Any, folder: str) -> None:
    """Let hypothesis keep everything below `folder`."""
    home = os.path.join(folder, "hypothesis")
    own = os.environ.get("HYPOTHESIS_STORAGE_DIRECTORY") or os.path.join(os.getcwd(), ".hypothesis")
    for name in WARM:
        if os.path.isdir(os.path.join(own, name)) and not os.path.exists(os.path.join(home, name)):
            shutil.copytree(os.path.join(own, name), os.path.join(home, name))
    module.set_hypothesis_home_dir(home)
