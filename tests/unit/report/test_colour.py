"""When colour is used."""

from __future__ import annotations

import io

import pytest

from triage.report.colour import BOLD, RESET, is_wanted, paint


class Stream(io.StringIO):
    def __init__(self, *, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


@pytest.mark.parametrize(
    ("terminal", "environ", "expected"),
    [
        (True, {"TERM": "xterm"}, True),
        (True, {}, True),
        (False, {"TERM": "xterm"}, False),
        (True, {"TERM": "dumb"}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"NO_COLOR": ""}, True),
        (False, {"FORCE_COLOR": "1"}, True),
        (True, {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_is_wanted(terminal: bool, environ: dict[str, str], expected: bool) -> None:
    assert is_wanted(Stream(terminal=terminal), environ) is expected


def test_paint() -> None:
    assert paint("x", BOLD, colour=True) == f"{BOLD}x{RESET}"
    assert paint("x", BOLD, colour=False) == "x"
    assert paint("  ", BOLD, colour=True) == "  "
