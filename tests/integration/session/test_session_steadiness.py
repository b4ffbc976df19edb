"""Parameters taken from a set: collected under several hash seeds, by real pytest processes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from triage.errors import NothingSelectedError
from triage.model.arm import BASELINE, Level
from triage.model.outcome import Outcome
from triage.model.project import Collection, Item, Unsteady
from triage.model.trial import Stage, Trial
from triage.session.options import Provision, RunOptions
from triage.session.prepare import Prepared, prepare
from triage.session.steadiness import explained, look, why_not_run

TESTS = """\
import pytest

@pytest.mark.parametrize("name", set("abcdefgh"))
def test_order(name):
    pass

@pytest.mark.parametrize("name", ["".join(set("abcdefgh"))])
def test_ids(name):
    pass

@pytest.mark.parametrize("name", ["a", "b"])
def test_steady(name):
    pass
"""

ITEM = Item(id="test_a.py::test_steady[a]", file="test_a.py", line=11)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_a.py").write_text(TESTS)
    return tmp_path


@pytest.fixture(scope="module")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of pytest itself, which is compiled once and not for every project."""
    return tmp_path_factory.mktemp("bytecode")


@pytest.fixture
def prepared(project: Path, env_python: Callable[[str], Path], bytecode: Path) -> Callable[..., Prepared]:
    def run(node_id: str, *args: str, **environ: str) -> Prepared:
        options = RunOptions(
            node_ids=(node_id,),
            python=(str(env_python("py3.11-plugins")),),
            provision=Provision.NEVER,
            pytest_args=("-p", "xdist", *args),
        )
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(project),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            **environ,
        }
        found, runner = prepare(options, project, environment, lambda event: None)
        runner.close()
        return found

    return run


def test_what_differs_is_found_with_its_line_and_the_users_split_is_known(prepared: Callable[..., Prepared]) -> None:
    found = prepared("test_a.py::test_steady[a]", "-n", "4", "--dist", "loadfile").project
    assert [(one.test, one.line, one.ids_differ) for one in found.unsteady] == [
        ("test_a.py::test_order", 3, False),
        ("test_a.py::test_ids", 7, True),
    ]
    assert found.scope_arguments == ()
    assert Level(factor="workers", value="4 loadfile") in found.starts


def test_a_pinned_hash_seed_is_the_same_in_every_process(prepared: Callable[..., Prepared]) -> None:
    assert prepared("test_a.py::test_steady[a]", PYTHONHASHSEED="5").project.unsteady == ()


def test_a_node_id_of_another_process_is_told_as_that(prepared: Callable[..., Prepared]) -> None:
    with pytest.raises(NothingSelectedError) as caught:
        prepared("test_a.py::test_ids[no-such-order]")
    assert caught.value.message.startswith(
        "not collected this time: the parameters of `test_a.py::test_ids` (test_a.py:7)"
    )
    assert caught.value.hint is not None
    assert "name `test_a.py::test_ids`" in caught.value.hint


def test_an_id_that_no_process_has_is_just_unknown() -> None:
    error = NothingSelectedError("no test matches")
    collection = Collection(root="/r", inifile=None, items=(ITEM,), plugins=())

    def found(_: Collection) -> None:
        raise error

    assert explained(error, ["test_a.py::test_steady[c]"], lambda ids, seed: collection, found) is error
    assert explained(error, ["test_a.py::test_other"], lambda ids, seed: collection, found) is error


def test_a_dear_collection_is_not_repeated() -> None:
    def collect(node_ids: tuple[str, ...], seed: str) -> Collection:
        raise AssertionError(f"{node_ids} under {seed}")

    assert look([ITEM], collect, price=31.0, budget=120.0) is None


def test_without_parameters_nothing_is_collected_again() -> None:
    def collect(node_ids: tuple[str, ...], seed: str) -> Collection:
        raise AssertionError(f"{node_ids} under {seed}")

    assert look([Item(id="test_a.py::test_it", file="test_a.py")], collect, price=0.1, budget=120.0) == ()


def test_a_trial_without_the_target_says_why() -> None:
    trial = Trial(arm=BASELINE, stage=Stage.SCOUT, outcome=Outcome.NOT_COLLECTED, reason="gone")
    one = Unsteady(test="test_a.py::test_steady", file="test_a.py", line=11, ids_differ=True)
    assert why_not_run(trial, ITEM, ()) == "gone"
    assert why_not_run(trial, ITEM, (one,)).startswith("its node id exists in some processes only, as the parameters")
