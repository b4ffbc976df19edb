"""Lines of styled text that a widget draws by itself: nothing in them is ever read as markup, and only what is seen is drawn."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from textual.scroll_view import ScrollView
from textual.strip import Strip

from triage.model.verdict import Verdict

VERDICTS = {
    Verdict.REAL_BUG: "bad",
    Verdict.WRONG_TEST: "warn",
    Verdict.ENVIRONMENT: "other",
    Verdict.STABLE_PASS: "good",
    Verdict.STABLE_FAIL: "bad",
    Verdict.UNDETERMINED: "open",
}
"""The style in which each verdict is written."""


class Span(NamedTuple):
    """Text of one style: a component class of `Canvas` without its prefix, or none. No control characters."""

    text: str
    style: str = ""


Line = tuple[Span, ...]


class Canvas(ScrollView, can_focus=True):
    """A scrolling widget that is drawn line by line from spans."""

    ALLOW_SELECT = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {
        f"canvas--{name}"
        for name in ("bad", "warn", "other", "good", "open", "label", "strong", "bar", "head", "cursor")
    }
    DEFAULT_CSS = """
    Canvas {
        background: $surface;
        color: $foreground;
        scrollbar-size-vertical: 1;
        overflow-x: hidden;
        & > .canvas--bad { color: $text-error; text-style: bold; }
        & > .canvas--warn { color: $text-warning; text-style: bold; }
        & > .canvas--other { color: $text-secondary; text-style: bold; }
        & > .canvas--good { color: $text-success; text-style: bold; }
        & > .canvas--open { color: $text-primary; text-style: bold; }
        & > .canvas--label { color: $text-muted; }
        & > .canvas--strong { text-style: bold; }
        & > .canvas--bar { color: $text-accent; }
        & > .canvas--head { background: $panel; color: $foreground; text-style: bold; }
        & > .canvas--cursor { background: $block-cursor-blurred-background; color: $block-cursor-blurred-foreground; }
        &:focus > .canvas--cursor { background: $block-cursor-background; color: $block-cursor-foreground; }
    }
    """

    def strip(self, line: Line, base: str = "") -> Strip:
        """Return a line as wide as the widget; `base` is the style of all of it, and then the only one."""
        ground = self.get_component_rich_style(f"canvas--{base}") if base else self.rich_style
        segments = [Segment(span.text, ground if base else self._style(span.style)) for span in line]
        return Strip(segments).adjust_cell_length(self.size.width, ground)

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"canvas--{name}") if name else self.rich_style
