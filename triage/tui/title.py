"""The first line of every screen."""

from __future__ import annotations

from rich.cells import cell_len
from textual.strip import Strip

from triage.report.layout import pad, shorten
from triage.tui.canvas import Canvas, Span


class Title(Canvas, can_focus=False):
    """One line: what is shown, and at the right how much of it."""

    DEFAULT_CSS = "Title { height: 1; overflow: hidden; }"

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.left = "triage"
        self.right = ""

    def show(self, left: str, right: str) -> None:
        """Show other texts, which are escaped already."""
        self.left, self.right = left, right
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """Draw the line; what is at the right stays whole."""
        del y
        room = max(0, self.size.width - cell_len(self.right) - 4)
        text = f" {pad(shorten(self.left, room), room)}  {self.right} "
        return self.strip((Span(text),), "head")
