"""A page of text that scrolls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.strip import Strip

from triage.tui.canvas import Canvas, Line

Drawing = Callable[[int], Sequence[Line]]
"""Makes the lines for a width."""


class Text(Canvas):
    """Lines that are made anew for each width."""

    BINDING_GROUP_TITLE = "Pages"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_up", "Up", show=False, tooltip="up"),
        Binding("down,j", "scroll_down", "Down", show=False, tooltip="down"),
        Binding("pageup", "page_up", "Page up", show=False, tooltip="a page up"),
        Binding("pagedown,space", "page_down", "Page down", show=False, tooltip="a page down"),
        Binding("home,g", "scroll_home", "Top", show=False, tooltip="to the beginning"),
        Binding("end,G", "scroll_end", "Bottom", show=False, tooltip="to the end"),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._drawing: Drawing | None = None
        self.lines: Sequence[Line] = ()

    @property
    def plain(self) -> str:
        """The lines without their styles."""
        return "\n".join("".join(span.text for span in line) for line in self.lines)

    def show(self, drawing: Drawing) -> None:
        """Show another text, from where this one is scrolled to."""
        self._drawing = drawing
        self._draw()

    def on_resize(self) -> None:
        """Break the lines anew."""
        self._draw()

    def render_line(self, y: int) -> Strip:
        """Draw one line."""
        number = self.scroll_offset.y + y
        return self.strip(self.lines[number] if number < len(self.lines) else ())

    def _draw(self) -> None:
        width = self.size.width
        if self._drawing and width:
            self.lines = self._drawing(width)
            self.virtual_size = Size(width, len(self.lines))
            self.refresh()
