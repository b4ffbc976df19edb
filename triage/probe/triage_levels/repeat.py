"""`repeat=K`: every selected test runs K times in a row, setup and teardown included, until it does not pass.

Only pytest's loop over the items is ours; each execution is pytest's own protocol, with whatever plugins do to it.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import copy
from typing import Any

import pytest


class Plugin:
    """Runs the loop."""

    def __init__(self, value: str) -> None:
        if not value.isdigit() or int(value) < 1:
            raise ValueError("a number of repetitions is a whole number from 1")
        self.times = int(value)
        self._passing = True

    def pytest_configure(self, config: pytest.Config) -> None:
        """Refuse xdist's workers: they have a loop of their own."""
        if hasattr(config, "workerinput") or getattr(config.option, "numprocesses", None):
            raise pytest.UsageError("TRIAGE_LEVELS: `repeat` needs one process; add `-n 0`")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        """Notice whatever is not a plain pass, also in a subtest."""
        if report.outcome != "passed" or hasattr(report, "wasxfail"):
            self._passing = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        """As pytest's own, but for the repetitions."""
        if self.times == 1 or session.config.option.collectonly:
            return None
        if session.testsfailed and not session.config.option.continue_on_collection_errors:
            return None  # pytest's own loop says so
        for position, item in enumerate(session.items):
            following = session.items[position + 1] if position + 1 < len(session.items) else None
            self._run(session, item, following)
        return True

    def _run(self, session: pytest.Session, item: pytest.Item, following: pytest.Item | None) -> None:
        fresh = Fresh(item)
        for time in range(self.times):
            self._passing = True
            last = time + 1 == self.times
            upcoming = following if last else self._again(item, following)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=upcoming)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)
            if session.shouldstop:
                raise session.Interrupted(session.shouldstop)
            if last:
                return
            if not self._passing:
                self._catch_up(session, item, following)
                return
            fresh.restore()

    def _again(self, item: pytest.Item, following: pytest.Item | None) -> pytest.Item:
        """Return the next item of an execution that is to be repeated.

        pytest tears down what the next item does not need. A copy of the item needs all but the item itself; once
        the execution has not passed there will be no repetition, and the item that really follows counts.
        """
        upcoming = copy.copy(item)
        chain = upcoming.listchain

        def listchain() -> list[Any]:
            if self._passing:
                return chain()
            return [] if following is None else following.listchain()

        upcoming.listchain = listchain  # type: ignore[method-assign]
        return upcoming

    def _catch_up(self, session: pytest.Session, item: pytest.Item, following: pytest.Item | None) -> None:
        """Tear down what only the repetitions needed, where the failure was noticed too late for pytest to do it."""
        call = pytest.CallInfo.from_call(lambda: session._setupstate.teardown_exact(following), when="teardown")  # noqa: SLF001
        if call.excinfo is not None:
            report = item.ihook.pytest_runtest_makereport(item=item, call=call)
            item.ihook.pytest_runtest_logreport(report=report)


class Fresh:
    """What an execution leaves on an item beyond what pytest itself renews (`funcargs` and the request)."""

    def __init__(self, item: pytest.Item) -> None:
        self._item = item
        self._marks = list(item.own_markers)
        self._properties = list(item.user_properties)
        doctest: Any = getattr(item, "dtest", None)
        self._globals = None if doctest is None else dict(doctest.globs)

    def restore(self) -> None:
        """Make the item as it was collected."""
        item: Any = self._item
        item.own_markers[:] = self._marks
        item.user_properties[:] = self._properties
        item._report_sections[:] = []  # noqa: SLF001 - captured output of the execution before
        if self._globals is not None:
            item.dtest.globs = dict(self._globals)  # doctest clears them after a run
        if isinstance(item, pytest.Function):
            forget_instance(item)


def forget_instance(item: Any) -> None:
    """Make pytest build a new instance of the test class: it keeps the one it has for as long as the item lives."""
    owner = item.cls
    if owner is None:
        return
    bound = getattr(getattr(item, "_obj", None), "__self__", None)
    if isinstance(bound, owner) or isinstance(getattr(item, "_instance", None), owner):
        item.__dict__.pop("_instance", None)  # pytest 8.2 and later
        item._obj = None  # noqa: SLF001 - the method bound to it
