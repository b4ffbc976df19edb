"""The first screen: every experiment of the history, latest first."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import NamedTuple

from textual import on

from triage.model.entry import Entry, State
from triage.report.escape import visible
from triage.report.trials import NOTHING_YET
from triage.session.reader import Reader
from triage.tui import drawing, listing
from triage.tui.experiment import ExperimentScreen
from triage.tui.filtered import FilteredScreen
from triage.tui.rows import Rows
from triage.tui.table import Table
from triage.tui.text import Text

MOST = 5000
"""Experiments that are listed; `triage history` has the others."""


class Listed(NamedTuple):
    """What was read: the experiments and the table that they make."""

    entries: dict[str, Entry]
    table: Table


class ExperimentsScreen(FilteredScreen[Listed]):
    """A table with, below it, the experiment under the cursor in short."""

    THING = "experiment"
    has_preview = True
    leads_back = False

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        self.entries: dict[str, Entry] = {}

    def look(self) -> Hashable:
        """Return what changes when somebody writes; while an experiment runs, its process may also just end."""
        running = any(entry.state is State.RUNNING for entry in self.entries.values())
        return object() if running else self.reader.stamp()

    def read(self) -> Listed:
        """Read the list."""
        entries = self.reader.entries(MOST)
        return Listed({entry.experiment: entry for entry in entries}, listing.experiments(entries))

    def show(self, value: Listed) -> None:
        """Show the list."""
        self.entries, self.table = value
        self.again()

    def again(self) -> None:
        """Show the list through the filter."""
        folder = visible(str(_project(self.reader.path)))
        self.present(f"triage: {folder}", (NOTHING_YET, f"looked in {folder}; each project keeps its own history"))

    @on(Rows.Moved)
    def _moved(self, message: Rows.Moved) -> None:
        entry = self.entries.get(message.key or "")
        if entry:
            self.query_one("#preview", Text).show(drawing.in_short(entry))

    @on(Rows.Chosen)
    def _chosen(self, message: Rows.Chosen) -> None:
        self.app.push_screen(ExperimentScreen(self.reader, self.entries[message.key]))


def _project(history: Path) -> Path:
    return history.parent.parent
