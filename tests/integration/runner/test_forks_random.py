"""What forked trials draw: as processes of their own would, and what they share all the same."""

from __future__ import annotations

from typing import Any

import pytest

DRAWS = """
{imports}
from seeing import see
{at_import}
def test(): see({draw})
"""
RANDOM = ("import random", "random.seed(5)", "random.random()", "random.getrandbits(64)")
NUMPY = (
    "import numpy.random",  # numpy itself imports it when it is used
    "numpy.random.seed(5)",
    "numpy.random.random()",
    "tuple(numpy.random.randint(0, 1 << 30, 4).tolist())",
)
BOTH = pytest.mark.parametrize("library", [RANDOM, NUMPY], ids=["random", "numpy"])


@pytest.fixture
def forks(forks: Any) -> Any:
    forks.env = "py3.11-plugins"
    return forks


def draws(forks: Any, library: tuple[str, ...], at_import: str = "", count: int = 4, **more: Any) -> list[str]:
    forks.write("test_r.py", DRAWS.format(imports=library[0], at_import=at_import, draw=library[3]))
    for _ in range(count):
        assert forks.run("test_r.py::test", **more).trial.outcome == "passed"
    return forks.seen()


@BOTH
def test_unseeded_generators_differ_between_trials(forks: Any, library: tuple[str, ...]):
    assert len(set(draws(forks, library))) == 4
    assert forks.pool.seeded() == ({},)


@BOTH
@pytest.mark.parametrize("times", [1, 2000])
def test_drawing_at_import_seeds_nothing(forks: Any, library: tuple[str, ...], times: int):
    assert len(set(draws(forks, library, f"for _ in range({times}): {library[2]}"))) == 4
    assert forks.pool.seeded() == ({},)


@BOTH
@pytest.mark.parametrize("before", [False, True])
def test_a_seed_set_at_import_holds_as_in_a_process_of_its_own(forks: Any, library: tuple[str, ...], before: bool):
    draw = library[2]
    forked = draws(forks, library, f"{draw if before else ''}\n{library[1]}\n{draw}")
    assert forks.cold("test_r.py::test").trial.outcome == "passed"
    assert set(forked) == set(forks.seen())
    assert list(forks.pool.seeded()[0]) == ["numpy.random" if library is NUMPY else "random"]


@BOTH
def test_a_seed_from_the_system_is_seen_by_comparing_servers(forks: Any, library: tuple[str, ...]):
    at_import = library[1].replace("5", "")
    first = draws(forks, library, at_import)
    states = forks.pool.seeded()
    second = draws(forks, library, at_import, generation=1)
    assert (len(set(first)), len(set(second))) == (1, 1)
    assert first[0] != second[0]
    assert forks.pool.seeded() != states


@BOTH
def test_a_generator_imported_within_a_test_is_its_own(forks: Any, library: tuple[str, ...]):
    forks.write("test_r.py", f"from seeing import see\ndef test():\n    {library[0]}\n    see({library[3]})\n")
    for _ in range(3):
        forks.run("test_r.py::test")
    assert len(set(forks.seen())) == 3


def test_nothing_is_imported_into_a_target_without_numpy(forks: Any):
    forks.write("test_r.py", "import sys\nfrom seeing import see\ndef test(): see('numpy' in sys.modules)\n")
    forks.run("test_r.py::test")
    forks.run("test_r.py::test", levels=("rng_seed=7",))
    assert forks.seen() == ["False", "False"]


@BOTH
def test_a_level_seeds_as_in_a_cold_trial(forks: Any, library: tuple[str, ...]):
    forked = draws(forks, library, levels=("rng_seed=7",))
    forks.cold("test_r.py::test", levels=("rng_seed=7",))
    assert set(forked) == set(forks.seen())
    assert set(draws(forks, library, count=2, levels=("rng_seed=8",))).isdisjoint(forked)
    assert len(set(draws(forks, library))) == 4
    assert len(forks.pool._servers) == 1


def test_a_level_seeds_what_a_test_imports(forks: Any):
    forks.write("test_r.py", f"from seeing import see\ndef test():\n    import numpy\n    see({NUMPY[3]})\n")
    forks.run("test_r.py::test", levels=("rng_seed=7",))
    forks.run("test_r.py::test", levels=("rng_seed=7",))
    forks.cold("test_r.py::test", levels=("rng_seed=7",))
    assert len(set(forks.seen())) == 1


def test_what_is_fixed_before_the_fork_is_shared_within_a_server_alone(forks: Any):
    """The cluster: hashes, addresses and whatever was drawn at import."""
    forks.write(
        "test_r.py",
        "import random, uuid\nfrom seeing import see\nmade, own, thing = uuid.uuid4(), random.Random(), object()\n"
        "def test(): see(made, hash('a'), id(thing), own.random())\n",
    )
    seen = []
    for generation in (0, 0, 1, 1):
        forks.run("test_r.py::test", generation=generation)
        seen.append(forks.seen()[0].split())
    assert seen[0] == seen[1]
    assert seen[2] == seen[3]
    differ = [first != second for first, second in zip(seen[0], seen[2], strict=True)]
    assert differ[:2] == [True, True]
    assert differ[3]


def test_what_draws_from_the_system_is_not_shared(forks: Any):
    forks.write(
        "test_r.py",
        "import random, secrets, tempfile, uuid\nfrom seeing import see\nsystem = random.SystemRandom()\n"
        "next(tempfile._get_candidate_names())\n"
        "def test(): see(secrets.token_hex(), uuid.uuid4(), system.random(), next(tempfile._get_candidate_names()))\n",
    )
    for _ in range(2):
        forks.run("test_r.py::test")
    first, second = (line.split() for line in forks.seen())
    assert set(first).isdisjoint(second)


HYPOTHESIS = """
from hypothesis import given, settings, strategies as st
from seeing import see
drawn = []
@settings(database=None)
@given(st.integers())
def check(n): drawn.append(n)
def test():
    check()
    see(sum(drawn), drawn[-1])
"""


def test_hypothesis_seed(forks: Any):
    forks.write("test_h.py", HYPOTHESIS)
    forks.options = ("-p", "_hypothesis_pytestplugin", "-p", "no:cacheprovider")
    for seed in ("7", "7", "8", "word"):
        options = (f"--hypothesis-seed={seed}",)
        assert forks.run("test_h.py::test", options=options).trial.outcome == "passed"
    forks.cold("test_h.py::test", options=("--hypothesis-seed=7",))
    forks.cold("test_h.py::test", options=("--hypothesis-seed=word",))
    forks.run("test_h.py::test")
    seven, again, eight, word, cold, cold_word, free = forks.seen()
    assert seven == again == cold
    assert word == cold_word
    assert len({seven, eight, word, free}) == 4
    assert len(forks.pool._servers) == 1
