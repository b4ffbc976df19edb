"""The exception is read before a report is made of it: who else has a say in that, and what is recorded then."""

from __future__ import annotations

import pytest

FAILED = [("setup", "passed"), ("call", "failed"), ("teardown", "passed")]
PASSED = [("setup", "passed"), ("call", "passed"), ("teardown", "passed")]


def whole(failure, exception, message, source):
    """Assert that a description was made from the exception itself: frames with functions, down to the one that raised."""
    assert (failure["exception"], failure["message"], failure["source"]) == (exception, message, source)
    assert failure["frames"]
    assert all(function for _file, _line, function in failure["frames"])
    assert failure["text"]
    return failure


def test_unittest(project):
    project.write(
        "test_a.py",
        """\
        import unittest
        class TestIt(unittest.TestCase):
            def setUp(self):
                if self._testMethodName == "test_setup": raise OSError("set up")
            def tearDown(self):
                if self._testMethodName == "test_teardown": raise OSError("tear down")
            def test_fail(self): self.fail("no")
            def test_error(self): raise ValueError("bad")
            def test_setup(self): pass
            def test_teardown(self): pass
            def test_skipped(self): self.skipTest("later")
            def test_cleanup(self): self.addCleanup(self.fail, "clean up")
        class TestAsync(unittest.IsolatedAsyncioTestCase):
            async def test_async(self): raise TimeoutError("late")
        class TestBroken(unittest.TestCase):
            @classmethod
            def setUpClass(cls): raise RuntimeError("class")
            def test_never(self): pass
        """,
    )
    result = project.run().complete()
    whole(result.failure("test_fail"), "AssertionError", "no", 'def test_fail(self): self.fail("no")')
    whole(result.failure("test_error"), "ValueError", "bad", 'def test_error(self): raise ValueError("bad")')
    setup = 'if self._testMethodName == "test_setup": raise OSError("set up")'
    whole(result.failure("test_setup"), "OSError", "set up", setup)
    teardown = 'if self._testMethodName == "test_teardown": raise OSError("tear down")'
    whole(result.failure("test_teardown"), "OSError", "tear down", teardown)
    assert result.failure("test_cleanup")["message"] == "clean up"
    late = 'async def test_async(self): raise TimeoutError("late")'
    whole(result.failure("test_async"), "TimeoutError", "late", late)
    broken = result.failure("test_never")
    whole(broken, "RuntimeError", "class", 'def setUpClass(cls): raise RuntimeError("class")')
    assert result.phases("test_never")[0] == ("setup", "failed")
    skipped = [event for event in result.of("phase") if event["outcome"] == "skipped"]
    assert [(event["reason"], event["failure"]) for event in skipped] == [("later", None)]


def test_several_failing_subtests_of_unittest_are_told_apart(project):
    project.write(
        "test_a.py",
        """\
        import unittest
        class TestIt(unittest.TestCase):
            def test_it(self):
                for number in range(4):
                    with self.subTest(number=number):
                        if number % 2: raise ValueError(f"odd {number}")
                raise KeyError("after")
        """,
    )
    result = project.run().complete()
    failures = [(event.get("subtest", False), event["failure"]) for event in result.of("phase") if event["failure"]]
    odd = 'if number % 2: raise ValueError(f"odd {number}")'
    for (subtest, failure), message in zip(failures, ("odd 1", "odd 3"), strict=False):
        assert subtest
        whole(failure, "ValueError", message, odd)
    assert len(failures) == 3
    assert not failures[2][0]
    whole(failures[2][1], "KeyError", "'after'", 'raise KeyError("after")')


def test_failing_subtests_of_the_fixture_are_told_apart_from_the_test(project):
    project.write(
        "test_a.py",
        """\
        def test_it(subtests):
            for number in range(4):
                with subtests.test(number=number):
                    if number % 2: raise ValueError(f"odd {number}")
            raise KeyError("after")
        """,
    )
    result = project.run().complete()
    failures = [(event.get("subtest", False), event["failure"]) for event in result.of("phase") if event["failure"]]
    assert [(subtest, failure["message"]) for subtest, failure in failures] == [
        (True, "odd 1"),
        (True, "odd 3"),
        (False, "'after'"),
    ]
    for _subtest, failure in failures:
        whole(failure, failure["exception"], failure["message"], failure["source"])


def test_doctests(project):
    project.write("pytest.ini", "[pytest]\nfilterwarnings = error\naddopts = --doctest-modules\n")
    project.write(
        "product.py",
        '''\
        def wrong():
            """
            >>> 1 + 1
            3
            """
        def raising():
            """
            >>> int("x")
            """
        ''',
    )
    result = project.run("product.py").complete()
    wrong, raising = result.failure("product.wrong"), result.failure("product.raising")
    assert wrong["exception"] == "doctest.DocTestFailure"
    assert "Expected:\n    3\nGot:\n    2" in wrong["text"]
    assert "invalid literal for int()" in raising["text"]
    assert all(failure["frames"] for failure in (wrong, raising))
    assert result.phases("product.wrong") == FAILED


@pytest.mark.parametrize(
    ("mark", "raised", "phases"),
    [
        ("strict=True", "pass", FAILED),
        (
            "strict=True",
            "raise ValueError('known')",
            [("setup", "passed"), ("call", "skipped"), ("teardown", "passed")],
        ),
        ("raises=KeyError", "raise ValueError('other')", FAILED),
        ("run=False", "raise ValueError('never')", [("setup", "skipped"), ("teardown", "passed")]),
    ],
)
def test_expected_failures(project, mark, raised, phases):
    project.write("test_a.py", f"import pytest\n@pytest.mark.xfail({mark})\ndef test_it(): {raised}\n")
    result = project.run().complete()
    assert result.phases("test_it") == phases
    if phases is FAILED and raised != "pass":
        whole(result.failure("test_it"), "ValueError", "other", "def test_it(): raise ValueError('other')")
    elif phases is FAILED:
        assert result.failure("test_it")["message"].startswith("[XPASS(strict)]")
    else:
        assert [event["failure"] for event in result.of("phase")] == [None] * len(phases)


CHANGE = """\
import pytest
def change(item, report):
    if report.when != "call": return
    if "good" in report.nodeid: report.outcome, report.longrepr = "failed", "the reviewer says no"
    if "bad" in report.nodeid: report.outcome, report.longrepr = "passed", None
    if "known" in report.nodeid: report.outcome, report.wasxfail = "skipped", "it is known"
"""
WRAPPERS = {
    "old": """\
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    change(item, report)
""",
    "new": """\
@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    change(item, report)
    return report
""",
    "log": """\
@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report):
    change(None, report)
""",
}


@pytest.mark.parametrize("kind", WRAPPERS)
def test_a_plugin_that_changes_the_outcome_has_the_last_word(project, kind):
    project.write("conftest.py", CHANGE + WRAPPERS[kind])
    project.write(
        "test_a.py",
        """\
        def test_good(): pass
        def test_bad(): assert 0
        def test_known(): assert 0
        def test_other(): raise ValueError("other")
        """,
    )
    result = project.run().complete()
    assert result.phases("test_good") == FAILED
    good = result.failure("test_good")
    assert (good["exception"], good["message"]) == (None, "the reviewer says no")
    assert result.phases("test_bad") == PASSED
    assert result.phases("test_known")[1] == ("call", "skipped")
    whole(result.failure("test_other"), "ValueError", "other", 'def test_other(): raise ValueError("other")')


def test_a_passing_report_of_a_failed_test_leaves_nothing_for_the_next_one(project):
    """Tests of one name run one after the other: what was read of one exception describes no other failure."""
    project.write(
        "conftest.py",
        """\
        import pytest
        seen = []
        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_makereport(item, call):
            report = (yield).get_result()
            if report.when == "call":
                seen.append(report)
                if len(seen) == 1: report.outcome = "passed"
                if len(seen) == 2: report.outcome, report.longrepr = "failed", "the second"
        """,
    )
    project.write("test_a.py", "n = []\ndef test_it():\n    n.append(1)\n    assert len(n) > 1, 'the first'\n")
    result = project.run(levels="repeat=2").complete()
    assert result.phases("test_it") == [*PASSED, *FAILED]
    assert result.failure("test_it")["message"] == "the second"


def test_a_plugin_that_makes_the_report_itself_is_described_by_it(project):
    """No other plugin is asked then, neither is ours: what the report says is what is known."""
    project.write(
        "conftest.py",
        """\
        import pytest
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_makereport(item, call):
            return pytest.TestReport.from_item_and_call(item, call)
        """,
    )
    project.write(
        "test_a.py", "def inner():\n    raise ValueError('bad')\ndef test_it(): inner()\ndef test_ok(): pass\n"
    )
    result = project.run().complete()
    failure = result.failure("test_it")
    assert (failure["exception"], failure["message"]) == ("ValueError", "bad")
    assert [line for _file, line, _function in failure["frames"]] == [3, 2]
    assert failure["source"] == "raise ValueError('bad')"
    assert result.phases("test_ok") == PASSED


def test_a_plugin_that_runs_the_protocol_itself(project):
    """As those do that rerun or repeat: the hooks that record are called by it."""
    project.write(
        "conftest.py",
        """\
        import pytest
        from _pytest.runner import runtestprotocol
        @pytest.hookimpl(tryfirst=True)
        def pytest_runtest_protocol(item, nextitem):
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            for report in runtestprotocol(item, nextitem=nextitem, log=False):
                if report.failed and item.name == "test_forgiven":
                    report.outcome = "rerun"
                item.ihook.pytest_runtest_logreport(report=report)
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
            return True
        """,
    )
    project.write(
        "test_a.py",
        """\
        import pytest
        @pytest.fixture
        def untidy():
            yield
            raise OSError("teardown")
        def test_ok(): pass
        def test_both(untidy): raise ValueError("call")
        def test_forgiven(): raise KeyError("again")
        def test_skipped(): pytest.skip("not now")
        """,
    )
    result = project.run().complete()
    assert result.started() == ["test_ok", "test_both", "test_forgiven", "test_skipped"]
    assert len(result.of("finish")) == 4
    assert result.phases("test_ok") == PASSED
    call, teardown = [event["failure"] for event in result.of("phase") if event["id"].endswith("test_both")][1:]
    whole(call, "ValueError", "call", 'def test_both(untidy): raise ValueError("call")')
    whole(teardown, "OSError", "teardown", 'raise OSError("teardown")')
    assert result.phases("test_forgiven")[1] == ("call", "rerun")
    forgiven = 'def test_forgiven(): raise KeyError("again")'
    whole(result.failure("test_forgiven"), "KeyError", "'again'", forgiven)
    assert result.phases("test_skipped")[1] == ("call", "skipped")


def test_subtests_fixture(project):
    project.write(
        "test_a.py",
        """\
        def test_it(subtests):
            for number in range(3):
                with subtests.test(number=number):
                    assert number != 1
        """,
    )
    result = project.run().complete()
    failures = [event["failure"] for event in result.of("phase") if event["failure"]]
    assert failures[0]["exception"] == "AssertionError"
    assert failures[0]["source"] == "assert number != 1"
    assert result.phases("test_it")[-1] == ("teardown", "passed")
    assert result.status == 1


def test_a_report_changed_by_the_users_own_hook_is_recorded_as_changed(project):
    project.write(
        "conftest.py",
        """\
        import pytest
        @pytest.hookimpl(hookwrapper=True, tryfirst=True)
        def pytest_runtest_makereport(item, call):
            outcome = yield
            report = outcome.get_result()
            if report.when == "call" and item.name == "test_good":
                report.outcome, report.longrepr = "failed", "the reviewer says no"
            if report.when == "call" and item.name == "test_bad":
                report.outcome = "passed"
        """,
    )
    project.write("test_a.py", "def test_good(): pass\ndef test_bad(): assert 0\n")
    result = project.run().complete()
    assert result.phases("test_good") == FAILED
    assert result.failure("test_good")["message"] == "the reviewer says no"
    assert result.phases("test_bad") == PASSED
