"""A driver for the application, and experiments to record."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rich.cells import cell_len
from textual.widgets import Input

from triage.model.arm import BASELINE, Arm, Level
from triage.model.outcome import Outcome
from triage.model.trial import Failure, Frame, Stage, Trial
from triage.model.verdict import (
    Culprit,
    Environment,
    Evidence,
    Finding,
    Hypothesis,
    Rate,
    Report,
    Reproduction,
    Strength,
    Trigger,
    Verdict,
)
from triage.stats.intervals import clopper_pearson
from triage.tui.app import TriageApp
from triage.tui.rows import Rows
from triage.tui.text import Text

NARROW, WIDE = (80, 24), (200, 50)
PATIENCE = 60.0
"""Seconds after which a test gives up waiting for something to be shown."""


class Driver:
    """Presses keys and looks at what is shown."""

    def __init__(self, app: TriageApp, pilot: Any) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def rows(self) -> Rows:
        return self.app.screen.query_one(Rows)

    @property
    def page(self) -> str:
        """The whole text of the page, also what is scrolled away."""
        return self.app.screen.query_one("#page", Text).plain

    @property
    def notice(self) -> str:
        """What is said in the place of the rows; empty where there are rows."""
        notice = self.app.screen.query_one("#notice", Text)
        return notice.plain if notice.display else ""

    @property
    def lines(self) -> list[str]:
        """The screen as it is seen."""
        return ["".join(segment.text for segment in strip) for strip in self.app.screen._compositor.render_strips()]

    @property
    def seen(self) -> str:
        return "\n".join(self.lines)

    @property
    def targets(self) -> list[str]:
        """The first cell of each row, seen or not."""
        return [row.cells[0].text for row in self.rows.table.rows]

    @property
    def footer(self) -> str:
        return self.lines[-1]

    @property
    def said(self) -> list[str]:
        """Notifications that are shown."""
        return [note.message for note in self.app._notifications]

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.settle()

    async def filter(self, text: str) -> None:
        """Open the filter and paste a text into it."""
        await self.press("slash")
        self.app.screen.query_one(Input).insert_text_at_cursor(text)
        await self.settle()

    async def settle(self) -> None:
        """Wait until what is being read is shown."""
        await self.app.workers.wait_for_complete()
        await self.pilot.pause()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for what another process or the clock brings about."""
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < deadline, f"not seen:\n{self.seen}"
            await self.pilot.pause(0.05)

    def check_layout(self) -> None:
        """Every line is as wide as the screen, and nothing in it would move the cursor of a terminal."""
        width, height = self.app.size
        assert len(self.lines) == height
        assert {cell_len(line) for line in self.lines} == {width}
        assert all(char.isprintable() for line in self.lines for char in line)


def make_trial(**changes: Any) -> Trial:
    values: dict[str, Any] = {
        "arm": BASELINE,
        "stage": Stage.SCREEN,
        "outcome": Outcome.FAILED,
        "number": 1,
        "failure": Failure(
            phase="call",
            exception="ValueError",
            message="bad [red]",
            frames=(Frame("/p/cart.py", 12, "total"),),
            text="def test_b():\n>   assert [bold]\nE   ValueError: bad [red]",
        ),
        "sequence": ("t.py::test_a", "t.py::test_b"),
        "stdout": "printed [red]by[/red] \x1b[31mthe test\tand\rmore\n",
        "stderr": "and on standard error",
        "command": "python -m pytest 't.py::test_b'",
        "python": "3.11.7",
        "started": 1_800_000_000.0,
        "wall_seconds": 0.5,
    }
    return Trial(**{**values, **changes})


SEED = Arm((Level(factor="hash_seed", value="3"),))


def make_rate(arm: str, failed: int, trials: int) -> Rate:
    low, high = clopper_pearson(failed, trials)
    return Rate(arm=arm, failed=failed, trials=trials, low=low, high=high)


def make_finding(**changes: Any) -> Finding:
    values: dict[str, Any] = {
        "verdict": Verdict.UNDETERMINED,
        "strength": Strength.SUPPORTED,
        "summary": "The hash seed decides whether the test fails.",
        "signature": "AssertionError at t.py:31 in test_b",
        "culprits": (Culprit(role="product", file="shop/book.py", lines=(4, 5), what="iterates over a set"),),
        "trigger": Trigger(factor="hash_seed", level="3"),
        "rates": (
            make_rate("hash_seed=3", 12, 12),
            make_rate("baseline", 11, 40),
            make_rate("hash_seed=0", 0, 12),
            make_rate("repeat=20", 3, 3),
        ),
        "reproduction": Reproduction(command="PYTHONHASHSEED=3 python -m pytest 't.py::test_b'", failed=20, trials=20),
        "counterfactual": Reproduction(command="PYTHONHASHSEED=0 python -m pytest 't.py::test_b'", failed=0, trials=20),
        "evidence": (Evidence(kind="operands", statement="The operands are equal as multisets."),),
        "hypotheses": (
            Hypothesis(verdict=Verdict.WRONG_TEST, cause="order_assumption", missing="whether an order is promised"),
        ),
        "not_established": ("who is wrong",),
        "next": "Say in the docstring whether the order counts.",
    }
    return Finding(**{**values, **changes})


def make_report(experiment: str, target: str, *findings: Finding, **changes: Any) -> Report:
    headline = findings[0]
    values: dict[str, Any] = {
        "experiment": experiment,
        "target": target,
        "findings": findings,
        "environment": Environment(python=("3.11.7",), pytest="9.2.0", platform="Linux-6.8.0"),
        "trials": 2,
        "wall_seconds": 1.5,
        "takeovers": ("pytest-rerunfailures: switched off, it hides failures",),
        "root": "/elsewhere/project",
    }
    return Report(**{name: getattr(headline, name) for name in Finding.__struct_fields__}, **{**values, **changes})
