"""Every key, from the same declarations that make them work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer

from triage.report.layout import pad, wrap
from triage.tui.canvas import Line, Span
from triage.tui.experiment import ExperimentScreen
from triage.tui.filtered import FilteredScreen
from triage.tui.listing import INCOMPLETE
from triage.tui.rows import Rows
from triage.tui.text import Text
from triage.tui.title import Title
from triage.tui.trials import TrialScreen

WHERE: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("Lists of experiments and of trials", (Rows, FilteredScreen)),
    ("An experiment", (ExperimentScreen,)),
    ("A trial", (TrialScreen,)),
    ("Pages of text", (Text,)),
)
"""Which classes' keys are listed under which title."""
READING = (
    ("worst", "the rate of the arm that fails most for sure: whose 95% interval begins highest"),
    ("baseline", "the rate of the test as you run it"),
    (INCOMPLETE, "behind a verdict: it was ended before everything was looked at"),
    ("running, interrupted", "in the place of a verdict: there is none yet, or there will be none"),
)
"""What the lists say without words."""
WIDEST_KEY = 22


def keys_of(owners: Sequence[type]) -> Iterator[Binding]:
    """Yield the bindings that classes declare themselves, one for each key."""
    for owner in owners:
        yield from Binding.make_bindings(vars(owner)["BINDINGS"])


def described(owners: Sequence[type], display: Callable[[Binding], str]) -> list[tuple[str, str]]:
    """Return keys with what they do; those of one action share a row."""
    shown: dict[tuple[str, str], list[str]] = {}
    for binding in keys_of(owners):
        shown.setdefault((binding.action, binding.tooltip or binding.description), []).append(display(binding))
    return [(", ".join(keys), what) for (_, what), keys in shown.items()]


class HelpScreen(Screen[None]):
    """A page of keys and of what the lists say without words."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q", "app.pop_screen", "Back"),
    ]

    def compose(self) -> ComposeResult:
        """Lay the screen out."""
        yield Title(id="title")
        yield Text(id="page")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Show the keys."""
        self.query_one(Title).show("triage: help", "escape goes back")
        self.query_one(Text).show(self._draw)

    def _draw(self, width: int) -> Sequence[Line]:
        display = self.app.get_key_display
        palette = display(Binding(self.app.COMMAND_PALETTE_BINDING, "command_palette"))
        everywhere = [
            *described([type(self.app)], display),
            (palette, "palette of commands: other colours, all keys, a picture of the screen"),
        ]
        sections = [("Everywhere", everywhere), *((title, described(owners, display)) for title, owners in WHERE)]
        lines: list[Line] = []
        for title, rows in (*sections, ("What the lists say without words", READING)):
            lines += [(), (Span(f" {title}", "strong"),)]
            for keys, what in rows:
                first, *rest = wrap(what, max(1, width - WIDEST_KEY - 5))
                lines.append((Span(f"   {pad(keys, WIDEST_KEY)}", "open"), Span(f" {first}")))
                lines += [(Span(" " * (WIDEST_KEY + 4) + row),) for row in rest]
        return lines[1:]
