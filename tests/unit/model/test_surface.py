"""What differs between two surfaces, in words."""

from __future__ import annotations

from triage.model.surface import Surface, differences, listed

BEFORE = Surface(
    files={"shop.py": "1", "conftest.py": "2"},
    packages={"attrs": "23.1"},
    tests={"number": "3", "ids digest": "a"},
    environment={"TZ": "UTC"},
)


def test_equal_surfaces_differ_in_nothing() -> None:
    assert differences(BEFORE, BEFORE) == ()


def test_what_differs_is_named_with_files_first() -> None:
    now = Surface(
        files={"shop.py": "9", "new.py": "1"},
        packages={"attrs": "23.2"},
        tests={"number": "4", "ids digest": "b"},
        environment={},
    )
    assert differences(BEFORE, now) == (
        "`conftest.py` (gone)",
        "`new.py` (new)",
        "`shop.py`",
        "package `attrs` (23.1, now 23.2)",
        "collected tests: `ids digest`",
        "collected tests: `number` (3, now 4)",
        "variable `TZ` (gone)",
    )


def test_a_long_list_is_cut() -> None:
    assert listed(("a", "b", "c", "d", "e")) == "a, b, c and 2 more"
    assert listed(("a",)) == "a"
