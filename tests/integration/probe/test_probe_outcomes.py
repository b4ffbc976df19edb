"""What the probe records of tests that end in every way that does not end the process."""

from __future__ import annotations

import pytest

PASSED = [("setup", "passed"), ("call", "passed"), ("teardown", "passed")]
STRICT_WITH_MARK = "[pytest]\nfilterwarnings = error\nmarkers = mine\naddopts = --strict-markers\n"
FAILED = [("setup", "passed"), ("call", "failed"), ("teardown", "passed")]


def test_failure_has_type_message_all_frames_and_the_source_line_in_the_project(project):
    project.write("product.py", "def divide(a, b):\n    return a / b\n")
    project.write(
        "test_a.py",
        """\
        from product import divide
        def hidden():
            __tracebackhide__ = True
            divide(1, 0)
        def test_it():
            hidden()
        """,
    )
    result = project.run().complete()
    failure = result.failure("test_it")
    assert failure["exception"] == "ZeroDivisionError"
    assert failure["message"] == "division by zero"
    inner = [(file.rpartition("/")[2], line, function) for file, line, function in failure["frames"][-3:]]
    assert inner == [("test_a.py", 6, "test_it"), ("test_a.py", 4, "hidden"), ("product.py", 2, "divide")]
    assert failure["frames"][0][2] == "from_call"
    assert failure["source"] == "return a / b"
    assert "ZeroDivisionError" in failure["text"]
    assert result.phases("test_it") == FAILED


def test_source_is_the_deepest_line_in_the_project_not_in_a_library(project):
    project.write("test_a.py", "import json\ndef test_it():\n    json.loads('{')\n")
    failure = project.run().complete().failure("test_it")
    assert failure["exception"] == "json.decoder.JSONDecodeError"
    assert failure["frames"][-1][0].endswith("json/decoder.py")
    assert failure["source"] == "json.loads('{')"


def test_chain_has_the_frames_of_the_last_one_raised(project):
    project.write(
        "test_a.py",
        """\
        class OwnError(Exception):
            pass
        def first():
            raise KeyError("first")
        def test_it():
            try:
                first()
            except KeyError as error:
                raise OwnError("second") from error
        """,
    )
    failure = project.run().complete().failure("test_it")
    assert failure["exception"] == "test_a.OwnError"
    assert failure["message"] == "second"
    assert failure["frames"][-1][1:] == [9, "test_it"]
    assert "KeyError" in failure["text"]


@pytest.mark.parametrize(
    ("raised", "exception", "message"),
    [
        ("ExceptionGroup('several', [ValueError('a'), KeyError('b')])", "ExceptionGroup", "several (2 sub-exceptions)"),
        ("SystemExit(3)", "SystemExit", "3"),
        ("Odd()", "test_a.Odd", "<no message: __str__ raised RuntimeError>"),
        ("ValueError('a' + chr(0) + chr(0xD800) + chr(0x1F600))", "ValueError", "a\0\\ud800\U0001f600"),
        ("pytest.fail.Exception('no')", "Failed", "no"),
    ],
)
def test_odd_exceptions(project, raised, exception, message):
    project.write(
        "test_a.py",
        f"""\
        import pytest
        class Odd(Exception):
            def __str__(self):
                raise RuntimeError("no")
            __repr__ = __str__
        def test_it():
            raise {raised}
        """,
    )
    failure = project.run().complete().failure("test_it")
    assert (failure["exception"], failure["message"]) == (exception, message)


def test_long_texts_are_cut_in_the_middle_and_say_so(project):
    project.write("test_a.py", "def test_it():\n    raise ValueError('<' + 'x' * 1_000_000 + '>')\n")
    result = project.run("--tb=short", plan={"text_limit": 1000}).complete()
    failure = result.failure("test_it")
    assert failure["message"].startswith("<xxx")
    assert failure["message"].endswith("xxx>")
    assert f"[... {1_000_002 - 1000} characters left out ...]" in failure["message"]
    assert "characters left out" in failure["text"]
    assert max(map(len, result.lines)) < 20_000


def test_endless_recursion_keeps_both_ends_of_its_frames(project):
    project.write(
        "test_a.py",
        """\
        import sys
        def deeper(n):
            deeper(n + 1)
        def test_it():
            sys.setrecursionlimit(6000)
            deeper(0)
        """,
    )
    failure = project.run("--tb=native").complete().failure("test_it")
    assert failure["exception"] == "RecursionError"
    assert failure["frames"][-1][2] == "deeper"
    assert failure["frames"][0][2] == "from_call"
    assert len(failure["frames"]) == 4001
    assert "frames left out" in failure["frames"][2000][2]


def test_skips_and_expected_failures_have_reasons(project):
    project.write(
        "test_a.py",
        """\
        import pytest
        @pytest.mark.skip(reason="not here")
        def test_skipped(): pass
        def test_skipped_inside(): pytest.skip("not now")
        @pytest.mark.xfail(reason="known")
        def test_xfailed(): assert False
        @pytest.mark.xfail(reason="fixed", strict=False)
        def test_xpassed(): pass
        @pytest.mark.xfail(reason="strictly", strict=True)
        def test_xpassed_strict(): pass
        """,
    )
    result = project.run().complete()
    seen = {
        event["id"].partition("::")[2]: (event["outcome"], event["xfail"], event["reason"])
        for event in result.of("phase")
        if event["when"] == "call" or event["outcome"] == "skipped"
    }
    assert seen == {
        "test_skipped": ("skipped", False, "not here"),
        "test_skipped_inside": ("skipped", False, "not now"),
        "test_xfailed": ("skipped", True, "known"),
        "test_xpassed": ("passed", True, "fixed"),
        "test_xpassed_strict": ("failed", False, None),
    }
    failure = result.failure("test_xpassed_strict")
    assert failure["exception"] is None
    assert failure["message"] == "[XPASS(strict)] strictly"


def test_errors_in_setup_and_teardown(project):
    project.write(
        "test_a.py",
        """\
        import pytest
        @pytest.fixture
        def broken(): raise OSError("setup")
        @pytest.fixture
        def untidy():
            yield
            raise OSError("teardown")
        def test_setup(broken): pass
        def test_teardown(untidy): pass
        def test_both(untidy): assert 0
        """,
    )
    result = project.run().complete()
    assert result.phases("test_setup") == [("setup", "failed"), ("teardown", "passed")]
    assert result.phases("test_teardown") == [("setup", "passed"), ("call", "passed"), ("teardown", "failed")]
    assert result.phases("test_both") == [("setup", "passed"), ("call", "failed"), ("teardown", "failed")]
    assert result.failure("test_setup")["message"] == "setup"
    assert result.failure("test_teardown")["message"] == "teardown"
    assert len(result.of("finish")) == 3


def test_unittest_with_subtests_and_cleanups(project):
    project.write(
        "test_a.py",
        """\
        import unittest
        class TestIt(unittest.TestCase):
            def test_passes(self): pass
            def test_fails(self): self.assertEqual(1, 2)
            @unittest.skip("not here")
            def test_skipped(self): pass
            @unittest.expectedFailure
            def test_expected(self): self.fail("x")
            @unittest.expectedFailure
            def test_unexpected(self): pass
            def test_some_of_it(self):
                for number in range(3):
                    with self.subTest(number=number):
                        self.assertNotEqual(number, 1)
        """,
    )
    result = project.run().complete()
    assert result.phases("test_passes") == PASSED
    assert result.phases("test_fails") == FAILED
    assert result.failure("test_fails")["frames"][-1][2] == "_baseAssertEqual"
    assert result.failure("test_fails")["source"] == "def test_fails(self): self.assertEqual(1, 2)"
    assert result.phases("test_skipped")[-2][1] == "skipped"
    assert ("call", "skipped") in result.phases("test_expected")
    assert ("call", "failed") in result.phases("test_unexpected")
    some = [event for event in result.of("phase") if event["id"].endswith("test_some_of_it") and event.get("subtest")]
    assert [event["outcome"] for event in some] == ["failed"]
    assert some[0]["failure"]["exception"] == "AssertionError"
    assert some[0]["failure"]["source"] == "self.assertNotEqual(number, 1)"


def test_coroutine_tests_of_a_plugin(project):
    project.write(
        "conftest.py",
        """\
        import asyncio, inspect, pytest
        @pytest.hookimpl(tryfirst=True)
        def pytest_pyfunc_call(pyfuncitem):
            if inspect.iscoroutinefunction(pyfuncitem.obj):
                asyncio.run(pyfuncitem.obj())
                return True
        """,
    )
    project.write(
        "test_a.py",
        """\
        import asyncio
        async def inner():
            await asyncio.sleep(0)
            raise TimeoutError("late")
        async def test_fails(): await inner()
        async def test_passes(): await asyncio.sleep(0)
        """,
    )
    result = project.run().complete()
    assert result.phases("test_passes") == PASSED
    assert result.failure("test_fails")["exception"] == "TimeoutError"
    assert result.failure("test_fails")["source"] == 'raise TimeoutError("late")'


def test_collection_errors(project):
    project.write("test_a.py", "import nothing_of_that_name\n")
    project.write("test_b.py", "def test_it(): pass\n")
    result = project.run()
    (error,) = result.of("collect_error")
    assert error["id"] == "test_a.py"
    assert "nothing_of_that_name" in error["text"]
    assert result.status == 2
    assert result.of("start") == []


def test_a_conftest_that_cannot_be_imported(project):
    project.write("conftest.py", "raise RuntimeError('broken conftest')\n")
    project.write("test_a.py", "def test_it(): pass\n")
    result = project.run()
    (error,) = result.of("collect_error")
    assert error["id"].endswith("conftest.py")
    assert "broken conftest" in error["text"]
    assert result.of("configured") == []


def test_a_fault_of_a_plugin_is_an_internal_error(project):
    project.write("conftest.py", "def pytest_runtest_logstart(): raise RuntimeError('plugin fault')\n")
    project.write("test_a.py", "def test_it(): pass\n")
    result = project.run()
    (error,) = result.of("internal_error")
    assert "plugin fault" in error["text"]
    assert "triage_probe" not in error["text"].splitlines()[0]
    assert result.one("session_end")["status"] == 3
    assert result.of("finish") == []


def test_configuration_items_plugins_and_packages(plugin_project):
    plugin_project.write("pytest.ini", STRICT_WITH_MARK)
    plugin_project.write(
        "tests/test_a.py",
        """\
        import pytest
        pytestmark = pytest.mark.mine
        @pytest.mark.parametrize("word", ["a b", "c[d]"])
        @pytest.mark.mine
        def test_it(word): pass
        class TestThat:
            def test_that(self): pass
        """,
    )
    result = plugin_project.run("-k", "not that", "-p", "no:randomly", plan={"collect": True}).complete()
    configured, collected = result.one("configured"), result.one("collected")
    assert configured["root"] == str(plugin_project.folder)
    assert configured["inifile"] == str(plugin_project.folder / "pytest.ini")
    plugins = {name: distribution for name, distribution, _version in configured["plugins"]}
    assert plugins["rerunfailures"] == "pytest-rerunfailures"
    assert plugins["xdist"] == "pytest-xdist"
    assert "randomly" not in plugins
    assert (collected["count"], collected["selected"], len(collected["digest"])) == (3, 2, 64)
    assert collected["items"] == [
        {
            "id": f"tests/test_a.py::test_it[{word}]",
            "file": "tests/test_a.py",
            "line": 3,
            "marks": ["mine", "parametrize"],
        }
        for word in ("a b", "c[d]")
    ]
    packages = dict(result.one("packages")["packages"])
    assert packages["pytest"].startswith("9.")
    assert "numpy" in packages


def test_digest_follows_the_order(project):
    project.write("test_a.py", "def test_a(): pass\ndef test_b(): pass\n")
    forward = project.run().complete().one("collected")
    again = project.run("-q").complete().one("collected")
    backward = project.run("test_a.py::test_b", "test_a.py::test_a").complete().one("collected")
    assert forward["digest"] == again["digest"] != backward["digest"]
    assert "items" not in forward


def test_reruns_of_rerunfailures_are_told_from_results(plugin_project):
    plugin_project.write(
        "test_a.py",
        """\
        import pathlib, pytest
        counter = []
        def test_it():
            counter.append(1)
            assert len(counter) == 3, f"only {len(counter)}"
        """,
    )
    result = plugin_project.run("--reruns", "5", "-p", "no:randomly").complete()
    outcomes = [event["outcome"] for event in result.of("phase") if event["when"] == "call"]
    assert outcomes == ["rerun", "rerun", "passed"]
    assert [event["index"] for event in result.of("start")] == [1]
    messages = [event["failure"]["message"] for event in result.of("phase") if event["outcome"] == "rerun"]
    assert [message.splitlines()[0] for message in messages] == ["only 1", "only 2"]
    assert [event["failure"]["source"][:6] for event in result.of("phase") if event["failure"]] == ["assert", "assert"]


def test_facts(project):
    project.write(
        "test_a.py",
        """\
        import os, pickle, socket, subprocess, sys, threading, time
        from concurrent.futures import ThreadPoolExecutor
        class Nap:
            sleep = time.sleep
        def test_busy(tmp_path):
            threads = [threading.Thread(target=int) for _ in range(3)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            subprocess.run([sys.executable, "-c", ""], check=True)
            child = os.fork()
            if child == 0: os._exit(0)
            os.waitpid(child, 0)
            time.sleep(0); Nap().sleep(0)
            assert pickle.loads(pickle.dumps(time.sleep)) is time.sleep
            with socket.socket() as server, socket.socket() as client, socket.socket(socket.AF_UNIX) as local:
                server.bind(("127.0.0.1", 0)); server.listen()
                client.connect(server.getsockname())
                local.bind(str(tmp_path / "s"))
            socket.getaddrinfo("localhost", 80)
        def test_quiet(): pass
        """,
    )
    result = project.run(plan={"facts": True}).complete()
    busy, quiet = result.of("facts")
    counts = {name: busy[name] for name in ("threads", "processes", "forks", "sleeps")}
    assert counts == {"threads": 3, "processes": 1, "forks": 1, "sleeps": 2}
    assert busy["connects"][0].startswith("127.0.0.1:")
    assert busy["binds"][0] == "127.0.0.1:0"
    assert busy["binds"][1].startswith("unix:/")
    assert busy["lookups"] == ["localhost"]
    assert {name: value for name, value in quiet.items() if name not in ("e", "t", "id")} == {
        "threads": 0, "processes": 0, "forks": 0, "sleeps": 0, "connects": [], "binds": [], "lookups": [], "commands": [],
    }  # fmt: skip
    first, *_ = reached = result.of("reach")
    assert first["id"] == "test_a.py::test_busy"
    assert sorted(key for event in reached for key in event if key not in ("e", "t", "id")) == ["connects", "lookups"]
    assert project.run().complete().of("facts") == []
