"""`triage tui`: the application, which holds the reader and the screens."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from triage.errors import ExitCode, UsageError
from triage.session.reader import Reader
from triage.tui.experiments import ExperimentsScreen
from triage.tui.help import HelpScreen


class TriageApp(App[None]):
    """Looks through the history of the project around a folder."""

    TITLE = "triage"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", show=False, priority=True, tooltip="quit"),
    ]
    CSS = """
    #rows, #page, #notice { height: 1fr; }
    #preview { height: 8; border-top: solid $panel; }
    #filter { margin: 0 1; }
    """

    def __init__(self, cwd: Path) -> None:
        super().__init__()
        self.reader = Reader(cwd)

    def on_mount(self) -> None:
        """Begin with the list of experiments."""
        self.push_screen(ExperimentsScreen(self.reader))

    def action_help(self) -> None:
        """Show every key."""
        if not isinstance(self.screen, HelpScreen):
            self.push_screen(HelpScreen())


def run(cwd: Path) -> ExitCode:
    """Run the application until the user quits. Raises `UsageError` where there is no terminal."""
    # Textual draws on standard error and reads from standard input.
    if not (sys.__stdin__ and sys.__stdin__.isatty() and sys.__stderr__ and sys.__stderr__.isatty()):
        raise UsageError("`triage tui` needs a terminal", "`triage history` and `triage show` print the same anywhere")
    app = TriageApp(cwd)
    try:
        app.run()
    finally:
        app.reader.close()
    return ExitCode.INTERNAL if app.return_code else ExitCode.OK
