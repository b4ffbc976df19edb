"""What the probe keeps when the process dies, forks, is mocked, or looks for the probe's traces."""

from __future__ import annotations

import ast
import json
import subprocess
from pathlib import Path

import pytest

PROBE = Path(__file__).resolve().parents[3] / "triage" / "probe"
SEGFAULT = "import ctypes; ctypes.string_at(0)"


def test_a_crash_leaves_the_start_and_all_threads_stacks(project):
    project.write(
        "test_a.py",
        f"""\
        import threading
        def waits(event): event.wait()
        def test_before(): pass
        def test_crash():
            threading.Thread(target=waits, args=(threading.Event(),), daemon=True).start()
            {SEGFAULT}
        """,
    )
    result = project.run()
    assert result.status == -11
    assert result.started() == ["test_before", "test_crash"]
    assert result.phases("test_crash") == [("setup", "passed")]
    assert [event["id"] for event in result.of("finish")] == ["test_a.py::test_before"]
    assert "Segmentation fault" in result.crash
    assert "in waits" in result.crash
    assert "in test_crash" in result.crash
    assert "in test_crash" not in result.stderr


@pytest.mark.parametrize("args", [(), ("-p", "no:faulthandler"), ("-p", "no:cacheprovider", "-s")])
def test_a_crash_while_the_interpreter_ends(project, args):
    project.write(
        "test_a.py", f"import atexit\ndef bye():\n    {SEGFAULT}\natexit.register(bye)\ndef test_it(): pass\n"
    )
    result = project.run(*args)
    assert result.status == -11
    assert result.events[-1]["e"] == "end"
    assert result.one("session_end")["status"] == 0
    assert "in bye" in result.crash


@pytest.mark.parametrize("where", ["def test_enables(): ", "@pytest.fixture(autouse=True)\n        def enables(): "])
def test_a_target_that_takes_faulthandler_does_not_keep_it(project, where):
    project.write("conftest.py", "import faulthandler\nfaulthandler.enable()\n")
    project.write(
        "test_a.py",
        f"""\
        import faulthandler, pytest
        {where}faulthandler.enable()
        def test_disables(): faulthandler.disable()
        def test_crash(): {SEGFAULT}
        """,
    )
    result = project.run()
    assert result.status == -11
    assert "in test_crash" in result.crash


def test_an_abort_from_outside_writes_where_the_target_hangs(project):
    project.write("test_a.py", "import os, signal\ndef test_hangs():\n    os.kill(os.getpid(), signal.SIGABRT)\n")
    result = project.run()
    assert result.status == -6
    assert "in test_hangs" in result.crash


@pytest.mark.parametrize(
    ("end", "status", "last", "session"),
    [
        ("import os; os._exit(7)", 7, "phase", []),
        ("raise KeyboardInterrupt", 2, "end", [2]),
        ("import pytest; pytest.exit('enough', returncode=9)", 9, "end", [9]),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -9, "phase", []),
    ],
)
def test_ends_of_the_process_inside_a_test_lose_nothing(project, end, status, last, session):
    project.write("test_a.py", f"def test_a(): pass\ndef test_b():\n    {end}\ndef test_c(): pass\n")
    result = project.run()
    assert result.status == status
    assert result.started() == ["test_a", "test_b"]
    assert len(result.of("finish")) == 1
    assert result.phases("test_b")[:1] == [("setup", "passed")]
    assert result.events[-1]["e"] == last
    assert [event["status"] for event in result.of("session_end")] == session


def test_mocks_of_everything_that_the_probe_calls(project):
    project.write(
        "test_a.py",
        """\
        import builtins, io, json, linecache, os, sys, time, traceback, types
        from unittest import mock
        import pytest
        NAMES = [
            (os, "write"), (os, "getpid"), (os, "open"), (os, "fstat"), (os, "getcwd"), (io, "open"),
            (builtins, "open"), (json, "dumps"), (json.JSONEncoder, "encode"), (json.encoder, "encode_basestring_ascii"),
            (time, "time"), (time, "monotonic"), (time, "perf_counter"), (sys, "_getframe"),
            (os.path, "join"), (os.path, "isabs"), (os.path, "abspath"), (traceback, "format_exception"),
        ]
        @pytest.fixture(params=NAMES, ids=lambda pair: getattr(pair[0], "__name__", "") + "." + pair[1])
        def mocked(request):
            # A tool that replaces a function in every module that has it, as clock and file system fakes do.
            owner, name = request.param
            original = getattr(owner, name)
            fake = mock.Mock(side_effect=RuntimeError("mocked"))
            places = [(owner, name)]
            for module in list(sys.modules.values()):
                if isinstance(module, types.ModuleType) and module.__name__.startswith("triage_probe"):
                    places += [(module, key) for key, value in vars(module).items() if value is original]
            patches = [mock.patch.object(place, key, fake) for place, key in places]
            for patch in patches: patch.start()
            try:
                yield
            finally:
                for patch in patches: patch.stop()
        def test_passes(mocked): pass
        """,
    )
    result = project.run("-s")  # pytest's capture itself needs some of these
    starts, finishes = result.of("start"), result.of("finish")
    assert len(starts) == 18, result.stdout
    assert [event["id"] for event in starts] == [event["id"] for event in finishes]
    calls = [event["outcome"] for event in result.of("phase") if event["when"] == "call"]
    assert calls == ["passed"] * len(starts)
    times = [event["t"] for event in result.events]
    assert times == sorted(times)
    assert result.status == 0


def test_a_failure_under_mocks_is_described(project):
    project.write(
        "test_a.py",
        """\
        from unittest import mock
        def test_it(monkeypatch):
            for name in ("builtins.open", "io.open", "os.write", "json.dumps", "time.perf_counter"):
                monkeypatch.setattr(name, mock.Mock(side_effect=RuntimeError("mocked")))
            assert 1 == 2
        """,
    )
    result = project.run("--tb=native")
    assert result.failure("test_it")["source"] == "assert 1 == 2"
    assert result.of("internal_error") == []


@pytest.mark.parametrize(("first", "last"), [(64, 40), (4096, 40), (4096, 400)])
def test_a_target_that_closes_all_descriptors(project, first, last):
    """Also those of the probe, whose numbers then belong to other files: the target's, or another one of the probe's."""
    project.write(
        "test_a.py",
        f"""\
        import os, tempfile
        def test_closes():
            os.closerange(3, {first})
            global kept
            kept = [os.open(__file__, os.O_RDONLY) for _ in range({last})]
        def test_after(): {SEGFAULT}
        """,
    )
    result = project.run("-s", "-p", "no:faulthandler")
    assert result.status == -11
    assert result.started() == ["test_closes", "test_after"]
    assert len(result.of("finish")) == 1
    assert "in test_after" in result.crash


def test_a_fork_that_goes_on_running_pytest_writes_nothing(project):
    project.write(
        "test_a.py",
        f"""\
        import os, signal
        def test_forks():
            if os.fork() == 0:
                assert False, "only in the child"
            os.wait()
        def test_in_both(): pass
        def test_child_crashes():
            child = os.fork()
            if child == 0:
                {SEGFAULT}
            assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGSEGV
        """,
    )
    result = project.run("-s", plan={"facts": True}).complete()
    assert result.started() == ["test_forks", "test_in_both", "test_child_crashes"]
    assert [event["failure"] for event in result.of("phase")] == [None] * 9
    assert len(result.of("facts")) == 3
    assert result.stdout.count(" passed") == 2
    assert result.crash == ""


@pytest.mark.parametrize(
    "before", [{}, {"PYTHONPATH": "lib", "PYTEST_PLUGINS": "own_plugin", "PYTHONFAULTHANDLER": "1"}]
)
def test_the_environment_is_put_back(project, before):
    project.write("lib/own_plugin.py", "import os, sys\nSEEN = dict(os.environ), list(sys.path)\n")
    project.write(
        "test_a.py",
        """\
        import json, os, pathlib, subprocess, sys
        def test_it():
            code = "import json, os, sys; print(json.dumps([dict(os.environ), sys.path]))"
            child = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True).stdout
            os.environ.pop("PYTEST_CURRENT_TEST")
            seen = {"own": [dict(os.environ), sys.path], "child": json.loads(child)}
            pathlib.Path("seen.json").write_text(json.dumps(seen))
        """,
    )
    for levels in (None, "rng_seed=1"):
        seen = []
        for probe in (False, True):
            result = project.run("-p", "no:cacheprovider", probe=probe, levels=levels, env=before)
            assert result.status == 0, result.stdout + result.stderr
            seen.append(json.loads((project.folder / "seen.json").read_text()))
        without, with_probe = seen
        for environment, path in (*without.values(), *with_probe.values()):
            assert not [entry for entry in path if entry.endswith(("/probe", "/plugins"))]
            environment.pop("PYTEST_CURRENT_TEST", None)
            assert not [name for name in environment if name.startswith("TRIAGE")]
            assert {name: environment.get(name) for name in ("PYTHONPATH", "PYTEST_PLUGINS")} == {
                name: before.get(name) for name in ("PYTHONPATH", "PYTEST_PLUGINS")
            }
        assert with_probe == without


def test_variables_of_the_plan_are_put_back(project):
    project.write(
        "test_a.py",
        """\
        import os
        def test_it():
            assert os.environ["ONE"] == "1"
            assert "TWO" not in os.environ
        """,
    )
    plan = {"env": {"ONE": "1", "TWO": None, "PYTHONPATH": None}}
    assert project.run(env={"TWO": "2"}, plan=plan).complete().status == 0


@pytest.mark.parametrize("content", ["{", '{"v": 2, "wire": "x"}', '{"v": 1}'])
def test_an_unusable_plan_records_nothing_and_breaks_nothing(project, content):
    project.write("test_a.py", "import os\ndef test_it(): assert 'TRIAGE_PROBE' not in os.environ\n")
    plan = project.write("plan.json", content)
    result = project.run(
        probe=False, env={"PYTHONPATH": str(PROBE), "PYTEST_PLUGINS": "triage_probe", "TRIAGE_PROBE": str(plan)}
    )
    assert result.status == 0
    assert "not recording" in result.stderr


def test_a_wire_that_cannot_be_opened_breaks_nothing(project):
    project.write("test_a.py", "def test_it(): pass\n")
    result = project.run(plan={"wire": str(project.outside / "no" / "folder")})
    assert result.status == 0
    assert "not recording" in result.stderr


LIMITS = """\
import resource, signal
def test_limits():
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, {hard}))
def test_after():
    assert resource.getrlimit(resource.RLIMIT_FSIZE) == (0, {hard})
"""


def test_a_limit_of_the_targets_files_is_not_the_records(project):
    project.write("test_a.py", LIMITS.format(hard="resource.RLIM_INFINITY"))
    result = project.run("-p", "no:cacheprovider")
    assert result.status == 0, result.stdout
    assert result.started() == ["test_limits", "test_after"]
    assert not (project.outside / "lost-wire").is_symlink()


def test_what_cannot_be_written_breaks_nothing_and_leaves_a_mark(project):
    project.write("test_a.py", LIMITS.format(hard=0))
    result = project.run("-p", "no:cacheprovider")
    assert result.status == 0, result.stdout
    assert result.started() == ["test_limits"]
    assert "limited" in str((project.outside / "lost-wire").readlink())


def test_pytests_cache_is_the_trials(project):
    project.write("test_a.py", "def test_it(cache):\n    cache.set('a/b', 1)\n    assert 0\ndef test_that(): pass\n")
    users = project.write(".pytest_cache/v/cache/lastfailed", '{"test_a.py::test_that": true}')
    result = project.run("--lf")
    assert result.started() == ["test_it", "test_that"]
    assert (project.outside / "cache" / "pytest" / "v" / "a" / "b").read_text() == "1"
    assert [path for path in (project.folder / ".pytest_cache").rglob("*") if path.is_file()] == [users]
    project.run("--cache-clear", "-o", f"cache_dir={project.folder / '.pytest_cache'}")
    assert users.exists()
    project.run("-o", "cache_dir=own")
    assert not (project.folder / "own").exists()


def test_without_a_cache_there_is_none(project):
    project.write("test_a.py", "def test_it(pytestconfig): assert getattr(pytestconfig, 'cache', None) is None\n")
    assert project.run("-p", "no:cacheprovider").complete().status == 0


def test_hypothesis_examples_are_the_trials(plugin_project, monkeypatch):
    monkeypatch.delenv("CI", raising=False)  # hypothesis keeps no examples there
    plugin_project.write(
        "test_a.py",
        """\
        import os, sys
        from hypothesis import given, strategies as st
        @given(st.text())
        def test_it(text): assert len(text) < 3
        def test_traces():
            assert "HYPOTHESIS_STORAGE_DIRECTORY" not in os.environ
            assert not [finder for finder in sys.meta_path if type(finder).__module__.startswith("triage")]
        """,
    )
    cached = plugin_project.write(".hypothesis/unicode_data/1/warm", "x")
    result = plugin_project.run("-p", "no:randomly").complete()
    assert result.phases("test_it")[1] == ("call", "failed")
    assert result.phases("test_traces")[1] == ("call", "passed")
    home = plugin_project.outside / "cache" / "hypothesis"
    assert list((home / "examples").iterdir())
    assert (home / "unicode_data" / "1" / "warm").read_text() == "x"
    assert [path for path in (plugin_project.folder / ".hypothesis").rglob("*") if path.is_file()] == [cached]


def test_hypothesis_is_not_imported_for_a_target_that_does_not(plugin_project):
    plugin_project.write(
        "test_a.py", "import sys\ndef test_it(): assert 'hypothesis.configuration' not in sys.modules\n"
    )
    assert plugin_project.run("-p", "no:randomly").complete().status == 0


@pytest.mark.parametrize("args", [("-n", "0"), ("-n", "0", "--cov=.", "--reruns", "2"), ("-p", "no:xdist")])
def test_beside_the_plugins_that_users_have(plugin_project, args):
    plugin_project.write("pytest.ini", "[pytest]\n")
    plugin_project.write("test_a.py", "def test_it(): pass\ndef test_that(): pass\n")
    result = plugin_project.run(*args).complete()
    assert sorted(result.started()) == ["test_it", "test_that"]
    assert len(result.of("finish")) == 2


def test_xdists_controller_records_what_its_workers_report(plugin_project):
    plugin_project.write(
        "test_a.py",
        f"""\
        import os
        def test_good(): assert "TRIAGE_PROBE" not in os.environ
        def test_bad():
            value = 1
            assert value == 2
        def test_crash(): {SEGFAULT}
        """,
    )
    result = plugin_project.run("-n", "1", "-p", "no:randomly", "-p", "no:rerunfailures").complete()
    assert result.one("collected")["selected"] == 3
    assert result.started() == ["test_good", "test_bad", "test_crash"]
    assert result.phases("test_good") == [("setup", "passed"), ("call", "passed"), ("teardown", "passed")]
    failure = result.failure("test_bad")
    assert failure["message"] == "assert 1 == 2"
    assert failure["frames"][-1] == [str(plugin_project.folder / "test_a.py"), 5, ""]
    assert failure["source"] == "assert value == 2"
    assert result.phases("test_crash")[-1] == ("???", "failed")
    assert "crashed" in result.failure("test_crash")["message"]


def test_the_sources_are_python_3_8_and_import_only_the_standard_library_and_pytest(project):
    imported = set()
    files = sorted(PROBE.glob("triage_*/*.py"))
    assert len(files) > 10
    for path in files:
        tree = ast.parse(path.read_text(encoding="utf-8"), feature_version=(3, 8))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                imported.add((node.module or "").partition(".")[0])
    code = "import json, sys; print(json.dumps(sorted(sys.stdlib_module_names)))"
    names = subprocess.run([project.python, "-c", code], capture_output=True, text=True, check=True).stdout
    assert imported - set(json.loads(names)) == {"pytest"}


def test_the_probe_imports_in_an_isolated_interpreter(project):
    code = f"""if 1:
        import sys, types
        sys.modules["pytest"] = pytest = types.ModuleType("pytest")
        pytest.hookimpl = lambda **options: lambda function: function
        pytest.UsageError = Exception
        sys.path.insert(0, {str(PROBE)!r})
        before = set(sys.modules)
        import triage_probe, triage_levels
        import triage_probe.recorder, triage_probe.workers, triage_levels.order, triage_levels.repeat
        heavy = ("asyncio", "concurrent.futures", "multiprocessing", "unittest")
        sys.stdout.write(repr([name for name in heavy if name in sys.modules]))
    """
    done = subprocess.run([project.python, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "[]"), done.stderr
