"""The recorder: a pytest plugin that writes down what the target does and changes nothing (`docs/wire.md`).

Loaded by `PYTEST_PLUGINS=triage_probe`; without a plan in `TRIAGE_PROBE` it is inert. Everything that it calls while a
test runs is bound when it is imported and kept in instances, where neither a mock of `os`, `time`, `json` or `open`
nor a tool that replaces functions in all modules (a frozen clock, a fake file system) reaches it.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .plan import take_plan

PLAN = take_plan()  # before anything else, so that nothing of the target sees our variables

if TYPE_CHECKING:
    import pytest

    from .recorder import Recorder


def _start() -> Recorder | None:
    if PLAN is None:
        return None
    try:
        from .recorder import Recorder  # noqa: PLC0415 - the environment is put back first

        return Recorder(PLAN)
    except Exception as error:  # noqa: BLE001 - the target runs on; without a `hello` the trial counts as broken
        sys.stderr.write(f"triage_probe: not recording: {type(error).__name__}: {error}\n")
        return None


_RECORDER = _start()


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    """Register the recorder: the first hook that pytest calls on a plugin, at once after importing it."""
    if _RECORDER is not None:
        pluginmanager.register(_RECORDER, "triage_probe_recorder")
        if PLAN is not None and PLAN.serve:
            from .server import Server  # noqa: PLC0415 - only what serves pays for it

            pluginmanager.register(Server(PLAN, _RECORDER), "triage_probe_server")
