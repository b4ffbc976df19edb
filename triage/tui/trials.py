"""The trials of an experiment, and one of them in full."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer

from triage.model.entry import Entry
from triage.model.trial import Trial
from triage.report.escape import command, visible
from triage.report.trials import NO_TRIAL
from triage.session.reader import Reader
from triage.tui import drawing, listing
from triage.tui.filtered import FilteredScreen
from triage.tui.live import HELP, QUIT
from triage.tui.rows import Rows
from triage.tui.table import Table
from triage.tui.text import Text
from triage.tui.title import Title


class Listed(NamedTuple):
    """What was read: the trials and the table that they make."""

    trials: tuple[Trial, ...]
    table: Table


class TrialsScreen(FilteredScreen[Listed]):
    """Every trial, controls too, in the order in which they were recorded."""

    THING = "trial"
    trials: tuple[Trial, ...] = ()

    def __init__(self, reader: Reader, entry: Entry) -> None:
        super().__init__(reader)
        self.entry = entry

    def look(self) -> Hashable:
        """Return what changes with each trial."""
        return self.reader.progress(self.entry.experiment)

    def read(self) -> Listed:
        """Read the trials."""
        trials = self.reader.load(self.entry.experiment)[1]
        return Listed(trials, listing.of_trials(trials))

    def show(self, value: Listed) -> None:
        """Show the trials."""
        self.trials, self.table = value
        self.again()

    def again(self) -> None:
        """Show the trials through the filter."""
        self.present(f"trials of {visible(self.entry.target)}", (NO_TRIAL, None))

    def back(self) -> None:
        """Return to the experiment."""
        self.dismiss()

    @on(Rows.Chosen)
    def _chosen(self, message: Rows.Chosen) -> None:
        self.app.push_screen(TrialScreen(self.entry, self.trials[int(message.key)]))


class TrialScreen(Screen[None]):
    """One trial: what it was asked, how it ended, its failure and its output."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "copy", "Copy command", tooltip="copy the command of the trial"),
        Binding("escape", "app.pop_screen", "Back", tooltip="go back to the trials"),
        HELP,
        QUIT,
    ]

    def __init__(self, entry: Entry, trial: Trial) -> None:
        super().__init__()
        self.entry = entry
        self.trial = trial

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        yield Title(id="title")
        yield Text(id="page")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Show the trial."""
        self.query_one(Title).show(f"trial {self.trial.number} of {visible(self.entry.target)}", "")
        self.query_one(Text).show(drawing.one_trial(self.trial))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only the keys that do something here."""
        del parameters
        return action != "copy" or bool(self.trial.command)

    def action_copy(self) -> None:
        """Put the command on the terminal's clipboard and say so."""
        self.app.copy_to_clipboard(command(self.trial.command))
        self.notify("The trial's command was sent to the terminal's clipboard.", markup=False)
