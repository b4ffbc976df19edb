"""The factor `workers`: its levels, how they change the command, and the search for what it was."""

from random import Random

import pytest

from triage.experiment.bench import Limits
from triage.experiment.planner import Planner
from triage.factors.base import Context
from triage.factors.order import Order
from triage.factors.workers import Workers
from triage.model.arm import Level
from triage.model.invocation import Invocation
from triage.model.observation import Observation
from triage.model.project import Collection, Interpreter, Item, Plugin, Project, Unsteady
from triage.model.trial import Stage

XDIST = Plugin(name="xdist", distribution="pytest-xdist", version="3.8.0")
TARGET = "tests/test_b.py::target"
IDS = ("tests/test_a.py::one", "tests/test_a.py::two", TARGET, "tests/test_b.py::four")


def factor(tmp_path, *, ids=IDS, plugins=(XDIST,), marks=(), **project):
    scope = tuple(Item(id=id_, file=id_.partition("::")[0], marks=marks) for id_ in ids)
    target = Item(id=TARGET, file="tests/test_b.py")
    known = Project(
        root=str(tmp_path),
        interpreters=(Interpreter(path="/one/python", version="3.11.7", pytest="9.0", origin="test"),),
        collection=Collection(root=str(tmp_path), inifile=None, items=(target,), plugins=plugins),
        scope=scope,
        **project,
    )
    return Workers(Context(project=known, target=target, orders=".triage/orders"))


def applied(workers, value, *options):
    invocation = Invocation(root="/r", python="/one/python", node_ids=(TARGET,), options=options)
    return workers.apply(workers.level(value), invocation)


def values(workers):
    return [level.value for level in workers.levels()]


def test_without_xdist_it_says_so_and_what_to_do(tmp_path):
    reason = factor(tmp_path, plugins=()).reason()
    assert reason == "pytest-xdist is not active in `/one/python` (`/one/python -m pip install pytest-xdist` adds it)"
    assert factor(tmp_path).reason() is None


def test_where_workers_would_collect_differently_xdist_is_not_asked(tmp_path):
    one = Unsteady(test="a.py::t", file="a.py", line=3, seen=(("[x]",), ("[y]",)))
    reason = factor(tmp_path, unsteady=(one,)).reason()
    assert reason is not None
    assert "`a.py::t` (a.py:3)" in reason


def test_the_usual_splits_come_first_and_the_users_own_before_them(tmp_path):
    assert values(factor(tmp_path))[:4] == ["2 load", "4 load", "2 loadfile", "2 worksteal"]
    starts = (Level(factor="order", value="x"), Level(factor="workers", value="4 loadfile"))
    mine = values(factor(tmp_path, starts=starts))
    assert mine[:2] == ["4 loadfile", "2 load"]
    assert len(set(mine)) == len(mine)


def test_splits_that_are_the_same_as_another_are_left_out(tmp_path):
    assert not [value for value in values(factor(tmp_path)) if "loadgroup" in value]
    assert "2 loadgroup" in values(factor(tmp_path, marks=("xdist_group",)))
    assert not [value for value in values(factor(tmp_path, ids=IDS[2:])) if "loadfile" in value]
    assert values(factor(tmp_path, ids=(TARGET,))) == ["2 each", "4 each"]


def test_the_scope_runs_by_the_arguments_that_stand_for_it(tmp_path):
    own = ("-q", "-n", "0")  # as where the user's own command has workers, and trials have none
    whole = applied(factor(tmp_path, scope_arguments=()), "4 loadfile", *own)
    assert (whole.node_ids, whole.options) == ((), ("-q", "-n", "4", "--dist", "loadfile"))
    assert applied(factor(tmp_path, scope_arguments=("tests",)), "2 load").node_ids == ("tests",)
    assert applied(factor(tmp_path), "2 load").node_ids == IDS
    assert applied(factor(tmp_path), "none", *own).options == own


def test_a_target_outside_the_scope_is_added_to_it(tmp_path):
    others = IDS[:2]
    assert applied(factor(tmp_path, ids=others, scope_arguments=("tests",)), "2 load").node_ids == ("tests", TARGET)
    assert applied(factor(tmp_path, ids=others, scope_arguments=()), "2 load").node_ids == ("tests/test_a.py", TARGET)
    assert applied(factor(tmp_path, ids=others), "2 load").node_ids == (*others, TARGET)


def test_a_long_scope_goes_to_a_file(tmp_path):
    ids = (*(f"tests/test_a.py::test_{number:0100}" for number in range(100)), TARGET)
    found = applied(factor(tmp_path, ids=ids), "2 load")
    assert found.node_ids == ("tests/test_a.py", "tests/test_b.py")
    assert found.levels[0].startswith("order=.triage/orders/")


def search(workers, fails):
    """Run the search of a level whose workers always fail after `one` and `two`; returns what it finds and what it asked for."""
    trigger = workers.level("2 load")
    asked = []
    steps = workers.refine(trigger, None, "bad", 1.0, 0.0)
    assert steps is not None
    try:
        wanted = next(steps)
        while True:
            asked.append(wanted.arm.levels[0])
            assert wanted.stage is Stage.FOCUS
            level = wanted.arm.levels[0]
            bad = level == trigger or fails(level.ids)
            wanted = steps.send(
                Observation(signature="bad" if bad else None, before=IDS[:2] if level == trigger else ())
            )
    except StopIteration as stop:
        return stop.value, asked


def test_what_a_worker_ran_is_run_in_one_process_and_made_smaller(tmp_path):
    workers = factor(tmp_path)
    found, asked = search(workers, lambda ids: IDS[1] in ids)
    assert (found.factor, found.ids) == ("order", (IDS[1],))
    assert asked[1].ids == IDS[:2]
    assert isinstance(workers.owner(found), Order)


def test_what_passes_in_one_process_stays_with_the_workers(tmp_path):
    workers = factor(tmp_path)
    found, asked = search(workers, lambda ids: False)
    assert found == workers.level("2 load")
    assert workers.owner(found) is workers
    assert {level.ids for level in asked[1:]} == {IDS[:2]}


def test_a_target_that_ran_first_in_its_worker_has_no_sequence(tmp_path):
    workers = factor(tmp_path)
    steps = workers.refine(workers.level("2 load"), None, "bad", 1.0, 0.0)
    assert steps is not None
    next(steps)
    with pytest.raises(StopIteration) as stop:
        steps.send(Observation(signature="bad"))
    assert stop.value.value == workers.level("2 load")


@pytest.mark.parametrize("polluting", [True, False])
def test_the_planner_blames_the_order_of_a_worker_or_the_workers(tmp_path, polluting):
    """Both fail on workers always; only one of them fails in one process after the same tests."""
    workers = factor(tmp_path)
    seconds = [0.0]
    planner = Planner([workers], Limits(2000.0), Random(5), lambda: seconds[0])
    plan = planner.run()
    wanted = next(plan)
    try:
        while True:
            seconds[0] += 1.0
            level = wanted.arm.levels[0] if wanted.arm.levels else None
            on_workers = level is not None and level.factor == "workers"
            bad = on_workers or (level is not None and polluting and IDS[0] in level.ids)
            seen = Observation(signature="bad" if bad else None, seconds=1.0, before=IDS[:2] if on_workers else ())
            wanted = plan.send(seen)
    except StopIteration:
        pass
    (claim,) = planner.claims["bad"]
    assert claim.confirmed
    assert claim.factor == ("order" if polluting else "workers")
    if polluting:
        assert claim.trigger.arm.levels[0].ids == (IDS[0],)


def test_what_xdist_hides_is_no_effect_of_workers(tmp_path):
    """A death at the end of the process: seen in nearly every trial of the baseline, never on workers."""
    rng, seconds = Random(3), [0.0]
    planner = Planner([factor(tmp_path)], Limits(600.0), Random(5), lambda: seconds[0])
    plan = planner.run()
    wanted = next(plan)
    try:
        while True:
            seconds[0] += 1.0
            bad = not wanted.arm.levels and rng.random() < 0.9
            wanted = plan.send(Observation(signature="bad" if bad else None, seconds=1.0))
    except StopIteration:
        pass
    assert planner.ledger.failures["bad"]
    assert planner.claims == {}
