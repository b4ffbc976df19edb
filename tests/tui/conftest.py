"""The terminal application on real histories, driven by Textual's Pilot, which needs no terminal."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tui_driving import NARROW, SEED, Driver, make_finding, make_report, make_trial

from triage.model.trial import Trial
from triage.model.verdict import Finding
from triage.store.history import History
from triage.tui.app import TriageApp


@pytest.fixture
def drive(tmp_path: Path) -> Callable[..., None]:
    """Run a coroutine function with a `Driver` of the application on the project in `tmp_path`."""

    def run(script: Callable[[Driver], Awaitable[None]], size: tuple[int, int] = NARROW) -> None:
        async def main() -> None:
            app = TriageApp(tmp_path)
            app.animation_level = "none"  # scrolling would take a second and be redrawn sixty times
            try:
                async with app.run_test(size=size, notifications=True) as pilot:
                    driver = Driver(app, pilot)
                    await driver.settle()
                    await script(driver)
            finally:
                app.reader.close()

        asyncio.run(main())

    return run


@pytest.fixture
def history(tmp_path: Path) -> Iterator[History]:
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    with History(tmp_path / ".triage" / "history.db") as opened:
        yield opened


@pytest.fixture
def record(history: History) -> Callable[..., str]:
    """Record a finished experiment and return its id."""

    def add(target: str = "t.py::test_b", *findings: Finding, trials: tuple[Trial, ...] = (), **changes: Any) -> str:
        experiment = history.start(target, "/elsewhere/project")
        history.add(experiment, *(trials or (make_trial(), make_trial(number=2, arm=SEED))))
        history.finish(experiment, make_report(experiment, target, *(findings or (make_finding(),)), **changes))
        return experiment

    return add
