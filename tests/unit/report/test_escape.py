"""Text of the target stays text."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.report import escape
from triage.report.layout import shell_words, wrap_command

ARGUMENTS = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1), min_size=1)


def arguments_seen_by_bash(command: str) -> list[str]:
    """Run `command`, whose first word prints its arguments, each ended by a NUL."""
    bash = shutil.which("bash") or shutil.which("bash", path=os.defpath)
    if bash is None:
        pytest.skip("no bash here")
    script = f"show() {{ printf '%s\\0' \"$@\"; }}\n{command}\n"
    found = subprocess.run([bash, "--norc", "-c", script], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"})
    return found.stdout.decode().split("\0")[:-1]


@pytest.mark.parametrize(
    "argument",
    [
        "plain",
        "a b",
        "it's",
        "'\x1b'",
        'a"b',
        "a\nb",
        "\x1b[31m\\",
        "\\n\n'",
        "\u202e",
        "$HOME `id`\t",
        "'\"'\"'\n'",
        "é\x85",
    ],
)
@pytest.mark.parametrize("width", [12, 500])
def test_shown_command_means_the_same(argument: str, width: int) -> None:
    command = f"show {shlex.quote(argument)} {shlex.quote(argument)} last"
    shown = "\n".join(wrap_command(escape.command(command), width))
    assert escape.visible(shown.replace("\n", "")) == shown.replace("\n", "")
    assert arguments_seen_by_bash(shown) == [argument, argument, "last"]


@given(ARGUMENTS)
def test_words_of_a_command_are_found(arguments: list[str]) -> None:
    quoted = [shlex.quote(argument) for argument in arguments]
    assert list(shell_words(" ".join(quoted))) == quoted
    if all(escape.visible(word) == word for word in quoted):
        assert escape.command(" ".join(quoted)) == " ".join(quoted)


def test_expansion_stays_one_word() -> None:
    words = ["A='x y'", "PYTHONPATH=.triage/plugins${PYTHONPATH:+ :$PYTHONPATH}", "python"]
    assert list(shell_words(" ".join(words))) == words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("a\r\nb\tc", "a\\r\\nb\\tc"),
        ("\x9b1m", "\\x9b1m"),
        ("\u202egnp", "\\u202egnp"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("half \udc80", "half \\udc80"),
        ("größe 尺寸 \U0001f600", "größe 尺寸 \U0001f600"),
    ],
)
def test_visible(text: str, expected: str) -> None:
    assert escape.visible(text) == expected


def test_prose_is_one_line() -> None:
    assert escape.prose(" a\n\n  b\tc\x07 ") == "a b c\\x07"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a|b", "a\\|b"),
        ("`x` *y* _z_", "\\`x\\` \\*y\\* \\_z\\_"),
        ("<img src=x> & @team #12", "&lt;img src=x&gt; &amp; &#64;team &#35;12"),
        ("[a](b)", "\\[a\\](b)"),
        ("\\", "\\\\"),
        ("one\n# two", "one &#35; two"),
        ("3.5 - 2 = 1.5", "3.5 - 2 = 1.5"),
    ],
)
def test_markdown(text: str, expected: str) -> None:
    assert escape.markdown(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a", "`a`"), ("a`b", "``a`b``"), ("`", "`` ` ``"), ("a``", "``` a`` ```"), ("", "`   `"), ("a\nb", "`a\\nb`")],
)
def test_code(text: str, expected: str) -> None:
    assert escape.code(text) == expected


def test_code_in_a_table_has_no_bare_bar() -> None:
    assert escape.code("a|b", in_table=True) == "`a\\|b`"


def test_nothing_ends_a_code_block() -> None:
    block = escape.code_block("a\n````\nb", "sh")
    assert block.splitlines()[0] == "`````sh"
    assert block.splitlines()[-1] == "`````"
