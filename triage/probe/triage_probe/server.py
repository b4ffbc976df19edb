"""Forked trials: the process that has collected waits for requests, and forks a child for each (`docs/wire.md`).

Everything used between two trials is bound when this module is imported, before anything of the target is.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from . import renewal
from .forkable import Watch, descriptors
from .generators import Generators
from .wire import HIGH

if TYPE_CHECKING:
    from .plan import Plan
    from .recorder import Recorder

LEVELS = "triage_levels"
PIECE = 1 << 16
FAILED, INTERRUPTED, INTERNAL_ERROR, NO_TESTS = 1, 2, 3, 5
"""pytest's exit statuses."""


class Server:
    """A pytest plugin that takes the place of the loop over the tests; each child runs that loop for its own tests."""

    def __init__(self, plan: Plan, recorder: Recorder) -> None:
        assert plan.serve is not None
        self._recorder = recorder
        self._temporary = os.environ.get("TMPDIR", "")
        self._plugins = plan.serve["plugins"]
        self._fork, self._wait, self._read, self._write, self._close = os.fork, os.wait4, os.read, os.write, os.close
        self._waitid, self._exit, self._decode, self._encode = os.waitid, os._exit, json.loads, json.dumps
        self._buffer = b""
        self._line = b""
        self._request: dict[str, Any] = {}  # the last request: most are equal to it
        self._report = lambda error: recorder.fault("server", error)
        self._generators = Generators(self._report)
        self._requests, self._answers, self._out, self._err = (
            high(os.open(plan.serve[name], flags))
            for name, flags in (
                ("requests", os.O_RDONLY), ("answers", os.O_WRONLY), ("out", os.O_WRONLY), ("err", os.O_WRONLY)
            )
        )  # fmt: skip
        self._watch = Watch()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """Serve until nobody wants anything any more; returns only where there is nothing to serve."""
        self._watch.stop()
        if session.testsfailed and not session.config.option.continue_on_collection_errors:
            self._answer({"ready": [f"{session.testsfailed} error(s) during collection"]})
            self._exit(INTERRUPTED)
        self._prepare(session)
        while True:
            line = self._next_line()
            if not line:
                self._exit(0)
            if line != self._line:
                self._line, self._request = line, self._decode(line)
            if "reap" in self._request:
                self._answer({"others": self._reap()})
            else:
                self._serve(session, self._request)

    def _prepare(self, session: pytest.Session) -> None:
        """Make the process ready to be forked, and say what speaks against it."""
        self._items = {item.nodeid: item for item in session.items}
        renewal.release_output(session.config)
        before = self._watch.before
        renewal.redirect(descriptors(), {before[1]: self._out, before[2]: self._err})
        sys.path.insert(0, self._plugins)
        try:
            for name in ("rng_seed", "repeat"):
                import_module(f"{LEVELS}.{name}")
        finally:
            if self._plugins in sys.path:
                sys.path.remove(self._plugins)
        self._captures = renewal.capture_files(session.config)
        own = (*self._recorder.descriptors(), *self._captures)
        reasons = self._watch.reasons(own, self._temporary) + renewal.unfit(session.config)
        self._answer({"ready": reasons, "seeded": self._generators.look(), "items": len(self._items)})

    def _next_line(self) -> bytes:
        while b"\n" not in self._buffer:
            piece = self._read(self._requests, PIECE)
            if not piece:
                return b""
            self._buffer += piece
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _answer(self, content: dict[str, Any]) -> None:
        data = self._encode(content).encode() + b"\n"
        while data:
            data = data[self._write(self._answers, data) :]

    def _serve(self, session: pytest.Session, request: dict[str, Any]) -> None:
        """Fork a child for a request and tell of its end."""
        missing = [id_ for id_ in request["items"] if id_ not in self._items]
        if missing:
            self._answer({"refused": f"`{missing[0]}` was not collected"})
            return
        renewal.empty(self._captures)
        self._recorder.before_fork()
        try:
            pid = self._fork()
        except OSError as error:
            self._answer({"refused": f"no process could be forked: {error.strerror}"})
            return
        if pid == 0:
            status = INTERNAL_ERROR
            try:
                status = self._child(session, request)
            finally:
                self._exit(status)
        # What is written here while the child lives must be copied first, page by page: so little is done, and without frames.
        _, status, usage = self._wait(pid, 0)
        self._recorder.after_fork()
        others = "true" if self._has_children() else "false"
        cpu = usage.ru_utime + usage.ru_stime
        text = f'{{"status":{status},"cpu":{cpu:.6f},"rss":{usage.ru_maxrss},"others":{others}}}\n'
        self._write(self._answers, text.encode())

    def _has_children(self) -> bool:
        """Whether anything that a child had started is left: this process is a subreaper, so it is our child now."""
        try:
            self._waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        return True

    def _reap(self) -> bool:
        """Take in the ends of whatever has ended, and say whether anything is left."""
        try:
            while self._wait(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return False
        return True

    # -- in the child -----------------------------------------------------------------------------------------------

    def _child(self, session: pytest.Session, request: dict[str, Any]) -> int:
        """Run the tests of a request; returns the exit status, and never raises."""
        try:
            for fd in (self._requests, self._answers, self._out, self._err):
                self._close(fd)
            os.setsid()
            self._recorder.begin_again()
        except BaseException:  # noqa: BLE001 - without a wire there is nobody to tell
            return INTERNAL_ERROR
        status = INTERNAL_ERROR
        try:
            self._become_trial(session, request)
            status = run(session, self._apply(session.config, request.get("levels") or []))
        except BaseException as error:  # noqa: BLE001
            self._recorder.fault("server", error)
        self._recorder.session_end(status)
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):  # the target may have put anything there
                stream.flush()
        return status

    def _become_trial(self, session: pytest.Session, request: dict[str, Any]) -> None:
        if request.get("memory"):
            resource.setrlimit(resource.RLIMIT_AS, (request["memory"], request["memory"]))
        self._generators.renew()
        if request.get("hypothesis_seed") is not None:
            renewal.seed_hypothesis(request["hypothesis_seed"], self._report)
        session.items[:] = [self._items[id_] for id_ in request["items"]]
        session.testscollected = len(session.items)

    @staticmethod
    def _apply(config: pytest.Config, words: list[str]) -> list[Any]:
        """Register a plugin for each level, as the levels plugin does at the start of a process of its own."""
        plugins = []
        for word in words:
            name, _, value = word.partition("=")
            plugin = sys.modules[f"{LEVELS}.{name}"].Plugin(value)
            config.pluginmanager.register(plugin, f"{LEVELS}.{name}")
            plugins.append(plugin)
        return plugins


def run(session: pytest.Session, plugins: list[Any]) -> int:
    """Run pytest's loop, or a level's own; returns the exit status that pytest would end with."""
    try:
        for plugin in plugins:
            loop = getattr(plugin, "pytest_runtestloop", None)
            if loop is not None and loop(session):
                break
        else:
            run_items(session)
    except pytest.Session.Failed:
        return FAILED
    except (KeyboardInterrupt, pytest.exit.Exception) as error:
        return int(getattr(error, "returncode", None) or INTERRUPTED)
    if session.testsfailed:
        return FAILED
    return 0 if session.testscollected else NO_TESTS


def run_items(session: pytest.Session) -> None:
    """Run the tests in order, as pytest does."""
    items = session.items
    for position, item in enumerate(items):
        following = items[position + 1] if position + 1 < len(items) else None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)


def high(fd: int) -> int:
    """Move a descriptor to a high number, out of the way of what the target opens."""
    try:
        moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, HIGH)
    except OSError:
        os.set_inheritable(fd, False)  # noqa: FBT003 - it has no name
        return fd
    os.close(fd)
    return moved
