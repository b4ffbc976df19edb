"""pytest-xdist: the probe in every worker, and what its controller alone can tell of them.

A worker is a process of its own that imports pytest and its plugins anew. xdist starts it through execnet, which sets the
variables of its `spec.env` before that; so each worker finds the plan, and writes its own files beside those of the
controller. A replacement of a worker that died is made from the same spec and gets the same variables.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from .plan import FOLDER, PACKAGE, VARIABLE, WORKER, Plan

if TYPE_CHECKING:
    from .recorder import Recorder
    from .wire import Guard, Wire

PATIENCE = 2.0
"""Seconds that a worker whose pipe has closed may take to be gone; it is writing its core file, or it closed the pipe itself."""


class Controller:
    """In xdist's controller, where no protocol runs: tests start and end in workers."""

    def __init__(self, recorder: Recorder, wire: Wire, guard: Guard, plan: Plan) -> None:
        self._recorder = recorder
        self._wire = wire
        self._guard = guard
        self._plan = plan
        self._gateways: list[Any] = []
        self._told: set[str] = set()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_setupnodes(self, specs: list[Any]) -> None:
        """Let the workers on this machine load the probe."""
        with self._guard:
            paths = getattr(sys.modules.get("xdist.plugin"), "_sys_path", None)
            if isinstance(paths, list) and FOLDER not in paths:
                paths.append(FOLDER)
            plugins = os.environ.get("PYTEST_PLUGINS")
            for spec in specs:
                if getattr(spec, "popen", None):
                    spec.env[VARIABLE] = WORKER + self._plan.path
                    spec.env["PYTEST_PLUGINS"] = f"{plugins},{PACKAGE}" if plugins else PACKAGE

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_newgateway(self, gateway: Any) -> None:
        """A worker was started; also one that replaces another."""
        self._gateways.append(gateway)

    @pytest.hookimpl(optionalhook=True, tryfirst=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """A worker has ended: by itself, or before it had said goodbye."""
        with self._guard:
            if error:
                self._tell(node.gateway, str(error), PATIENCE)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """A test has started in a worker."""
        with self._guard:
            self._recorder.start(nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        """A test has ended in a worker."""
        with self._guard:
            self._recorder.finish(nodeid)

    def pytest_unconfigure(self) -> None:
        """By now xdist has ended its workers and waited for them."""
        with self._guard:
            for gateway in self._gateways:
                self._tell(gateway, None, 0.0)

    def _tell(self, gateway: Any, error: str | None, patience: float) -> None:
        name = str(gateway.id)
        if name in self._told:
            return
        self._told.add(name)
        process = getattr(getattr(gateway, "_io", None), "popen", None)
        status = None
        if process is not None:
            try:
                status = process.wait(patience) if patience else process.poll()
            except subprocess.TimeoutExpired:
                status = None
        self._wire.emit("worker", id=name, status=status, error=None if error is None else self._wire.cut(error))
