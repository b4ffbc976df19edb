"""The plugin object: pytest's hooks to events.

All hooks observe; none changes a report, an item or the order of anything. The wrappers are of the older kind
(`hookwrapper`), the only one that pytest 7 to 9 all know.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, Generator

import pytest

from . import caches, describe
from .crash import CrashFile
from .facts import Facts
from .failure import FailureReader
from .plan import VERSION, Plan
from .wire import Guard, Wire, clean, quote

if TYPE_CHECKING:
    Wrapper = Generator[None, Any, None]


PHASES = ("setup", "call", "teardown", "???")
"""The last one is that of the report which xdist makes up for a test whose worker died."""


class Recorder:
    """Writes events for one process."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._wire = Wire(plan.wire, plan.text_limit)
        worker = {"worker": clean(plan.worker)} if plan.worker else {}
        self._wire.emit("hello", **self._hello(), **worker)
        self._guard = Guard(self._wire)
        self._crash: CrashFile | None = None
        self._facts: Facts | None = None
        with self._guard:
            if plan.crash:
                self._crash = CrashFile(plan.crash)
        with self._guard:
            if plan.facts or plan.reach:
                self._facts = Facts(self._reaches, counting=plan.facts)
        with self._guard:
            if plan.cache:
                caches.move_hypothesis(plan.cache, lambda error: self._wire.internal_error("hypothesis", error))
        self._failures = FailureReader(self._wire.cut)
        self._report_type = pytest.TestReport
        self._pending: dict[tuple[str, str], dict[str, Any]] = {}
        self._collected = 0
        self._started: dict[str, int] = {}
        self._active: dict[str, int] = {}
        self._current = ""
        self._quoted = ""

    @staticmethod
    def _hello() -> dict[str, Any]:
        return {
            "v": VERSION,
            "pid": os.getpid(),
            "python": sys.version.split()[0],
            "implementation": sys.implementation.name,
            "pytest": pytest.__version__,
            "free_threaded": "t" in getattr(sys, "abiflags", ""),
        }

    def _reaches(self, kind: str, text: str) -> None:
        """Record at once what reaches out, for the test that runs; an empty id where none does (imports, fixtures at the end)."""
        current = self._current if self._active else ""
        self._wire.tell("reach", f'"id":{quote(clean(current))},{quote(kind)}:[{quote(clean(text))}]')

    # -- forked trials ---------------------------------------------------------------------------------------------

    def descriptors(self) -> list[int]:
        """Return the descriptors that are ours."""
        return [self._wire.fileno(), *(self._crash.descriptors() if self._crash is not None else ())]

    def before_fork(self) -> None:
        """In a server: the next child is a trial, and a crash of it belongs in our file."""
        if self._crash is not None:
            self._crash.next_is_trial = True

    def after_fork(self) -> None:
        """In the server again: other children are none."""
        if self._crash is not None:
            self._crash.next_is_trial = False

    def begin_again(self) -> None:
        """In a forked child: record a trial of its own."""
        self._wire.begin_again()

    def fault(self, where: str, error: BaseException) -> None:
        """Record a fault of pytest, of a plugin or of ours that ended the session."""
        self._wire.internal_error(where, error)

    def session_end(self, status: int) -> None:
        """Record the end of a session that no hook tells of."""
        with self._guard:
            self._wire.emit("session_end", status=status)
            self._arm()
            self._wire.emit("end")

    # -- the start ---------------------------------------------------------------------------------------------------

    def _arm(self) -> None:
        if self._crash is not None and self._wire.in_own_process:
            self._crash.arm()

    # -- configuration and collection ------------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> Wrapper:
        """Move the cache before any conftest can ask for it; record a conftest that cannot be imported."""
        with self._guard:
            if self._plan.cache:
                caches.move_pytest_cache(early_config, self._plan.cache)
        outcome = yield
        with self._guard:
            if outcome.excinfo is not None:
                error = outcome.excinfo[1]
                where = getattr(error, "path", "conftest.py")
                cause = getattr(error, "cause", None) or getattr(error, "__cause__", None) or error
                text = f"{type(cause).__name__}: {cause}"
                self._wire.emit("collect_error", id=clean(str(where)), text=self._wire.cut(text))

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        """After pytest's own plugins, which point `faulthandler` at stderr."""
        with self._guard:
            self._arm()
        with self._guard:
            if self._plan.cache:
                caches.check_pytest_cache(config, self._plan.cache)
        with self._guard:
            root = str(config.rootpath)
            self._failures.set_root(root)
            inifile = None if config.inipath is None else clean(str(config.inipath))
            self._wire.emit("configured", root=clean(root), inifile=inifile, plugins=describe.plugins(config))
        distributes = getattr(config.option, "numprocesses", None) or getattr(config.option, "tx", None)
        if distributes and not hasattr(config, "workerinput"):
            from .workers import Controller  # noqa: PLC0415 - only who has workers pays for it

            controller = Controller(self, self._wire, self._guard, self._plan)
            config.pluginmanager.register(controller, "triage_probe_controller")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Record what could not be collected."""
        with self._guard:
            if report.failed:
                self._wire.emit("collect_error", id=clean(report.nodeid), text=self._wire.cut(report.longreprtext))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Count before anything is deselected, also by plugins that do not say so."""
        self._collected = len(items)

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Record what is going to run, after every plugin had its say."""
        with self._guard:
            self._record_collected([clean(item.nodeid) for item in session.items], self._collected, session)
        with self._guard:
            if self._plan.collect:
                self._wire.emit("packages", packages=describe.packages())

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: Any, ids: Any) -> None:
        """With xdist's workers the collection is theirs; all collect the same or xdist stops."""
        with self._guard:
            if getattr(node, "gateway", None) is not None and node.gateway.id == "gw0":
                self._record_collected([clean(str(id_)) for id_ in ids], len(ids), None)

    def _record_collected(self, ids: Any, count: int, session: pytest.Session | None) -> None:
        more = {}
        if self._plan.collect and session is not None:
            more["items"] = describe.items(session.items, clean)
        self._wire.emit("collected", count=count, selected=len(ids), digest=describe.digest(ids), **more)

    # -- tests -----------------------------------------------------------------------------------------------------

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Wrapper:
        """Bracket everything that belongs to one test, whoever runs its protocol."""
        try:
            self._arm()
            self.start(item.nodeid)
            if self._facts is not None:
                self._facts.reset()
        except Exception as error:  # noqa: BLE001 - as everywhere here: our faults are not the target's
            self._wire.internal_error("start", error)
        outcome = yield
        try:
            if outcome.excinfo is None:
                if self._facts is not None and self._plan.facts:
                    self._wire.emit("facts", id=clean(item.nodeid), **self._facts.take())
                self.finish(item.nodeid)
            self._active.pop(item.nodeid, None)
        except Exception as error:  # noqa: BLE001
            self._wire.internal_error("finish", error)

    def start(self, nodeid: str) -> None:
        """Record that a test starts."""
        self._pending.clear()
        index = self._started[nodeid] = self._started.get(nodeid, 0) + 1
        self._active[nodeid] = index
        self._current = nodeid
        self._quoted = f'"id":{quote(clean(nodeid))},"index":{index}'
        self._wire.write("start", self._quoted)

    def finish(self, nodeid: str) -> None:
        """Record that a test has ended, if it has started."""
        index = self._active.pop(nodeid, None)
        if index is not None:
            same = nodeid == self._current
            self._wire.write("finish", self._quoted if same else f'"id":{quote(clean(nodeid))},"index":{index}')

    def pytest_runtest_makereport(self, item: pytest.Item, call: Any) -> None:
        """Read the exception while it is there; its report is recorded when it is logged, with its final outcome.

        Called after pytest's unittest plugin, which puts the exception into `call`, and before the report is made.
        """
        if call.excinfo is None:
            return
        with self._guard:
            self._arm()
            if self._wire.in_own_process and not isinstance(call.excinfo.value, pytest.skip.Exception):
                failure = self._failures.from_exception(call.excinfo.value, call.excinfo.tb)
                self._pending[item.nodeid, call.when] = failure

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Record a phase as pytest and its plugins see it in the end."""
        try:
            seconds, when = report.duration, report.when
            if (
                report.outcome == "passed"
                and type(report) is self._report_type
                and report.nodeid == self._current
                and type(seconds) is float
                and "wasxfail" not in report.__dict__
            ):  # by far the most frequent, and every test waits for it
                told = (
                    f'"outcome":"passed","seconds":{int(seconds * 1e9)}e-9,"xfail":false,"reason":null,"failure":null'
                )
                self._wire.write("phase", f'{self._quoted},"when":"{when}",{told}')
                if when == "setup":
                    self._arm()  # after a fixture of the target that enabled faulthandler itself
            elif self._wire.in_own_process:
                self._record_phase(report)
        except Exception as error:  # noqa: BLE001
            self._wire.internal_error("phase", error)

    def _record_phase(self, report: Any) -> None:
        subtest = type(report).__name__.lower() == "subtestreport"
        if subtest and report.outcome != "failed":
            return  # the test's own report says what the subtests come to
        failure = None
        if report.outcome not in ("passed", "skipped"):
            known = self._pending.pop((report.nodeid, report.when), None)
            failure = known or self._failures.from_report(report)
            failure["text"] = self._wire.cut(str(report.longreprtext))
        seconds = getattr(report, "duration", 0.0)
        self._wire.emit(
            "phase",
            id=clean(report.nodeid),
            index=self._active.get(report.nodeid, self._started.get(report.nodeid, 0)),
            when=report.when if report.when in PHASES else "call",
            outcome=str(report.outcome),
            seconds=float(seconds) if isinstance(seconds, (int, float)) else 0.0,
            xfail=hasattr(report, "wasxfail"),
            reason=self._reason(report),
            failure=failure,
            **({"subtest": True} if subtest else {}),
        )

    def _reason(self, report: Any) -> str | None:
        if hasattr(report, "wasxfail"):
            return self._wire.cut(str(report.wasxfail))
        if report.outcome == "skipped":
            longrepr = report.longrepr
            text = str(longrepr[2] if isinstance(longrepr, tuple) and len(longrepr) == 3 else longrepr)
            return self._wire.cut(text[len("Skipped: ") :] if text.startswith("Skipped: ") else text)
        return None

    # -- the end ---------------------------------------------------------------------------------------------------

    def pytest_internalerror(self, excrepr: Any) -> None:
        """Record a fault of pytest or of a plugin."""
        with self._guard:
            self._wire.emit("internal_error", text=self._wire.cut(str(excrepr)))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Wrapper:
        """After every other plugin: some change the exit status."""
        yield
        with self._guard:
            self._wire.emit("session_end", status=int(session.exitstatus))

    @pytest.hookimpl(trylast=True)
    def pytest_unconfigure(self) -> None:
        """After pytest's own plugin, which turns `faulthandler` off; the interpreter's end is still to come."""
        with self._guard:
            self._arm()
            self._wire.emit("end")
