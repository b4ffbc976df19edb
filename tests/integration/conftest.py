"""Interpreters for tests that start real processes in environments of several Python and pytest versions."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@cache
def environments() -> ModuleType:
    """Return `scripts/envs.py`, which knows the environments and where interpreters may be."""
    spec = importlib.util.spec_from_file_location("triage_envs", ROOT / "scripts" / "envs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def missing(name: str) -> str | None:
    """Return why an environment cannot be used, or None; raises AssertionError where CI should have made it."""
    envs = environments()
    if envs.is_complete(name, envs.MATRIX[name]):
        return None
    version = envs.interpreter_version(name)
    exists = envs.find_interpreter(version) is not None
    assert not (exists and os.environ.get("CI")), f"{name} was not made, though Python {version} is there: make envs"
    return f"{name}: {'run `make envs`' if exists else f'no Python {version} on this machine'}"


@pytest.fixture(scope="session")
def env_python() -> Callable[[str], Path]:
    """Return a function from an environment's name to its interpreter; it skips the test, visibly, if there is none."""

    def find(name: str) -> Path:
        reason = missing(name)
        if reason is not None:
            pytest.skip(reason)
        return ROOT / ".envs" / name / "bin" / "python"

    return find
