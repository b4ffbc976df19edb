"""Text that came from the target, made harmless for where it is shown.

A node id, a message or a test's output may hold terminal escapes, text direction overrides, Markdown or HTML; none of it
may move the cursor, hide a word, mention a person or open a block.
"""

from __future__ import annotations

import re
import unicodedata

INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
"""Unicode categories that are written as escapes: control, format (direction, zero width), surrogates, private use."""
QUOTED = re.compile(r"""'[^']*'|"[^"]*\"""")
MARKDOWN = re.compile(r"([\\`*_{}\[\]|~$^])")
"""What means something in the middle of a line."""
ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;", "#": "&#35;"}
"""HTML, and what names a person or an issue, for which a backslash is not enough."""


def visible(text: str) -> str:
    """Return `text` with every character that is not seen written as an escape of Python."""
    return "".join(_escaped(char) if unicodedata.category(char) in INVISIBLE else char for char in text)


def prose(text: str) -> str:
    """Return `text` as one line: white space as single spaces, other characters that are not seen as escapes."""
    return visible(" ".join(text.split()))


def command(text: str) -> str:
    """Return a shell command as one line of visible characters that means the same.

    Control characters stand in single quotes there (`shlex.quote` puts them so); such a word becomes `$'...'`, which
    bash, zsh and POSIX 2024 read.
    """
    return visible(QUOTED.sub(_ansi_quoted, text))


def markdown(text: str) -> str:
    """Return `text` as one line of Markdown that shows it as it is: no markup, HTML, mentions, references or formulas.

    It has to stand after something else in its line: what opens a list or a heading there is left alone.
    """
    escaped = MARKDOWN.sub(r"\\\1", prose(text))
    return "".join(ENTITIES.get(char, char) for char in escaped)


def code(text: str, *, in_table: bool = False) -> str:
    """Return a Markdown code span; in a table cell a bar is escaped even there."""
    content = visible(text) or " "
    if in_table:
        content = content.replace("|", "\\|")
    fence = "`" * (longest_run(content) + 1)
    padding = " " if content[0] in "` " or content[-1] in "` " else ""
    return f"{fence}{padding}{content}{padding}{fence}"


def code_block(text: str, language: str) -> str:
    """Return a fenced Markdown code block that nothing in `text` can end."""
    fence = "`" * max(3, longest_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def longest_run(text: str) -> int:
    """Return the length of the longest run of backticks."""
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def _ansi_quoted(match: re.Match[str]) -> str:
    word = match.group()
    if visible(word) == word or word[0] == '"':
        return word
    body = word[1:-1].replace("\\", "\\\\")
    return "$'" + "".join(_shell_escape(char) if visible(char) != char else char for char in body) + "'"


def _shell_escape(char: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "surrogateescape"))
