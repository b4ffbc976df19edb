"""Numbers in words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.model.verdict import Culprit, Rate
from triage.report import words
from triage.report.layout import bar


@pytest.mark.parametrize(
    ("failed", "trials", "expected"),
    [
        (7, 100, "7 of 100 failed: 7% (3% to 14%)"),
        (0, 60, "0 of 60 failed: below 4.9% at 95% confidence"),
        (0, 20, "0 of 20 failed: below 14% at 95% confidence"),
        (0, 1000, "0 of 1000 failed: below 0.30% at 95% confidence"),
        (20, 20, "20 of 20 failed: above 86% at 95% confidence"),
        (60, 60, "60 of 60 failed: above 95.1% at 95% confidence"),
        (1, 1, "1 of 1 failed: above 5.0% at 95% confidence"),
        (1, 300, "1 of 300 failed: 0.3% (0.008% to 2%)"),
        (299, 300, "299 of 300 failed: 99.7% (98% to 99.992%)"),
        (0, 0, "not tried"),
    ],
)
def test_outcome(failed: int, trials: int, expected: str) -> None:
    assert words.outcome(failed, trials) == expected


def test_outcome_takes_the_interval_of_the_report() -> None:
    assert words.outcome(1, 2, 0.2, 0.8) == "1 of 2 failed: 50% (20% to 80%)"


@pytest.mark.parametrize(
    ("rate", "expected"),
    [(0, "0%"), (1, "100%"), (0.5, "50%"), (0.0296, "3%"), (0.004, "0.4%"), (0.9996, "99.96%"), (0.996, "99.6%")],
)
def test_percent(rate: float, expected: str) -> None:
    assert words.percent(rate) == expected


@given(st.floats(min_value=1e-6, max_value=1 - 1e-6))
def test_bounds_are_never_tightened_and_ends_never_reached(rate: float) -> None:
    def number(text: str) -> float:
        return float(text.strip("<>%"))

    assert number(words.at_most(rate)) >= rate * 100 - 1e-6
    assert number(words.at_least(rate)) <= rate * 100 + 1e-6
    assert 0 < number(words.percent(rate)) < 100 or words.percent(rate)[0] in "<>"
    assert abs(number(words.percent(rate)) - rate * 100) <= 0.5


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0.0, "0.00 s"),
        (0.214, "0.21 s"),
        (9.994, "9.99 s"),
        (9.996, "10 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (125, "2 min 5 s"),
        (3599.9, "1 h"),
        (3725, "1 h 2 min"),
    ],
)
def test_seconds(value: float, expected: str) -> None:
    assert words.seconds(value) == expected


@pytest.mark.parametrize(
    ("file", "lines", "expected"),
    [
        (None, (), ""),
        ("a.py", (), "a.py"),
        ("a.py", (3,), "a.py:3"),
        ("a.py", (3, 4, 5), "a.py:3-5"),
        ("a.py", (3, 7), "a.py:3,7"),
    ],
)
def test_place(file: str | None, lines: tuple[int, ...], expected: str) -> None:
    assert words.place(Culprit(role="product", file=file, lines=lines)) == expected


@pytest.mark.parametrize(
    ("failed", "trials", "low", "high", "expected"),
    [
        (1, 2, 0.25, 0.75, "|.==o=.|"),
        (0, 9, 0.0, 0.3, "|o=....|"),
        (9, 9, 0.7, 1.0, "|....=o|"),
        (0, 0, 0.0, 1.0, "|......|"),
    ],
)
def test_bar(failed: int, trials: int, low: float, high: float, expected: str) -> None:
    rate = Rate(arm="a", failed=failed, trials=trials, low=low, high=high)
    drawn = bar(rate, 6)
    assert drawn == expected
