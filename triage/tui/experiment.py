"""The page of one experiment."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Footer

from triage.errors import TriageError
from triage.model.entry import Entry
from triage.model.verdict import Finding, Report, Reproduction
from triage.report import words
from triage.report.escape import command, visible
from triage.session.reader import Reader
from triage.tui import drawing
from triage.tui.live import HELP, QUIT, REFRESH, LiveScreen
from triage.tui.text import Text
from triage.tui.title import Title
from triage.tui.trials import TrialsScreen


class ExperimentScreen(LiveScreen[Report]):
    """The verdict with everything that carries it; grows while the experiment runs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("t", "trials", "Trials", tooltip="list every trial"),
        Binding("c", "copy('reproduction')", "Copy reproduction", tooltip="copy the command that makes the test fail"),
        Binding(
            "C", "copy('counterfactual')", "counterfactual", tooltip="copy the command with which it does not fail"
        ),
        Binding("n", "finding(1)", "Next", tooltip="show the next finding, where there are several"),
        Binding("p", "finding(-1)", "Previous", show=False, tooltip="show the finding before"),
        Binding("escape", "app.pop_screen", "Back", tooltip="go back to the list"),
        REFRESH,
        HELP,
        QUIT,
    ]

    def __init__(self, reader: Reader, entry: Entry) -> None:
        super().__init__(reader)
        self.entry = entry
        self.report: Report | None = None
        self.which = 0

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        yield Title(id="title")
        yield Text(id="page")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Show at once what the list knows."""
        self.query_one(Title).show(visible(self.entry.target), "")
        self.query_one(Text).show(drawing.notice("reading ...", None))
        super().on_mount()

    def look(self) -> Hashable:
        """Return what changes with each trial and with the report."""
        return self.reader.progress(self.entry.experiment)

    def read(self) -> Report:
        """Read the report."""
        return self.reader.load(self.entry.experiment)[0]

    def show(self, value: Report) -> None:
        """Show the report."""
        self.report = value
        self.which = min(self.which, len(self.findings) - 1)
        self.query_one(Title).show(visible(value.target), words.plural(value.trials, "trial"))
        self.query_one(Text).show(drawing.experiment(value, self.which, self.entry, here=str(Path.cwd())))
        self.refresh_bindings()

    def complain(self, error: TriageError) -> None:
        """Tell the error in the place of the page."""
        self.report = None
        self.query_one(Text).show(
            drawing.notice(f"error: {error.message}", f"hint: {error.hint}" if error.hint else None)
        )
        self.refresh_bindings()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings that can be looked at; none before the report was read."""
        return (self.report.findings or (self.report,)) if self.report else ()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only the keys that do something here."""
        if action == "finding":
            return len(self.findings) > 1
        if action == "copy":
            return self._command(str(parameters[0])) is not None
        return True

    def action_trials(self) -> None:
        """Show the trials."""
        self.app.push_screen(TrialsScreen(self.reader, self.entry))

    def action_finding(self, by: int) -> None:
        """Show another finding, from its beginning."""
        self.which = (self.which + by) % len(self.findings)
        if self.report:
            self.show(self.report)
            self.query_one(Text).scroll_home(animate=False)

    def action_copy(self, name: str) -> None:
        """Put a command on the terminal's clipboard and say so."""
        found = self._command(name)
        if found:
            self.app.copy_to_clipboard(command(found.command))
            self.notify(f"The {name} command was sent to the terminal's clipboard.", markup=False)

    def _command(self, name: str) -> Reproduction | None:
        if not self.findings:
            return None
        finding = self.findings[self.which]
        return finding.reproduction if name == "reproduction" else finding.counterfactual
