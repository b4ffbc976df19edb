"""Real plugins, started with options that switch them on, are inert under what `take_over` returns."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from triage.model.project import Plugin
from triage.targets.configuration import configured
from triage.targets.takeover import Taken, quiet, take_over

REPOSITORY = Path(__file__).resolve().parents[3]
LEVELS = REPOSITORY / "triage" / "probe"
ENVIRONMENTS = ("py3.11-takeover", "py3.11-plugins")

RECORDER = """
# Notes what happens.
import json, os
import pytest

SEEN = {"plugins": [], "selected": [], "ran": [], "outcomes": []}

@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    manager = config.pluginmanager
    for plugin, distribution in manager.list_plugin_distinfo():
        SEEN["plugins"].append([manager.get_name(plugin), distribution.project_name, distribution.version])

def pytest_collection_finish(session):
    SEEN["selected"] = [item.nodeid for item in session.items]

def pytest_runtest_logreport(report):
    if report.when == "call":
        SEEN["ran"].append(report.nodeid)
        SEEN["outcomes"].append(report.outcome)

def pytest_unconfigure(config):
    if not hasattr(config, "workerinput"):
        with open(os.environ["RECORDER_OUT"], "w") as out:
            json.dump(SEEN, out)
"""

TESTS = """
import os
import pytest

@pytest.mark.parametrize("number", range(8))
def test_passes(number):
    pass

def test_fails():
    with open("attempts", "a") as attempts:
        attempts.write(str(os.getpid()) + "\\n")
    assert False
"""

MARKED = TESTS.replace("def test_fails", "{mark}\ndef test_fails")


class Seen:
    def __init__(self, folder: Path, process: subprocess.CompletedProcess[str]) -> None:
        out = folder / "out.json"
        self.process = process
        data = (
            json.loads(out.read_text()) if out.exists() else {"plugins": [], "selected": [], "ran": [], "outcomes": []}
        )
        self.plugins = [
            Plugin(name=name, distribution=dist, version=version) for name, dist, version in data["plugins"]
        ]
        self.selected, self.ran, self.outcomes = data["selected"], data["ran"], data["outcomes"]
        attempts = folder / "attempts"
        self.attempts = attempts.read_text().split() if attempts.exists() else []


@pytest.fixture(scope="module")
def python() -> str:
    named = os.environ.get("TRIAGE_TAKEOVER_PYTHON")
    for path in [Path(named)] if named else [REPOSITORY / ".envs" / name / "bin" / "python" for name in ENVIRONMENTS]:
        if path.exists():
            return str(path)
    pytest.skip("no environment with plugins: run `make envs`")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (tmp_path / "recorder").mkdir()
    (tmp_path / "recorder" / "recorder_of_the_test.py").write_text(RECORDER)
    return folder


def run(python: str, project: Path, modules: tuple[str, ...], taken: Taken | None = None) -> Seen:
    """Run pytest in `project` with only `modules` as plugins, and with what was taken over."""
    for leftover in ("out.json", "attempts"):
        (project / leftover).unlink(missing_ok=True)
    taken = taken or Taken()
    ours = ("recorder_of_the_test", *(("triage_levels",) if taken.levels else ()))
    plugins = [word for module in (*modules, *ours) for word in ("-p", module)]
    paths = [str(project.parent / "recorder"), *([str(LEVELS)] if taken.levels else [])]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_CORE_"))}
    process = subprocess.run(
        [python, "-m", "pytest", *plugins, *taken.options],
        cwd=project,
        env={
            **inherited,
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPATH": os.pathsep.join(paths),
            "RECORDER_OUT": str(project / "out.json"),
            **({"TRIAGE_LEVELS": " ".join(taken.levels)} if taken.levels else {}),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return Seen(project, process)


def need(python: str, distribution: str) -> None:
    code = f"import importlib.metadata as m; m.version({distribution!r})"
    if subprocess.run([python, "-c", code], capture_output=True, check=False).returncode:
        pytest.skip(f"{distribution} is not installed in the environment of plugins")


def before_and_after(
    python: str, project: Path, addopts: str, module: str, tests: str = TESTS
) -> tuple[Seen, Seen, Taken]:
    (project / "test_it.py").write_text(tests)
    (project / "pytest.ini").write_text(
        f"[pytest]\naddopts = --strict-markers {addopts}\nfilterwarnings = error\nconsole_output_style = classic\n"
    )
    before = run(python, project, (module,))
    taken = take_over(before.plugins, configured(project / "pytest.ini", {}))
    after = run(python, project, (module,), taken)
    assert after.process.returncode == 1, after.process.stdout + after.process.stderr
    return before, after, taken


IDS = [f"test_it.py::test_passes[{number}]" for number in range(8)] + ["test_it.py::test_fails"]

RERUNS = [
    pytest.param("pytest-rerunfailures", "rerunfailures", "--reruns 2", "", 3, id="rerunfailures-option"),
    pytest.param(
        "pytest-rerunfailures", "rerunfailures", "", "@pytest.mark.flaky(reruns=2)", 3, id="rerunfailures-mark"
    ),
    pytest.param("pytest-retry", "pytest-retry", "--retries 2", "", 3, id="retry-option"),
    pytest.param("pytest-retry", "pytest-retry", "", "@pytest.mark.flaky(retries=2)", 3, id="retry-mark"),
    pytest.param("flaky", "flaky", "--force-flaky --max-runs 3", "", 3, id="flaky-option"),
    pytest.param("flaky", "flaky", "", "@__import__('flaky').flaky(max_runs=3)", 3, id="flaky-decorator"),
    pytest.param("pytest-repeat", "repeat", "--count 3", "", 3, id="repeat-option"),
    pytest.param("pytest-repeat", "repeat", "", "@pytest.mark.repeat(3)", 3, id="repeat-mark"),
]


@pytest.mark.parametrize(("distribution", "module", "addopts", "mark", "attempts"), RERUNS)
def test_a_test_runs_once(
    python: str, project: Path, distribution: str, module: str, addopts: str, mark: str, attempts: int
) -> None:
    need(python, distribution)
    before, after, taken = before_and_after(python, project, addopts, module, MARKED.replace("{mark}", mark))
    assert len(before.attempts) == attempts
    assert len(after.attempts) == 1
    assert after.ran == after.selected == IDS
    assert [takeover.what for takeover in taken.takeovers] == [distribution]


ORDERS = [
    pytest.param("pytest-randomly", "randomly", "-p randomly --randomly-seed=1", id="randomly"),
    pytest.param("pytest-random-order", "random_order", "--random-order --random-order-seed=1", id="random-order"),
    pytest.param(
        "pytest-random-order", "random_order", "--random-order-bucket=global --random-order-seed=1", id="bucket"
    ),
    pytest.param("pytest-reverse", "reverse", "--reverse", id="reverse"),
]


@pytest.mark.parametrize(("distribution", "module", "addopts"), ORDERS)
def test_tests_run_in_their_own_order(python: str, project: Path, distribution: str, module: str, addopts: str) -> None:
    need(python, distribution)
    before, after, taken = before_and_after(python, project, addopts, module)
    assert before.ran != IDS
    assert sorted(before.ran) == sorted(IDS)
    assert after.ran == IDS
    assert taken.recollect
    assert [takeover.what for takeover in taken.takeovers] == [distribution]


def test_randomly_no_longer_seeds(python: str, project: Path) -> None:
    need(python, "pytest-randomly")
    tests = TESTS + "\nimport random\ndef test_draws():\n    open('draws', 'a').write(str(random.random()) + '\\n')\n"
    _, _, taken = before_and_after(python, project, "--randomly-seed=1", "randomly", tests)
    (project / "draws").unlink()
    run(python, project, ("randomly",))
    run(python, project, ("randomly",))
    assert len(set((project / "draws").read_text().split())) == 1
    (project / "draws").unlink()
    run(python, project, ("randomly",), taken)
    run(python, project, ("randomly",), taken)
    assert len(set((project / "draws").read_text().split())) == 2


@pytest.mark.parametrize("addopts", ["-n auto", "-n2 --dist loadfile", "-d --tx 2*popen"])
def test_xdist_runs_in_one_process(python: str, project: Path, addopts: str) -> None:
    need(python, "pytest-xdist")
    before, after, taken = before_and_after(python, project, addopts, "xdist", "import os\n" + TESTS)
    assert before.selected == []  # the workers collect, not the process with the recorder
    assert after.ran == after.selected == IDS
    assert taken.options == ("-n", "0")


def test_forked_runs_in_the_process_of_pytest(python: str, project: Path) -> None:
    need(python, "pytest-forked")
    tests = TESTS + "\ndef test_parent():\n    open('parent', 'w').write(str(os.getppid()))\n"
    _, after, taken = before_and_after(python, project, "--forked", "pytest_forked", tests)
    # in a forked child its parent would be pytest; here it is the process that started pytest: this one
    assert (project / "parent").read_text() == str(os.getpid())
    assert after.attempts
    assert taken.levels == ("without=pytest_forked",)


@pytest.mark.parametrize("addopts", ["--cov=.", "--cov --cov-report=xml --cov-fail-under=100"])
def test_coverage_is_off(python: str, project: Path, addopts: str) -> None:
    need(python, "pytest-cov")
    tests = (
        TESTS + "\nimport sys\ndef test_traced():\n    open('traced', 'a').write(f\"{'coverage' in sys.modules}\\n\")\n"
    )
    _, after, taken = before_and_after(python, project, addopts, "pytest_cov", tests)
    assert (project / "traced").read_text().split() == ["True", "False"]
    assert "coverage:" not in after.process.stdout
    assert taken.options == ("--no-cov",)


def test_flakefinder_runs_a_test_once(python: str, project: Path) -> None:
    need(python, "pytest-flakefinder")
    before, after, taken = before_and_after(python, project, "--flake-finder --flake-runs=3", "flakefinder")
    assert len(before.attempts) == 3
    assert len(after.attempts) == 1
    assert len(after.ran) == len(IDS)
    assert taken.recollect


def test_timeout_stays(python: str, project: Path) -> None:
    need(python, "pytest-timeout")
    _, after, taken = before_and_after(python, project, "--timeout=60", "timeout")
    assert "timeout: 60.0s" in after.process.stdout
    assert (taken.options, taken.levels) == ((), ())
    assert [takeover.what for takeover in taken.takeovers] == ["pytest-timeout"]


WRITES = (
    "import logging\ndef test_it(tmp_path):\n    logging.warning('x')\n    open('base', 'w').write(str(tmp_path))\n"
)


@pytest.mark.parametrize(
    ("addopts", "setting"),
    [
        ("--junitxml=mine", ""),
        ("--log-file=mine", ""),
        ("", "log_file = mine"),
        ("--basetemp=mine", ""),
    ],
)
def test_files_of_the_users_own_runs_are_left_alone(python: str, project: Path, addopts: str, setting: str) -> None:
    (project / "test_it.py").write_text(WRITES)
    (project / "pytest.ini").write_text(f"[pytest]\naddopts = {addopts}\n{setting}\n")
    mine = project / "mine"
    run(python, project, ())
    assert mine.exists()
    shutil.rmtree(mine) if mine.is_dir() else mine.unlink()
    settings = configured(project / "pytest.ini", {})
    taken = take_over([], settings)
    after = run(python, project, (), taken)
    assert after.outcomes == ["passed"], after.process.stderr
    assert not mine.exists()
    assert not Path((project / "base").read_text()).is_relative_to(project)
    assert len(taken.takeovers) == 1
    collected = run(python, project, (), Taken(options=(*quiet(settings), "--collect-only")))
    assert collected.selected == ["test_it.py::test_it"]
    assert not mine.exists(), "nor by a first look, when plugins are not known"


def test_a_log_file_without_the_plugin_that_writes_it(python: str, project: Path) -> None:
    (project / "test_it.py").write_text("def test_it():\n    pass\n")
    (project / "pytest.ini").write_text("[pytest]\naddopts = -p no:logging\nlog_file = mine\n")
    settings = configured(project / "pytest.ini", {})
    assert quiet(settings) == ()
    assert run(python, project, (), take_over([], settings)).outcomes == ["passed"]


@pytest.mark.parametrize("addopts", ["-x", "-vx", "--exitfirst", "--maxfail=1", "--maxfail 1"])
def test_a_failure_does_not_end_the_run(python: str, project: Path, addopts: str) -> None:
    tests = "def test_fails():\n    assert False\n\ndef test_after():\n    pass\n"
    before, after, taken = before_and_after(python, project, addopts, "recorder_of_the_test", tests)
    assert before.ran == ["test_it.py::test_fails"]
    assert after.ran == ["test_it.py::test_fails", "test_it.py::test_after"]
    assert taken.options == ("--maxfail=0",)


@pytest.mark.parametrize("addopts", ["--sw", "--lf", "--ff", "--nf", "--last-failed --last-failed-no-failures none"])
def test_earlier_runs_do_not_decide(python: str, project: Path, addopts: str) -> None:
    tests = "def test_first():\n    pass\n\ndef test_fails():\n    assert False\n\ndef test_after():\n    pass\n"
    _, after, _ = before_and_after(python, project, addopts, "recorder_of_the_test", tests)
    assert after.ran == ["test_it.py::test_first", "test_it.py::test_fails", "test_it.py::test_after"]


def test_a_blocked_plugin_is_left_alone(python: str, project: Path) -> None:
    need(python, "pytest-xdist")
    _, after, taken = before_and_after(python, project, "-p no:xdist", "recorder_of_the_test")
    assert taken == Taken()
    assert after.ran == IDS
