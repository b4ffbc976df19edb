"""A list to choose from. Textual's `DataTable` takes seconds for thousands of rows (decision 9); this draws those that are seen."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from triage.tui.canvas import Canvas
from triage.tui.table import Table, fit, header, line

EMPTY = Table((), (), ())


class Rows(Canvas):
    """A table with a line of titles that stays and a cursor that keeps to its row when the rows change."""

    BINDING_GROUP_TITLE = "Lists"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Open", tooltip="open the row; a second click does too"),
        Binding("up,k", "move(-1)", "Up", show=False, tooltip="up"),
        Binding("down,j", "move(1)", "Down", show=False, tooltip="down"),
        Binding("pageup", "page(-1)", "Page up", show=False, tooltip="a page up"),
        Binding("pagedown,space", "page(1)", "Page down", show=False, tooltip="a page down"),
        Binding("home,g", "end(-1)", "First", show=False, tooltip="to the first row"),
        Binding("end,G", "end(1)", "Last", show=False, tooltip="to the last row"),
    ]
    cursor: reactive[int] = reactive(0, init=False)

    class Chosen(Message):
        """A row is to be opened."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    class Moved(Message):
        """The cursor is on another row, or the rows are others."""

        def __init__(self, key: str | None) -> None:
            super().__init__()
            self.key = key

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.table = EMPTY
        self._fitted: list[tuple[int, int]] = []

    @property
    def key(self) -> str | None:
        """The key of the row under the cursor."""
        return self.table.rows[self.cursor].key if self.cursor < len(self.table.rows) else None

    def show(self, table: Table) -> None:
        """Show other rows; the cursor stays on the row of its key, or else about where it was."""
        before = self.key
        above = self.cursor - self.scroll_offset.y
        self.table = table
        found = next((place for place, row in enumerate(table.rows) if row.key == before), None)
        place = min(self.cursor, max(0, len(table.rows) - 1)) if found is None else found
        self._measure()
        if place != self.cursor:
            self.cursor = place
            self._scroll(place - above)
        self.refresh()
        self.post_message(self.Moved(self.key))

    def validate_cursor(self, value: int) -> int:
        """Keep the cursor on a row."""
        return max(0, min(value, len(self.table.rows) - 1))

    def watch_cursor(self) -> None:
        """Follow the cursor."""
        self._follow()
        self.refresh()
        self.post_message(self.Moved(self.key))

    def on_resize(self) -> None:
        """Choose the columns anew."""
        self._measure()
        self._follow()

    def render_line(self, y: int) -> Strip:
        """Draw the titles or one row."""
        if y == 0:
            return self.strip(header(self.table, self._fitted), "head")
        number = self.scroll_offset.y + y - 1
        if number >= len(self.table.rows):
            return self.strip(())
        return self.strip(line(self.table, number, self._fitted), "cursor" if number == self.cursor else "")

    def on_click(self, event: events.Click) -> None:
        """Move the cursor to the row; open the row that it is on already."""
        number = self.scroll_offset.y + event.y - 1
        if event.y < 1 or number >= len(self.table.rows):
            return
        if number == self.cursor:
            self.action_choose()
        self.cursor = number

    def action_choose(self) -> None:
        """Open the row under the cursor."""
        if self.key is not None:
            self.post_message(self.Chosen(self.key))

    def action_move(self, by: int) -> None:
        """Move by some rows."""
        self.cursor += by

    def action_page(self, by: int) -> None:
        """Move by some pages."""
        self.cursor += by * max(1, self._visible - 1)

    def action_end(self, which: int) -> None:
        """Move to the first or the last row."""
        self.cursor = 0 if which < 0 else len(self.table.rows) - 1

    @property
    def _visible(self) -> int:
        """Rows that are seen at once."""
        return max(1, self.size.height - 1)

    def _measure(self) -> None:
        width = self.size.width
        self._fitted = fit(self.table, width) if self.table.columns else []
        self.virtual_size = Size(width, len(self.table.rows) + 1)

    def _follow(self) -> None:
        top = self.scroll_offset.y
        if self.cursor < top:
            self._scroll(self.cursor)
        elif self.cursor >= top + self._visible:
            self._scroll(self.cursor - self._visible + 1)

    def _scroll(self, top: int) -> None:
        # By force: rows that were shown a moment ago may not have their scrollbar yet, and without one Textual would not scroll.
        self.scroll_to(y=max(0, top), animate=False, force=True)
