"""A printed command, read again, is the same invocation."""

from __future__ import annotations

import pytest

from triage.model.invocation import Invocation, parse

HARD = ("t.py::test_x[a b]", "t.py::test_x['\"]", "t.py::test_x[\\n]", "sub/t.py::C::test_ü")


@pytest.mark.parametrize("levels", [(), ("without=randomly", "rng_seed=7")])
@pytest.mark.parametrize("python", ["/usr/bin/python3", "/project/.venv/bin/python"])
@pytest.mark.parametrize("inherited", [{}, {"PYTHONPATH": "/elsewhere"}])
def test_the_command_of_what_was_read_is_the_command(levels, python, inherited) -> None:
    made = Invocation(
        root="/project",
        python=python,
        node_ids=HARD,
        options=("-k", "a and not b", "-x"),
        env=(("PYTHONHASHSEED", "3"), ("TZ", "Asia/Tokyo x")),
        levels=levels,
    )
    again = parse(made.command(inherited), "/project")
    assert again.argv == made.argv
    assert again.environment(dict(inherited)) == made.environment(dict(inherited))
    assert again.command(inherited) == made.command(inherited)


@pytest.mark.parametrize("text", ["", "echo hello", "A=1", "python -m unittest t.py"])
def test_another_command_is_refused(text) -> None:
    with pytest.raises(ValueError, match="not a command"):
        parse(text, "/project")
