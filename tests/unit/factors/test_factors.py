"""Factors as values: levels, how they change the invocation, what they count, and the searches that they bring."""

import json
import shlex
from random import Random

import pytest

from triage.factors.base import Context
from triage.factors.order import LONGEST_COMMAND, Order
from triage.factors.python import Python
from triage.factors.registry import factors
from triage.factors.repeat import Repeat
from triage.model.invocation import Invocation
from triage.model.observation import Observation
from triage.model.project import Collection, Interpreter, Item, Plugin, Project

FILES = {"tests/test_a.py": ["one", "two"], "tests/test_b.py": ["three", "target", "four"], "tests/test_c.py": ["five"]}
TARGET = "tests/test_b.py::target"


def interpreter(path, version):
    return Interpreter(path=path, version=version, pytest="9.0", origin="test")


def context(tmp_path, *, files=FILES, interpreters=(("/one/python", "3.11.7"),), plugins=(), seconds=0.01):
    scope = tuple(Item(id=f"{file}::{name}", file=file) for file, names in files.items() for name in names)
    target = next(item for item in scope if item.id == TARGET)
    project = Project(
        root=str(tmp_path),
        interpreters=tuple(interpreter(*each) for each in interpreters),
        collection=Collection(root=str(tmp_path), inifile=None, items=(target,), plugins=plugins),
        scope=scope,
    )
    return Context(project=project, target=target, orders=".triage/orders", test_seconds=seconds)


def invocation(tmp_path):
    return Invocation(root=str(tmp_path), python="/one/python", node_ids=(TARGET,))


def values(factor):
    return {level.value: level.ids for level in factor.levels()}


def test_every_factor_of_this_version_is_found():
    assert list(factors()) == ["order", "repeat", "hash_seed", "rng_seed", "workers", "python"]


def test_orders_hold_what_runs_before_the_target(tmp_path):
    assert values(Order(context(tmp_path))) == {
        "scope": ("tests/test_a.py::one", "tests/test_a.py::two", "tests/test_b.py::three"),
        "reversed": ("tests/test_c.py::five", "tests/test_b.py::four"),
        "file": ("tests/test_b.py::three",),
    }


def test_a_shuffle_is_made_again_by_its_seed(tmp_path):
    order = Order(context(tmp_path))
    levels = [order.fresh(Random(seed)) for seed in range(20)]
    assert levels == [order.fresh(Random(seed)) for seed in range(20)]
    assert len({level.ids for level in levels if level}) > 5
    assert all(TARGET not in level.ids for level in levels if level)


def test_a_test_alone_in_its_scope_has_no_order(tmp_path):
    order = Order(context(tmp_path, files={"tests/test_b.py": ["target"]}))
    assert "--scope" in order.reason()
    assert order.levels() == ()
    assert order.fresh(Random(1)) is None


def test_an_order_is_the_arguments_of_the_command(tmp_path):
    order = Order(context(tmp_path))
    level = order.level("scope", ("tests/test_a.py::one", "tests/test_c.py::five[a b]"))
    result = order.apply(level, invocation(tmp_path))
    assert result.node_ids == ("tests/test_a.py::one", "tests/test_c.py::five[a b]", TARGET)
    assert shlex.split(result.command())[-2:] == ["tests/test_c.py::five[a b]", TARGET]


def test_a_long_order_goes_to_a_file(tmp_path):
    ids = tuple(f"tests/test_{number}.py::{'x' * 200}" for number in range(LONGEST_COMMAND // 200 + 1))
    order = Order(context(tmp_path))
    result = order.apply(order.level("scope", ids), invocation(tmp_path))
    (word,) = result.levels
    path = tmp_path / word.removeprefix("order=")
    assert json.loads(path.read_text()) == [*ids, TARGET]
    assert result.node_ids[-1] == "tests/test_b.py"


def drive(search, fails):
    """Answer a search by a rule on the ids before the target; return the level it finds."""
    request = next(search)
    try:
        while True:
            ids = request.arm.levels[0].ids if request.arm.levels else ()
            request = search.send(Observation(signature="s" if fails(ids) else None, index=1))
    except StopIteration as stop:
        return stop.value


@pytest.mark.parametrize("needed", [{"t7"}, {"t0", "t31"}, {"t1", "t2", "t3"}])
def test_a_polluting_set_is_minimised(tmp_path, needed):
    order = Order(context(tmp_path))
    level = order.level("scope", tuple(f"t{number}" for number in range(32)))
    found = drive(order.refine(level, None, "s", 1.0, 0.0), lambda ids: needed <= set(ids))
    assert set(found.ids) == needed


def test_what_a_brittle_test_needs_is_minimised(tmp_path):
    order = Order(context(tmp_path))
    level = order.level("scope", tuple(f"t{number}" for number in range(16)))
    found = drive(order.refine(None, level, "s", 1.0, 0.0), lambda ids: "t5" not in ids)
    assert found.ids == ("t5",)


def test_a_polluter_is_found_though_the_target_also_fails_by_itself(tmp_path):
    order = Order(context(tmp_path))
    level = order.level("scope", tuple(f"t{number}" for number in range(16)))
    right = 0
    for seed in range(20):
        rng = Random(seed)
        search = order.refine(level, None, "s", 0.95, 0.1)
        found = drive(search, lambda ids, rng=rng: rng.random() < (0.95 if "t5" in ids else 0.1))
        right += "t5" in found.ids
    assert right >= 18


def test_two_orders_that_both_need_tests_are_left_as_they_are(tmp_path):
    order = Order(context(tmp_path))
    assert order.refine(order.level("scope", ("a",)), order.level("reversed", ("b",)), "s", 1.0, 0.0) is None


@pytest.mark.parametrize(
    ("index", "at_2", "at_first"), [(1, None, True), (2, True, False), (None, False, False)], ids=["1st", "2nd", "none"]
)
def test_repetition_compares_hazards(tmp_path, index, at_2, at_first):
    repeat = Repeat(context(tmp_path))
    seen = Observation(signature="s" if index else None, index=index)
    assert repeat.event(repeat.level(2), seen, "s") is at_2
    if index != 2:
        assert repeat.event(None, seen, "s") is at_first


def test_the_execution_at_which_it_fails_is_found(tmp_path):
    repeat = Repeat(context(tmp_path))
    search = repeat.refine(repeat.level(20), None, "s", 1.0, 0.0)
    next(search)
    with pytest.raises(StopIteration) as stop:
        while True:
            search.send(Observation(signature="s", index=3))
    assert stop.value.value == repeat.level(3)


def test_slow_tests_are_repeated_less_often(tmp_path):
    (fast,), (slow,) = (Repeat(context(tmp_path, seconds=seconds)).levels() for seconds in (0.001, 1.0))
    assert int(fast.value) > int(slow.value) >= 2


def test_seeds_are_part_of_the_command(tmp_path):
    for name, word in (("hash_seed", "PYTHONHASHSEED=7"), ("rng_seed", "TRIAGE_LEVELS=rng_seed=7")):
        factor = factors()[name](context(tmp_path))
        assert word in factor.apply(factor.level(7), invocation(tmp_path)).command()


def test_hypothesis_is_seeded_by_its_own_option(tmp_path):
    plugin = Plugin(name="hypothesispytest", distribution="hypothesis", version="6")
    with_it, without = (factors()["rng_seed"](context(tmp_path, plugins=plugins)) for plugins in ((plugin,), ()))
    assert "--hypothesis-seed=7" in with_it.apply(with_it.level(7), invocation(tmp_path)).options
    assert without.apply(without.level(7), invocation(tmp_path)).options == ()


def test_interpreters_are_named_as_briefly_as_they_can_be(tmp_path):
    def names(*interpreters):
        python = Python(context(tmp_path, interpreters=interpreters))
        return [python.home.value, *(level.value for level in python.levels())]

    assert names(("/a", "3.11.7"), ("/b", "3.13.0")) == ["3.11", "3.13"]
    assert names(("/a", "3.11.7"), ("/b", "3.11.9")) == ["3.11.7", "3.11.9"]
    assert names(("/a", "3.11.7"), ("/b", "3.11.7")) == ["3.11.7 (/a)", "3.11.7 (/b)"]


def test_another_interpreter_runs_the_trial(tmp_path):
    python = Python(context(tmp_path, interpreters=(("/a", "3.11.7"), ("/b", "3.13.0"))))
    assert python.apply(python.levels()[0], invocation(tmp_path)).python == "/b"
    assert "--python" in Python(context(tmp_path)).reason()
