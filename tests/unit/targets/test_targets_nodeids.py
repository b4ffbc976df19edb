"""NODEID arguments: their parts, their root folder, what they stand for."""

from __future__ import annotations

from pathlib import Path

import pytest

from triage.errors import ExitCode, NothingSelectedError, UsageError
from triage.model.project import Item
from triage.targets.nodeids import Argument, closest, parse, select


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "tests" / "unit").mkdir(parents=True)
    (root / "pytest.ini").touch()
    (root / "tests" / "test_cart.py").touch()
    (root / "tests" / "unit" / "test_price list.py").touch()
    (root / ".venv" / "lib").mkdir(parents=True)
    (root / ".venv" / "lib" / "test_cartx.py").touch()
    return root


@pytest.mark.parametrize(
    ("text", "node_id"),
    [
        ("tests/test_cart.py::test_total", "tests/test_cart.py::test_total"),
        ("./tests/../tests/test_cart.py::C::test_total", "tests/test_cart.py::C::test_total"),
        ("tests/test_cart.py::test_total[a b::c/d[e]]", "tests/test_cart.py::test_total[a b::c/d[e]]"),
        ("tests/test_cart.py::test_total[é\n]", "tests/test_cart.py::test_total[é\n]"),
        ("tests/unit/test_price list.py", "tests/unit/test_price list.py"),
        ("tests/", "tests"),
        (".", "."),
    ],
)
def test_an_argument_is_relative_to_the_root(project: Path, text: str, node_id: str) -> None:
    request = parse([text], project)
    assert request.root == str(project)
    assert request.arguments[0].node_id == node_id
    assert request.arguments[0].text == text


def test_the_current_folder_may_be_below_the_root(project: Path) -> None:
    (argument,) = parse(["test_cart.py::test_total"], project / "tests").arguments
    assert argument.node_id == "tests/test_cart.py::test_total"
    assert argument.path == str(project / "tests" / "test_cart.py")
    assert argument.rest == "test_total"
    assert argument.file == "tests/test_cart.py"


def test_an_absolute_path_from_elsewhere(project: Path, tmp_path: Path) -> None:
    request = parse([str(project / "tests" / "test_cart.py")], tmp_path)
    assert (request.root, request.arguments[0].node_id) == (str(project), "tests/test_cart.py")


def test_links_are_not_followed(project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project)
    assert parse(["link/tests/test_cart.py"], tmp_path).root == str(tmp_path / "link")


def test_without_configuration_the_current_folder_is_the_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triage.targets.nodeids.find_root", lambda _: None)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "test_x.py").touch()
    assert parse(["a/test_x.py"], tmp_path).root == str(tmp_path)
    other = tmp_path / "b"
    other.mkdir()
    assert parse(["../a/test_x.py"], other).root == str(tmp_path / "a")


def test_two_roots_are_refused(project: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "tox.ini").write_text("[pytest]\n")
    (tmp_path / "other" / "test_y.py").touch()
    with pytest.raises(UsageError) as caught:
        parse(["project/tests/test_cart.py", "other/test_y.py"], tmp_path)
    assert caught.value.message == (
        "`project/tests/test_cart.py` and `other/test_y.py` belong to different projects (`project`, `other`)"
    )


def test_an_unknown_file_offers_the_closest(project: Path) -> None:
    with pytest.raises(NothingSelectedError) as caught:
        parse(["tests/test_crat.py::test_total"], project)
    assert caught.value.message == "no such file or folder: `tests/test_crat.py`"
    assert caught.value.hint == "did you mean `tests/test_cart.py::test_total`?"
    assert caught.value.exit_code is ExitCode.NOTHING_SELECTED


def test_a_file_in_another_folder_is_offered(project: Path) -> None:
    with pytest.raises(NothingSelectedError) as caught:
        parse(["test_cart.py"], project)
    assert caught.value.hint == "did you mean `tests/test_cart.py`?"


def test_nothing_close_gives_a_way_to_look(project: Path) -> None:
    with pytest.raises(NothingSelectedError) as caught:
        parse(["zzzzzzzzzzzzzz"], project)
    assert "--collect-only" in str(caught.value.hint)


@pytest.mark.parametrize("arguments", [[], ["::test_total"], [""], ["tests::test_total"]])
def test_what_is_no_node_id_is_wrong_usage(project: Path, arguments: list[str]) -> None:
    with pytest.raises(UsageError):
        parse(arguments, project)


IDS = [
    "tests/test_cart.py::test_total",
    "tests/test_cart.py::test_total_twice",
    "tests/test_cart.py::test_each[1]",
    "tests/test_cart.py::test_each[a/b::c]",
    r"tests/test_cart.py::test_each[\xe9\n]",
    "tests/test_cart.py::C::test_each[x]",
    "tests/test_cart.py::C::test_one",
    "tests/test_cart.py::Cx::test_one",
    "tests/unit/test_price.py::test_price",
    "tests_more/test_z.py::test_z",
]
ITEMS = [Item(id=name, file=name.split("::")[0]) for name in IDS]


def argument(node_id: str) -> Argument:
    return Argument(text=node_id, path="/" + node_id, rest=node_id.partition("::")[2], node_id=node_id)


@pytest.mark.parametrize(
    ("node_id", "chosen"),
    [
        ("tests/test_cart.py::test_total", IDS[:1]),
        ("tests/test_cart.py::test_each", IDS[2:5]),
        ("tests/test_cart.py::test_each[1]", IDS[2:3]),
        ("tests/test_cart.py::test_each[a/b::c]", IDS[3:4]),
        ("tests/test_cart.py::test_each[é\n]", IDS[4:5]),
        (r"tests/test_cart.py::test_each[\xe9\n]", IDS[4:5]),
        ("tests/test_cart.py::C", IDS[5:7]),
        ("tests/test_cart.py::C::test_each", IDS[5:6]),
        ("tests/test_cart.py", IDS[:8]),
        ("tests", IDS[:9]),
        (".", IDS),
    ],
)
def test_an_argument_stands_for(node_id: str, chosen: list[str]) -> None:
    assert [item.id for item in select(argument(node_id), ITEMS)] == chosen


@pytest.mark.parametrize(
    ("node_id", "offered"),
    [
        ("tests/test_cart.py::test_totl", "tests/test_cart.py::test_total"),
        ("tests/test_cart.py::test_each[2]", "tests/test_cart.py::test_each[1]"),
        ("tests/test_cart.py::test_price", "tests/unit/test_price.py::test_price"),
        ("tests/test_cart.py::D::test_one", "tests/test_cart.py::C::test_one"),
    ],
)
def test_an_unknown_id_offers_the_closest(node_id: str, offered: str) -> None:
    with pytest.raises(NothingSelectedError) as caught:
        select(argument(node_id), ITEMS)
    assert caught.value.message == f"no test matches `{node_id}`"
    assert str(caught.value.hint).startswith(f"did you mean `{offered}`")


def test_closest_is_bounded_and_may_be_empty() -> None:
    assert len(closest("tests/test_cart.py::test_eac", IDS, n=2)) == 2
    assert closest("qqq", IDS) == ()
    assert closest("anything", []) == ()
