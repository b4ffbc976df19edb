"""Each factor of the levels plugin, as a printed command applies it."""

from __future__ import annotations

import json

import pytest

THREE = "def test_a(): pass\ndef test_b(): pass\ndef test_c(): pass\n"


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ("colour=red", "unknown level `colour=red`; known: order, repeat, rng_seed, without"),
        ("rng_seed", "unknown level `rng_seed`"),
        ("rng_seed=red", "`rng_seed=red`: a seed is a whole number"),
        ("repeat=0", "`repeat=0`: a number of repetitions is a whole number from 1"),
        ("repeat=2 repeat=3", "`repeat` is set twice"),
        ("order=none.json", "`order=none.json`: No such file"),
        ("order=test_a.py", "`order=test_a.py`: no JSON"),
        ("without=", "`without=`: names of plugins"),
    ],
)
def test_a_wrong_level_ends_pytest_with_a_usage_error(project, levels, message):
    project.write("test_a.py", THREE)
    result = project.run(levels=levels)
    assert result.status == 4
    assert "ERROR: TRIAGE_LEVELS: " in result.stderr
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_without_levels_the_plugin_does_nothing(project):
    project.write("test_a.py", THREE)
    assert project.run(levels="").complete().started() == ["test_a", "test_b", "test_c"]


# -- rng_seed --------------------------------------------------------------------------------------------------------

DRAWS = """\
import json, pathlib, random
import pytest
{imports}
seen = {{"import": draw()}}
@pytest.fixture(scope="module")
def wide(): return draw()
@pytest.fixture
def narrow(): return draw()
def test_first(wide, narrow): seen["first"] = [wide, narrow, draw()]
def test_second(narrow): seen["second"] = [narrow, draw()]
def test_last(): pathlib.Path("seen.json").write_text(json.dumps(seen))
"""
RANDOM = DRAWS.format(imports="draw = random.random")
NUMPY = DRAWS.format(
    imports="import numpy\ndef draw(): return [random.random(), numpy.random.random()]\nearly = numpy.random.get_state()"
)


def draws(project, levels, *args):
    result = project.run(*args, levels=levels).complete()
    assert result.status == 0, result.stdout
    return json.loads((project.folder / "seen.json").read_text())


def test_rng_seed_fixes_draws_at_import_in_fixtures_and_in_tests(project):
    project.write("test_a.py", RANDOM)
    first, again, other = (draws(project, f"rng_seed={seed}") for seed in (7, 7, 8))
    assert first == again
    assert all(first[place] != other[place] for place in first)
    assert first["second"] == first["first"][:2]
    assert draws(project, None) != draws(project, None)


def test_rng_seed_fixes_numpy_without_importing_it_for_others(plugin_project):
    args = ("-p", "no:randomly")
    plugin_project.write("test_a.py", NUMPY)
    first, again, other = (draws(plugin_project, f"rng_seed={seed}", *args) for seed in (7, 7, 2**40))
    assert first == again
    assert all(first[place] != other[place] for place in first)
    plugin_project.write("test_a.py", "import sys\ndef test_it(): assert 'numpy' not in sys.modules\n")
    assert plugin_project.run(*args, levels="rng_seed=7").complete().status == 0


def test_rng_seed_holds_where_randomly_reseeds_only_without_it(plugin_project):
    plugin_project.write("test_a.py", NUMPY)
    order = ("-p", "no:cacheprovider", "--randomly-dont-reorganize")
    first, again = (draws(plugin_project, "rng_seed=7 without=randomly", *order) for _ in range(2))
    assert first == again
    assert draws(plugin_project, "rng_seed=7", *order) != draws(plugin_project, "rng_seed=7", *order)


# -- order -----------------------------------------------------------------------------------------------------------


def order(project, ids, *args, **options):
    project.write("ids.json", json.dumps(ids))
    return project.run(*args, levels="order=ids.json", **options)


ODD = """\
import pytest
@pytest.mark.parametrize("word", ["a b", "c[d]", "e\\nf", "\\u00fc::g"])
def test_odd(word): pass
"""


def test_order_runs_the_listed_alone_and_in_that_order(project):
    project.write("test_a.py", THREE)
    project.write("test_b.py", ODD)
    collected = project.run(plan={"collect": True}).one("collected")["items"]
    ids = [item["id"] for item in collected]
    wanted = [ids[5], ids[0], ids[6], ids[3], ids[2]]
    result = order(project, wanted).complete()
    assert [event["id"] for event in result.of("start")] == wanted
    assert (result.one("collected")["count"], result.one("collected")["selected"]) == (7, 5)
    assert "2 deselected" in result.stdout


def test_order_comes_after_every_other_plugin(plugin_project):
    plugin_project.write("test_a.py", THREE)
    plugin_project.write(
        "conftest.py",
        """\
        import pytest
        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_collection_modifyitems(items):
            yield
            items.reverse()
        """,
    )
    wanted = [f"test_a.py::test_{name}" for name in "bca"]
    result = order(plugin_project, wanted, "--ff")
    assert [event["id"] for event in result.complete().of("start")] == wanted


def test_order_across_modules_tears_down_what_the_next_does_not_need(project):
    project.write(
        "conftest.py",
        """\
        import pytest
        log = []
        @pytest.fixture(scope="module", autouse=True)
        def module(request):
            log.append("+" + request.node.name)
            yield
            log.append("-" + request.node.name)
        def pytest_sessionfinish():
            print("LOG", *log)
        """,
    )
    for name in ("test_a.py", "test_b.py"):
        project.write(name, "def test_1(): pass\ndef test_2(): pass\n")
    ids = ["test_b.py::test_1", "test_a.py::test_2", "test_b.py::test_2"]
    result = order(project, ids, "-s").complete()
    assert "LOG +test_b.py -test_b.py +test_a.py -test_a.py +test_b.py -test_b.py\n" in result.stdout


def test_order_with_an_id_that_was_not_collected_is_a_usage_error(project):
    project.write("test_a.py", THREE)
    result = order(project, ["test_a.py::test_a", "test_a.py::test_x"])
    assert result.status == 4
    assert "1 node id(s) not collected:\n  test_a.py::test_x" in result.stderr
    assert result.of("start") == []


def test_order_leaves_collection_errors_to_pytest(project):
    project.write("test_a.py", "import nothing_of_that_name\n")
    project.write("test_b.py", THREE)
    result = order(project, ["test_a.py::test_a", "test_b.py::test_a"])
    assert result.status == 2
    assert "nothing_of_that_name" in result.stdout


# -- repeat ----------------------------------------------------------------------------------------------------------


def test_repeat_runs_each_in_a_row_with_its_own_setup_and_teardown(project):
    project.write(
        "test_a.py",
        """\
        import pytest
        log = []
        @pytest.fixture(scope="module")
        def module():
            log.append("+module"); yield; log.append("-module"); print("LOG", *log)
        @pytest.fixture
        def own():
            log.append("+own"); yield; log.append("-own")
        def test_a(module, own): log.append("a")
        @pytest.mark.parametrize("number", [1, 2])
        def test_b(module, number): log.append("b%d" % number)
        """,
    )
    project.write("test_b.py", "def test_c(): pass\n")
    result = project.run("-s", levels="repeat=3").complete()
    assert result.started() == ["test_a"] * 3 + ["test_b[1]"] * 3 + ["test_b[2]"] * 3 + ["test_c"] * 3
    assert [event["index"] for event in result.of("start")] == [1, 2, 3] * 4
    assert [event["index"] for event in result.of("finish")] == [1, 2, 3] * 4
    own = "+own a -own " * 3
    assert f"LOG +module {own}b1 b1 b1 b2 b2 b2 -module\n" in result.stdout
    assert "12 passed" in result.stdout


def test_repeat_stops_after_what_does_not_pass_and_goes_on_with_the_next(project):
    project.write(
        "test_a.py",
        """\
        import pytest
        counts = {}
        log = []
        @pytest.fixture(scope="module", autouse=True)
        def module():
            log.append("+module"); yield; log.append("-module"); print("LOG", *log)
        def nth(name):
            counts[name] = counts.get(name, 0) + 1
            return counts[name]
        @pytest.fixture
        def setup():
            assert nth("setup") < 2
        @pytest.fixture
        def teardown():
            yield
            assert nth("teardown") < 2
        def test_call(): assert nth("call") < 3
        def test_setup(setup): pass
        def test_teardown(teardown): pass
        def test_skip():
            if nth("skip") == 2: pytest.skip("now")
        def test_xfail():
            if nth("xfail") == 2: pytest.xfail("now")
        @pytest.mark.xfail(strict=False)
        def test_xpass(): pass
        """,
    )
    project.write("test_b.py", "def test_last(): pass\n")
    result = project.run("-s", levels="repeat=4").complete()
    counts = {name: result.started().count(name) for name in dict.fromkeys(result.started())}
    assert counts == {
        "test_call": 3,
        "test_setup": 2,
        "test_teardown": 2,
        "test_skip": 2,
        "test_xfail": 2,
        "test_xpass": 1,
        "test_last": 4,
    }
    assert "LOG +module -module\n" in result.stdout
    assert result.stdout.index("LOG") < result.stdout.index("test_b.py")


@pytest.mark.parametrize("where", ["call", "function teardown"])
def test_repeat_reports_a_module_teardown_that_fails_after_it_stopped(project, where):
    project.write(
        "test_a.py",
        f"""\
        import pytest
        @pytest.fixture(scope="module", autouse=True)
        def module():
            yield
            raise OSError("module teardown")
        @pytest.fixture
        def own():
            yield
            assert {where == "call"}
        def test_it(own): assert {where != "call"}
        """,
    )
    project.write("test_b.py", "def test_last(): pass\n")
    result = project.run(levels="repeat=3").complete()
    assert result.started() == ["test_it", "test_last", "test_last", "test_last"]
    messages = [event["failure"]["message"] for event in result.of("phase") if event["failure"]]
    assert "module teardown" in messages
    assert len(messages) == 2
    ends = [event["e"] for event in result.events if event["e"] in ("phase", "finish") and "test_it" in event["id"]]
    # Noticed in time, it is part of the test's own teardown; after a failing teardown it comes later.
    assert ends == ["phase"] * 3 + (["finish"] if where == "call" else ["finish", "phase"])


@pytest.mark.parametrize("args", [("-x",), ("--maxfail=1",)])
def test_repeat_respects_stopping(project, args):
    project.write("test_a.py", "def test_bad(): assert 0\ndef test_never(): pass\n")
    result = project.run(*args, levels="repeat=3").complete()
    assert (result.status, result.started()) == (1, ["test_bad"])


def test_repeat_respects_should_stop(project):
    project.write(
        "test_a.py", "def test_stops(request): request.session.shouldstop = 'enough'\ndef test_never(): pass\n"
    )
    result = project.run(levels="repeat=3")
    assert (result.status, result.started()) == (2, ["test_stops"])


def test_repeat_gives_every_execution_fresh_objects(project):
    project.write(
        "test_a.py",
        '''\
        import unittest, pytest
        class TestPlain:
            def test_it(self, tmp_path, request, record_property, capsys):
                assert not hasattr(self, "mark")
                self.mark = 1
                assert list(tmp_path.iterdir()) == []
                (tmp_path / "x").touch()
                assert request.node.user_properties == []
                record_property("a", 1)
                assert list(request.node.iter_markers("mine")) == []
                request.node.add_marker(pytest.mark.mine)
                print("printed")
                assert capsys.readouterr().out == "printed\\n"
            @staticmethod
            def test_static(): pass
        class TestUnit(unittest.TestCase):
            @classmethod
            def setUpClass(cls): cls.classes = getattr(cls, "classes", 0) + 1
            def setUp(self): self.numbers = []
            def test_it(self):
                self.numbers.append(1)
                self.assertEqual((self.numbers, self.classes), ([1], 1))
                assert not hasattr(self, "mark")
                self.mark = 1
        def documented():
            """
            >>> documented()
            1
            """
            return 1
        ''',
    )
    project.write("pytest.ini", "[pytest]\nfilterwarnings = error\nmarkers = mine\naddopts = --doctest-modules\n")
    result = project.run(levels="repeat=3").complete()
    assert result.status == 0, result.stdout
    assert len(result.of("start")) == 12


def test_repeat_captures_each_execution_by_itself(project):
    project.write(
        "test_a.py", "n = []\ndef test_it():\n    n.append(1)\n    print('run', len(n))\n    assert len(n) < 3\n"
    )
    result = project.run(levels="repeat=3").complete()
    assert "run 3" in result.stdout
    assert "run 2" not in result.stdout


def test_repeat_refuses_xdists_workers(plugin_project):
    plugin_project.write("test_a.py", THREE)
    result = plugin_project.run("-n", "1", levels="repeat=3")
    assert result.status == 4
    assert "`repeat` needs one process" in result.stderr
    assert len(plugin_project.run("-n", "0", levels="repeat=3").of("start")) == 9


def test_levels_work_together(project):
    project.write("test_a.py", "import random\n" + THREE + "def test_d(): assert random.random() > 0\n")
    project.write("ids.json", json.dumps(["test_a.py::test_d", "test_a.py::test_b"]))
    result = project.run(levels="rng_seed=3 order=ids.json repeat=2 without=none").complete()
    assert result.started() == ["test_d", "test_d", "test_b", "test_b"]
