"""Which parametrised tests several collections of the same files do not agree on."""

from triage.model.project import Item
from triage.targets.steadiness import files_of, unsteady


def items(*ids):
    return [Item(id=id_, file=id_.partition("::")[0], line=7) for id_ in ids]


def test_only_files_with_parameters_are_worth_a_look():
    assert files_of(items("a.py::t", "b.py::t[1]", "b.py::t[2]", "c.py::K::t[x::y]")) == ("b.py", "c.py")


def test_the_same_everywhere_is_nothing_to_tell():
    assert unsteady([items("a.py::t[1]", "a.py::t[2]")] * 3) == ()


def test_another_order_and_other_ids_are_told_apart():
    first = items("a.py::same[1]", "a.py::order[x]", "a.py::order[y]", "a.py::ids[x-y]", "a.py::plain")
    second = items("a.py::same[1]", "a.py::order[y]", "a.py::order[x]", "a.py::ids[y-x]", "a.py::plain")
    order, ids = unsteady([first, first, second])
    assert (order.test, order.line, order.ids_differ, order.seen) == (
        "a.py::order",
        7,
        False,
        (("[x]", "[y]"), ("[y]", "[x]")),
    )
    assert (ids.test, ids.ids_differ) == ("a.py::ids", True)
    assert (
        ids.statement
        == "the parameters of `a.py::ids` (a.py:7) are other ones under another hash seed (`[x-y]` or `[y-x]`)"
    )


def test_a_test_that_only_some_collections_have_differs():
    (one,) = unsteady([[], items("a.py::t[1]")])
    assert (one.test, one.ids_differ) == ("a.py::t", True)


def test_brackets_within_parameters_belong_to_them():
    (one,) = unsteady([items("a.py::t[x[0]]", "a.py::t[y]"), items("a.py::t[y]", "a.py::t[x[0]]")])
    assert one.test == "a.py::t"
