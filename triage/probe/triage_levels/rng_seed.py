"""`rng_seed=N`: the global generators of `random` and `numpy.random` start from N.

They are seeded when this plugin is imported (for draws at the import of the target's modules), after collection, and
before the setup of each test, so that a test draws the same wherever it runs. numpy is seeded only if the target
imports it, and then at once. Generators of the target's own are its own.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import random
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, Generator, Sequence

import pytest

NUMPY = "numpy.random"
NUMPY_SEEDS = 2**32


class Plugin:
    """Seeds the generators."""

    def __init__(self, value: str) -> None:
        try:
            self.seed = int(value)
        except ValueError:
            raise ValueError("a seed is a whole number") from None
        self._seed_random = random.seed
        if NUMPY not in sys.modules:
            sys.meta_path.insert(0, _Finder(self.seed))
        self.apply()

    def apply(self) -> None:
        """Seed what there is."""
        self._seed_random(self.seed)
        numpy = sys.modules.get(NUMPY)
        if numpy is not None and hasattr(numpy, "seed"):  # without it, numpy is still being imported
            numpy.seed(self.seed % NUMPY_SEEDS)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self) -> None:
        """Importing the test modules drew as many numbers as there were modules to import."""
        self.apply()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, Any, None]:
        """Before every fixture of the test, also those of plugins."""
        self.apply()
        yield


class _Finder(MetaPathFinder):
    """Waits for the import of one module, seeds it, and leaves `sys.meta_path`."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find the module as usual, and see to what happens after it was executed."""
        if fullname != NUMPY:
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
            module.seed(self._seed % NUMPY_SEEDS)

        loader.exec_module = exec_module  # type: ignore[method-assign]
