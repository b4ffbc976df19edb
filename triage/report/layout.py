"""Columns for a terminal: wrapping that leaves ids and commands whole, an interval as a bar, tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.cells import cell_len

from triage.model.verdict import Rate

LABEL = 15
"""Width of the column of labels, which stand at the right of it; the longest is `not established`."""
GAP = "  "
UNBROKEN = "\0"
"""Stands for a space at which `wrap` does not break; escaped text has no such character of its own."""


def whole(text: str) -> str:
    """Return escaped text, such as a node id with spaces in it, as one word for `wrap`."""
    return text.replace(" ", UNBROKEN)


def wrap(text: str, width: int) -> list[str]:
    """Break at spaces so that lines fit into `width` columns; a longer word stays whole, so that it can be copied."""
    rows: list[str] = []
    row = ""
    for word in text.split():
        if row and cell_len(row) + 1 + cell_len(word) > width:
            rows.append(row)
            row = word
        else:
            row = f"{row} {word}" if row else word
    return [line.replace(UNBROKEN, " ") for line in (*rows, row)]


def wrap_command(text: str, width: int) -> list[str]:
    """Break a shell command between its words with a backslash at the end of each line but the last."""
    rows: list[str] = []
    row = ""
    for word in shell_words(text):
        if row and cell_len(row) + 1 + cell_len(word) > width - 2:
            rows.append(row + " \\")
            row = word
        else:
            row = f"{row} {word}" if row else word
    return [*rows, row]


def fold(row: str, width: int) -> Iterator[str]:
    """Cut a line into pieces of at most `width` columns, wherever that is."""
    piece, taken = "", 0
    for char in row:
        wide = cell_len(char)
        if piece and taken + wide > width:
            yield piece
            piece, taken = "", 0
        piece, taken = piece + char, taken + wide
    yield piece


def shell_words(text: str) -> Iterator[str]:
    """Split at the spaces outside quotes and braces, and change nothing else."""
    word = quote = ""
    escaped = False
    for char in text:
        if not quote and not escaped and char == " ":
            if word:
                yield word
            word = ""
            continue
        word += char
        if escaped:
            escaped = False
        elif char == "\\" and (quote != "'" or "$'" in word):
            escaped = True
        elif char == quote or (char == "}" and quote == "{"):
            quote = ""
        elif not quote and (char in "'\"" or word.endswith("${")):
            quote = char
    if word:
        yield word


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Fill with spaces up to `width` columns, before the text if it is to stand at the right."""
    filling = " " * max(0, width - cell_len(text))
    return filling + text if right else text + filling


def shorten(text: str, width: int) -> str:
    """Cut in the middle, marked by `...`, what is wider than `width` columns."""
    if cell_len(text) <= width:
        return text
    before, behind = max(0, width - 3 + 1) // 2, max(0, width - 3) // 2
    head, tail = text[:before], text[len(text) - behind :]
    while cell_len(head) > before:
        head = head[:-1]
    while cell_len(tail) > behind:
        tail = tail[1:]
    return f"{head}...{tail}"


def bar(rate: Rate, width: int, marks: tuple[str, str, str, str] = ("|", ".", "=", "o")) -> str:
    """Draw the interval of a rate between 0% and 100%: `|..==o====..........|`, `o` where the rate itself is.

    `marks` are the characters for the ends, for what is outside and inside the interval, and for the rate.
    """
    edge, outside, inside, here = marks
    if rate.trials == 0:
        return f"{edge}{outside * width}{edge}"

    def cell(value: float) -> int:
        return min(width - 1, max(0, int(value * width)))

    low, high, point = cell(rate.low), cell(rate.high), cell(rate.failed / rate.trials)
    cells = [inside if low <= index <= high else outside for index in range(width)]
    cells[point] = here
    return f"{edge}{''.join(cells)}{edge}"


def table(rows: Sequence[Sequence[str]], right: frozenset[int], indent: str = "") -> list[str]:
    """Align columns by their widest cell; those in `right` stand at the right."""
    widths = [max(cell_len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        (
            indent + "  ".join(pad(cell, widths[column], right=column in right) for column, cell in enumerate(row))
        ).rstrip()
        for row in rows
    ]
