"""The table of takeovers, and the project that is put together."""

from __future__ import annotations

import pytest

from triage.errors import NothingSelectedError, UnrunnableError, UsageError
from triage.model.project import Collection, Interpreter, Item, Plugin, Takeover
from triage.targets.assembly import assemble, targets
from triage.targets.configuration import Configured
from triage.targets.nodeids import Argument, Request
from triage.targets.takeover import TABLE, Taken, take_over

ITEMS = (Item(id="t.py::a", file="t.py"), Item(id="t.py::b", file="t.py"))
PYTHON = Interpreter(path="python", version="3.11.7", pytest="9.0.0", origin=".venv")


def collection(items: tuple[Item, ...] = ITEMS, errors: tuple[str, ...] = ()) -> Collection:
    return Collection(root="root", inifile=None, items=items, plugins=(), errors=errors)


def request_for(*node_ids: str) -> Request:
    return Request(
        root="root",
        arguments=tuple(
            Argument(text=each, path="root/t.py", rest=each.partition("::")[2], node_id=each) for each in node_ids
        ),
    )


def plugin(name: str, distribution: str) -> Plugin:
    return Plugin(name=name, distribution=distribution, version="1")


def test_every_option_is_tied_to_an_active_plugin() -> None:
    words = tuple(trigger for entry in TABLE for trigger in entry.triggers if entry.names)
    assert take_over([], Configured(words=words)).options == ()


def test_an_installed_plugin_that_is_not_switched_on_is_left_alone() -> None:
    assert take_over([plugin("xdist", "pytest-xdist"), plugin("pytest_cov", "pytest-cov")], Configured()) == Taken()


@pytest.mark.parametrize("found", [plugin("pytest_cov", "pytest-cov"), plugin("pytest_cov.plugin", "pytest-cov")])
def test_a_plugin_is_known_by_either_name(found: Plugin) -> None:
    assert take_over([found], Configured(words=("--cov",))).options == ("--no-cov",)


def test_several_plugins_share_one_level() -> None:
    taken = take_over(
        [plugin("rerunfailures", "pytest-rerunfailures"), plugin("randomly", "pytest-randomly")], Configured()
    )
    assert taken.levels == ("without=rerunfailures,randomly",)
    assert taken.recollect


def test_a_setting_switches_a_plugin_on() -> None:
    taken = take_over([plugin("timeout", "pytest-timeout")], Configured(settings=("timeout",)))
    assert [takeover.what for takeover in taken.takeovers] == ["pytest-timeout"]


@pytest.mark.parametrize("option", ["--pdb", "--collect-only", "--co", "-h", "--looponfail"])
def test_options_that_run_nothing_are_refused(option: str) -> None:
    with pytest.raises(UsageError, match=f"pytest would not run the tests with `{option}`"):
        take_over([], Configured(words=("-q", option)))


def test_a_reason_is_one_sentence() -> None:
    for entry in TABLE:
        assert entry.why
        assert not entry.why.endswith(".")
        assert "\n" not in entry.why


def test_the_users_options_come_before_those_that_take_over() -> None:
    taken = Taken(options=("-n", "0"), levels=("without=a",), takeovers=(Takeover(what="a", why="b"),))
    note = Takeover(what="c", why="d")
    project = assemble(
        interpreters=[PYTHON], collection=collection(), options=["-n", "4"], taken=taken, notes=[note], scope=ITEMS[:1]
    )
    assert project.options == ("-n", "4", "-n", "0")
    assert project.levels == ("without=a",)
    assert project.takeovers == (*taken.takeovers, note)
    assert project.scope == ITEMS[:1]
    assert project.root == "root"


def test_without_a_scope_it_is_the_collection() -> None:
    assert assemble(interpreters=[PYTHON], collection=collection(), taken=Taken()).scope == ITEMS


def test_a_project_needs_an_interpreter() -> None:
    with pytest.raises(UnrunnableError):
        assemble(interpreters=[], collection=collection(), taken=Taken())


def test_targets_are_each_once_in_the_order_of_the_arguments() -> None:
    assert targets(request_for("t.py::b", "t.py", "t.py::a"), collection()) == (ITEMS[1], ITEMS[0])


def test_an_argument_without_targets_is_said() -> None:
    with pytest.raises(NothingSelectedError):
        targets(request_for("t.py::a", "u.py"), collection())


@pytest.mark.parametrize("items", [(), ITEMS])
@pytest.mark.parametrize(
    ("error", "gist"),
    [("tests/x.py:1: in <module>\nE   ImportError: no module\n\n", "ImportError: no module"), ("odd", "odd")],
)
def test_an_error_of_collection_is_not_an_unknown_id(items: tuple[Item, ...], error: str, gist: str) -> None:
    with pytest.raises(UnrunnableError) as caught:
        targets(request_for("u.py::a"), collection(items=items, errors=(error,)))
    assert caught.value.message == f"the tests could not be collected: {gist}"


def test_an_error_elsewhere_does_not_stop_a_target_that_was_collected() -> None:
    assert targets(request_for("t.py::a"), collection(errors=("odd",))) == ITEMS[:1]


def test_another_root_folder_is_refused() -> None:
    elsewhere = Collection(root="elsewhere", inifile=None, items=ITEMS, plugins=())
    with pytest.raises(UsageError, match="pytest takes `elsewhere` as its root folder, not `root`"):
        targets(request_for("t.py::a"), elsewhere)
