"""A live list with a filter."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Footer, Input

from triage.errors import TriageError
from triage.report import words
from triage.session.reader import Reader
from triage.tui.drawing import notice
from triage.tui.live import HELP, QUIT, REFRESH, LiveScreen
from triage.tui.rows import EMPTY, Rows
from triage.tui.text import Text
from triage.tui.title import Title

T = TypeVar("T")


class FilteredScreen(LiveScreen[T]):
    """A title, rows, and a line in which one types what the rows must contain."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", key_display="/", tooltip="show only rows that contain the words you type"),
        Binding("escape", "leave", "Back", tooltip="take the filter away; without one, go back"),
        REFRESH,
        HELP,
        QUIT,
    ]
    THING = "row"
    """What a row is, in the singular."""
    leads_back = True
    """Whether there is a screen below."""
    has_preview = False
    """Whether the row under the cursor is shown in short."""

    def __init__(self, reader: Reader) -> None:
        super().__init__(reader)
        self.table = EMPTY

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        yield Title(id="title")
        yield Rows(id="rows")
        yield Text(id="notice")
        yield Text(id="preview")
        yield Input(id="filter", placeholder="words that a row must contain; escape ends", compact=True)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Start with nothing but the title, until something was read."""
        self._tell("reading ...", None)
        self.query_one("#filter").display = False
        self.query_one("#preview").can_focus = False
        super().on_mount()

    def present(self, headline: str, nothing: tuple[str, str | None]) -> None:
        """Show `self.table`, filtered, under a headline; `nothing` is said, with a hint, where it is empty."""
        wanted = self.query_one("#filter", Input).value
        shown = self.table.matching(wanted) if wanted.strip() else self.table
        count = words.plural(len(self.table.rows), self.THING)
        if len(shown.rows) != len(self.table.rows):
            count = f"{len(shown.rows)} of {count}"
        self.query_one(Title).show(headline, count)
        self.query_one(Rows).show(shown)
        if shown.rows:
            self._tell(None, None)
        elif self.table.rows:
            self._tell(f"no {self.THING} contains `{wanted.strip()}`", "escape takes the filter away")
        else:
            self._tell(*nothing)

    def again(self) -> None:
        """Present the same rows again: the filter has changed."""
        raise NotImplementedError

    def complain(self, error: TriageError) -> None:
        """Tell the error in the place of the rows; the next reading may do better."""
        self.table = EMPTY
        self.query_one(Rows).show(EMPTY)
        self._tell(f"error: {error.message}", f"hint: {error.hint}" if error.hint else None)

    def action_filter(self) -> None:
        """Let the user type a filter."""
        field = self.query_one("#filter", Input)
        field.display = True
        field.focus()
        self.refresh_bindings()

    def action_leave(self) -> None:
        """Take the filter away; without one, go back."""
        field = self.query_one("#filter", Input)
        if field.display:
            field.value = ""
            field.display = False
            self.query_one(Rows).focus()
            self.again()
            self.refresh_bindings()
        else:
            self.back()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer a way back only where there is one."""
        del parameters
        return action != "leave" or self.leads_back or self.query_one("#filter").display

    def back(self) -> None:
        """Leave the screen; the first one stays."""

    @on(Input.Changed)
    def _typed(self) -> None:
        self.again()

    @on(Input.Submitted)
    def _entered(self) -> None:
        field = self.query_one("#filter", Input)
        field.display = bool(field.value.strip())
        self.query_one(Rows).focus()
        self.refresh_bindings()

    def _tell(self, message: str | None, hint: str | None) -> None:
        """Show a message in the place of the rows, or the rows."""
        told = self.query_one("#notice", Text)
        told.display = message is not None
        self.query_one(Rows).display = message is None
        self.query_one("#preview").display = message is None and self.has_preview
        if message is not None:
            told.show(notice(message, hint))
            if not self.query_one("#filter").has_focus:
                told.focus()
        elif told.has_focus or self.focused is None:
            self.query_one(Rows).focus()
