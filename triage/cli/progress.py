"""The live display of an experiment on a terminal: arms, rates with intervals, and what is being done now."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from triage.model.claim import ArmCount
from triage.model.events import (
    Event,
    ExperimentFinished,
    ExperimentStarted,
    Noted,
    Preparing,
    TrialFinished,
    TrialStarted,
)
from triage.model.trial import Stage
from triage.stats.clusters import rate_interval

MOST_ROWS = 12
BAR = 20
STAGES = {
    Stage.CONTROL: "controls",
    Stage.SCOUT: "a first look",
    Stage.SCREEN: "screen",
    Stage.FOCUS: "focus",
    Stage.CONFIRM: "confirm",
    Stage.PLAIN: "confirm without the probe",
}


class Progress:
    """An event sink. On a terminal it draws and wipes itself at the end; elsewhere it says nothing but notes."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True, highlight=False)
        self._live: Live | None = None
        self._title = ""
        self._doing = ""
        self._stage: Stage | None = None
        self._counts: tuple[ArmCount, ...] = ()
        self._trials = 0
        self._seconds = 0.0
        self._budget = 0.0

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._start()
        return self

    def _start(self) -> None:
        self._live = Live(
            console=self.console,
            get_renderable=self._draw,
            refresh_per_second=4,
            transient=True,
            redirect_stdout=False,
        )
        self._live.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()
            self._live = None

    def __call__(self, event: Event) -> None:
        """Take one event in."""
        match event:
            case Preparing(doing):
                self._doing = doing
            case ExperimentStarted():
                which = f" ({event.number} of {event.of})" if event.of > 1 else ""
                self._title, self._budget = f"{event.target}{which}", event.budget_seconds
                self._counts, self._trials, self._seconds = (), 0, 0.0
            case TrialStarted():
                self._doing, self._stage = event.doing, event.stage
            case TrialFinished():
                self._counts, self._seconds = event.counts, event.seconds
                self._trials = event.trials
            case Noted(text):
                self.console.print(f"note: {text}", markup=False, soft_wrap=True)
            case ExperimentFinished():
                self._counts = ()

    def aside(self, write: Callable[[], None]) -> None:
        """Wipe the display, let `write` use the terminal, and go on."""
        live = self._live
        if live:
            live.stop()
        write()
        if live:  # a new one: the old one would wipe as many lines as it had before
            self._start()

    def _draw(self) -> RenderableType:
        lines: list[RenderableType] = []
        if self._title:
            lines.append(Text(self._title, style="bold", no_wrap=True, overflow="ellipsis"))
        if self._counts:
            lines.append(self._table())
        if self._budget:
            stage = STAGES.get(self._stage, "") if self._stage else "preparing"
            lines.append(Text(f"{stage} · {self._trials} trials · {self._seconds:.0f} of {self._budget:.0f} s"))
        if self._doing:
            lines.append(Text.from_markup(f"[dim]{escape(self._doing)}[/dim]", overflow="ellipsis"))
        return Group(*lines)

    def _table(self) -> Table:
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
        numbers = 52  # columns that the others take
        width = max(16, min(60, self.console.width - numbers))
        table.add_column("arm", no_wrap=True, overflow="ellipsis", max_width=width)
        table.add_column("failed", justify="right", no_wrap=True)
        table.add_column("rate", justify="right", no_wrap=True)
        table.add_column("0 to 100%, 95% interval", no_wrap=True)
        tried = [count for count in self._counts if count.trials]
        worst = sorted(tried, key=lambda count: (bool(count.arm.levels), -count.rate, -count.trials))
        for count in worst[:MOST_ROWS]:
            table.add_row(
                Text(count.arm.label), f"{count.failed}/{count.trials}", f"{count.rate:.0%}", interval_bar(count)
            )
        if len(worst) > MOST_ROWS:
            rest = worst[MOST_ROWS:]
            failed, trials = sum(c.failed for c in rest), sum(c.trials for c in rest)
            table.add_row(f"{len(rest)} more arms", f"{failed}/{trials}", "", "")
        return table


def interval_bar(count: ArmCount, width: int = BAR) -> Text:
    """Draw the 95% interval of a rate on a line from 0 to 100%, with the rate itself marked."""
    if not count.trials:
        return Text("·" * width, style="dim")
    low, high = rate_interval(count.failed, count.trials, count.clusters)
    first, last = int(low * (width - 1)), round(high * (width - 1))
    mark = round(count.rate * (width - 1))
    cells = ["·"] * width
    for cell in range(first, last + 1):
        cells[cell] = "━"
    cells[mark] = "┃"
    return Text("".join(cells), style="red" if count.failed else "green")


def progress_for_stderr() -> Progress:
    """Return the display for this process; it stays silent where standard error is no terminal."""
    return Progress(Console(stderr=True, highlight=False, force_terminal=None if sys.stderr.isatty() else False))
