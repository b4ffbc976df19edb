"""What the seeds of random-ordering plugins stand for."""

from __future__ import annotations

import pytest

from triage.model.arm import Level
from triage.model.project import Collection, Item, Plugin
from triage.targets.ci import leaving, seeded, starts
from triage.targets.configuration import Configured
from triage.targets.takeover import Taken

RANDOMLY = Plugin(name="randomly", distribution="pytest-randomly", version="5")
RANDOM_ORDER = Plugin(name="random_order", distribution="pytest-random-order", version="1")


@pytest.mark.parametrize(
    "words", [("--randomly-seed=7",), ("--randomly-seed", "7"), ("--randomly-seed=1", "--randomly-seed=7")]
)
def test_a_seed_is_found_where_the_plugin_is_active(words) -> None:
    (found,) = seeded([RANDOMLY], Configured(words=words))
    assert (found.name, found.orders, found.seeds) == ("ci randomly-seed=7", True, True)
    assert seeded([RANDOM_ORDER], Configured(words=words)) == ()


@pytest.mark.parametrize("words", [(), ("--randomly-seed=last",), ("--randomly-seed",), ("-p", "randomly")])
def test_without_a_number_there_is_nothing_to_start_from(words) -> None:
    assert seeded([RANDOMLY], Configured(words=words)) == ()


def test_what_the_user_switched_off_stays_off() -> None:
    words = ("--randomly-seed=7", "--randomly-dont-reorganize", "--randomly-dont-reset-seed")
    (found,) = seeded([RANDOMLY], Configured(words=words))
    assert (found.orders, found.seeds) == (False, False)


def test_a_plugin_that_only_orders_seeds_nothing() -> None:
    (found,) = seeded([RANDOM_ORDER], Configured(words=("--random-order-seed=5",)))
    assert (found.orders, found.seeds) == (True, False)


def test_the_order_is_what_pytest_collects_with_the_plugin_left_on() -> None:
    asked = []

    def collect(taken):
        asked.append(taken.levels)
        items = tuple(Item(id=name, file="t.py") for name in ("t.py::b", "t.py::a"))
        return Collection(root="/", inifile=None, items=items, plugins=())

    taken = Taken(levels=("without=rerunfailures,randomly",))
    levels = starts(seeded([RANDOMLY], Configured(words=("--randomly-seed=7",))), taken, collect)
    assert asked == [("without=rerunfailures",)]
    assert levels == (
        Level(factor="order", value="ci randomly-seed=7", ids=("t.py::b", "t.py::a")),
        Level(factor="rng_seed", value="ci randomly-seed=7"),
    )


def test_a_plugin_is_left_on_alone() -> None:
    assert leaving(("without=randomly", "repeat=2"), "randomly") == ("repeat=2",)
