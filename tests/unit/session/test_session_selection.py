"""Which tests a sweep takes of what pytest collected."""

from __future__ import annotations

from pathlib import Path

import pytest

from triage.errors import NothingSelectedError, UnrunnableError, UsageError
from triage.model.project import Collection, Item
from triage.model.sweep import Selection, Shard
from triage.session.selection import arguments_of, check_arguments, despite, selected
from triage.targets.configuration import Configured
from triage.targets.nodeids import parse


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text("")
    return tmp_path


def collected(root: Path, *items: tuple[str, tuple[str, ...]], errors: tuple[str, ...] = ()) -> Collection:
    found = tuple(Item(id=name, file=name.split("::")[0], marks=marks) for name, marks in items)
    return Collection(root=str(root), inifile=None, items=found, plugins=(), errors=errors)


ITEMS = (
    ("a.py::flaky", ("flaky", "parametrize")),
    ("a.py::plain", ()),
    ("a.py::near", ("flaky_network", "skip")),
    ("b.py::aside", ("skip", "quarantine")),
    ("b.py::other", ("quarantined",)),
)


def ids(selection: Selection, root: Path, *items: tuple[str, tuple[str, ...]]) -> list[str]:
    request = parse(selection.paths or (".",), root)
    return [item.id for item in selected(selection, request, collected(root, *(items or ITEMS)))]


def test_the_marks_of_plugins_and_of_quarantine(root: Path):
    assert ids(Selection(), root) == ["a.py::flaky", "b.py::aside", "b.py::other"]
    assert ids(Selection(paths=("b.py",)), root) == ["b.py::aside", "b.py::other"]


def test_with_an_expression_pytest_has_chosen(root: Path):
    assert ids(Selection(expression="not flaky"), root, *ITEMS[1:3]) == ["a.py::plain", "a.py::near"]
    assert ids(Selection(expression="x", paths=("b.py", "a.py::plain")), root, *ITEMS[:2]) == ["a.py::plain"]


def test_shards_are_parts_and_may_be_empty(root: Path):
    parts = [ids(Selection(shard=Shard(number, 4)), root) for number in (1, 2, 3, 4)]
    assert sorted(name for part in parts for name in part) == ["a.py::flaky", "b.py::aside", "b.py::other"]
    assert [] in parts


@pytest.mark.parametrize(("expression", "items"), [(None, ITEMS[1:3]), ("slow", ()), (None, ())])
def test_nothing_selected_says_how_tests_are_selected(root: Path, expression, items):
    selection = Selection(expression=expression)
    with pytest.raises(NothingSelectedError) as error:
        selected(selection, parse((".",), root), collected(root, *items))
    assert "@pytest.mark.flaky" in error.value.hint
    assert "-m EXPR" in error.value.hint


def test_an_unknown_path_is_told_as_ever(root: Path):
    with pytest.raises(NothingSelectedError) as error:
        selected(Selection(paths=("a.py::plian",)), parse(("a.py::plian",), root), collected(root, *ITEMS))
    assert "a.py::plain" in error.value.hint


def test_nothing_selected_where_not_everything_can_be_collected_is_another_matter(root: Path):
    with pytest.raises(UnrunnableError) as error:
        selected(Selection(), parse((".",), root), collected(root, ITEMS[1], errors=("E   ImportError: nowhere",)))
    assert "ImportError: nowhere" in error.value.message


def test_only_without_a_path_pytest_looks_where_it_is_told_to(root: Path):
    request = parse((".",), root)
    assert arguments_of(request, Selection()) == ()
    assert arguments_of(request, Selection(paths=(".",))) == (".",)
    assert arguments_of(request, None) == (".",)
    (root / "sub").mkdir()
    assert arguments_of(parse((".",), root / "sub"), Selection()) == ("sub",)


@pytest.mark.parametrize(
    ("words", "options"),
    [((), ()), (("-m", "not quarantine"), ("-m", "")), (("-mslow",), ("-m", "")), (("-n", "m"), ())],
)
def test_a_mark_expression_of_the_project_is_taken_back_in_trials(words, options):
    assert despite(Selection(), Configured(words=words)) == options
    assert despite(None, Configured(words=words)) == ()


@pytest.mark.parametrize(("expression", "arguments"), [(" ", ()), (None, ("-m", "slow")), ("a", ("-xmslow",))])
def test_expressions_that_cannot_be_meant(expression, arguments):
    with pytest.raises(UsageError):
        check_arguments(expression, arguments)
