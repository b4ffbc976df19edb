"""A table as values: which columns fit into a width, and the lines that it makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len

from triage.report.layout import fold, pad, shorten
from triage.tui.canvas import Line, Span

GAP = 2
"""Columns of space between two cells; at either side of the table there is one."""
ESSENTIAL = 4
"""Highest rank of a column for which others are squeezed."""
COMFORTABLE = 44
"""Width that a squeezed column gets before columns that are not essential come in."""
MORE = "..."
LONGEST = 500
"""Characters of a cell beyond which its middle is left out before anything is measured: ids may be as long as they like."""


class Column(NamedTuple):
    """A column: where there is no room for all of them, those of the highest rank go first."""

    title: str
    rank: int
    right: bool = False
    least: int | None = None
    """Width down to which it may be squeezed; None if it is shown whole or not at all."""
    is_prose: bool = False
    """Whether texts are cut at their end; ids differ at both ends and are cut in the middle."""


class Row(NamedTuple):
    """A row: what it is of, its cells, and the text that a filter is matched against, in lower case."""

    key: str
    cells: tuple[Span, ...]
    searched: str


class Table(NamedTuple):
    """Columns and rows with the width that each column would like to have."""

    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    widths: tuple[int, ...]

    def matching(self, text: str) -> Table:
        """Return the rows in which every word of `text` occurs; widths stay, so that nothing jumps while one types."""
        wanted = text.lower().split()
        return self._replace(rows=tuple(row for row in self.rows if all(word in row.searched for word in wanted)))


def make_table(columns: Sequence[Column], rows: Sequence[Row]) -> Table:
    """Measure the columns."""
    widths = [
        max([cell_len(column.title), *(cell_len(row.cells[place].text) for row in rows)])
        for place, column in enumerate(columns)
    ]
    return Table(tuple(columns), tuple(rows), tuple(widths))


def cell(text: str, style: str = "") -> Span:
    """Return a cell of a text that may be very long."""
    return Span(text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}...{text[-LONGEST // 2 :]}", style)


def fit(table: Table, width: int) -> list[tuple[int, int]]:
    """Return the places of the columns that fit into `width`, in their order, with the width of each."""
    room = width - 2 + GAP
    taken: dict[int, int] = {}

    def add(places: Sequence[int]) -> None:
        nonlocal room
        for place in places:
            least = table.columns[place].least
            needed = table.widths[place] if least is None else min(least, table.widths[place])
            if not taken or needed + GAP <= room:
                taken[place] = needed
                room -= needed + GAP

    def widen(most: int) -> None:
        nonlocal room
        for place in places:
            if place in taken:
                more = max(0, min(room, most - taken[place], table.widths[place] - taken[place]))
                taken[place] += more
                room -= more

    places = sorted(range(len(table.columns)), key=lambda place: table.columns[place].rank)
    add([place for place in places if table.columns[place].rank <= ESSENTIAL])
    widen(COMFORTABLE)
    add([place for place in places if place not in taken])
    widen(width)
    return sorted(taken.items())


def header(table: Table, fitted: Sequence[tuple[int, int]]) -> Line:
    """Return the line of titles."""
    return _line([Span(table.columns[place].title) for place, _ in fitted], table, fitted)


def line(table: Table, number: int, fitted: Sequence[tuple[int, int]]) -> Line:
    """Return the line of one row."""
    cells = table.rows[number].cells
    return _line([cells[place] for place, _ in fitted], table, fitted)


def _cut(text: str, width: int, column: Column) -> str:
    if not column.is_prose or cell_len(text) <= width:
        return shorten(text, width)
    return next(fold(text, max(1, width - len(MORE)))) + MORE


def _line(cells: Sequence[Span], table: Table, fitted: Sequence[tuple[int, int]]) -> Line:
    spans: list[Span] = []
    for one, (place, width) in zip(cells, fitted, strict=True):
        column = table.columns[place]
        text = pad(_cut(one.text, width, column), width, right=column.right)
        spans += [Span(" " * (GAP if spans else 1)), Span(text, one.style)]
    return tuple(spans)
