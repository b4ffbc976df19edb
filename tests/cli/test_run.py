"""`triage run` from the outside: statuses, streams, what is written where."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import PLUGINS, ROOT, command, environment
from jsonschema import Draft202012Validator

SCHEMA = json.loads((ROOT / "docs" / "verdict.schema.json").read_text())
PASSES = "def test_one():\n    assert True\n"
FAILS = "def test_one():\n    assert 1 == 2\n"
FEW = ("--format", "json", "--trials", "12", "--budget", "200s")


def valid(verdict):
    Draft202012Validator(SCHEMA).validate(verdict)
    return verdict


def test_a_test_that_passes(project):
    result = project.write(test_a=PASSES).triage("run", "test_a.py::test_one", *FEW)
    verdict = valid(result.verdict)
    assert (result.status, verdict["verdict"]) == (0, "stable_pass")
    assert verdict["target"] == "test_a.py::test_one"
    assert verdict["rates"][0]["failed"] == 0
    assert "at most" in verdict["summary"], "the bound on the rate is stated"
    assert result.err == ""


def test_a_test_that_always_fails(project):
    result = project.write(test_a=FAILS).triage("run", "test_a.py", *FEW)
    assert (result.status, valid(result.verdict)["verdict"]) == (0, "stable_fail")


def test_a_condition_that_holds(project):
    result = project.write(test_a=FAILS).triage("run", "test_a.py", *FEW, "--fail-on", "stable_fail")
    assert result.status == 1


def test_a_product_that_crashes(project):
    product = "import ctypes\n\n\ndef peek():\n    return ctypes.string_at(0)\n"
    test = "import shop\n\n\ndef test_peek():\n    assert shop.peek()\n"
    result = project.write(shop=product, test_a=test).triage("run", "test_a.py", *FEW, "--fail-on", "real_bug")
    verdict = valid(result.verdict)
    assert (result.status, verdict["verdict"], verdict["cause"]) == (1, "real_bug", "crash")
    assert [(c["role"], c["file"], c["lines"]) for c in verdict["culprits"]] == [("product", "shop.py", [5])]


def test_several_targets_are_one_line_each(project):
    both = PASSES + "\n\ndef test_two():\n    assert False\n"
    result = project.write(test_a=both).triage("run", "test_a.py", "--format", "json", "--trials", "10")
    assert result.status == 0
    assert [valid(verdict)["target"] for verdict in result.verdicts] == ["test_a.py::test_one", "test_a.py::test_two"]


def test_an_unknown_node_id_offers_the_closest(project):
    result = project.write(test_a=PASSES).triage("run", "test_a.py::test_oen")
    assert result.status == 4
    assert "test_a.py::test_one" in result.err
    assert "Traceback" not in result.err
    assert result.out == ""


def test_an_unknown_file_offers_the_closest(project):
    result = project.write(test_cart=PASSES).triage("run", "test_crat.py::test_one")
    assert result.status == 4
    assert "test_cart.py" in result.err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run"], "missing argument"),
        (["run", "test_a.py", "--budget", "soon"], "`soon` is not a duration"),
        (["run", "test_a.py", "--factor", "hashseed"], "did you mean `hash_seed`?"),
        (["run", "test_a.py", "--fail-on", "bug"], "`bug` is not a verdict"),
        (["run", "test_a.py", "--format", "xml"], "`xml` is not a format"),
        (["run", "test_a.py", "--python", "/nowhere/python"], "no such interpreter"),
        (["run", "test_a.py", "--trials", "0"], "--trials"),
        (["show", "nothing"], "no experiment"),
        (["explain", "rase"], "race"),
        (["runn"], "no such command"),
    ],
)
def test_wrong_usage_is_one_line_and_a_hint(project, arguments, says):
    result = project.write(test_a=PASSES).triage(*arguments)
    assert result.status == 2
    assert says in result.err
    assert result.err.startswith("error: ")
    assert len(result.err.strip().splitlines()) <= 2
    assert result.out == ""


def test_a_collection_error_is_told(project):
    result = project.write(test_a="import nowhere_to_be_found\n").triage("run", "test_a.py", "--format", "json")
    assert result.status == 3
    assert "nowhere_to_be_found" in result.err
    assert "nowhere_to_be_found" in valid(result.verdict)["summary"]
    assert "Traceback" not in result.err


def test_a_skipped_test_is_no_verdict(project):
    text = "import pytest\n\n\n@pytest.mark.skip(reason='not here')\ndef test_one():\n    pass\n"
    result = project.write(test_a=text).triage("run", "test_a.py", "--format", "json")
    assert result.status == 3
    assert "not here" in valid(result.verdict)["summary"]


def test_a_test_that_reaches_out_is_run_once(project):
    text = (
        "import socket\nfrom pathlib import Path\n\n\ndef test_one():\n"
        "    with Path('calls').open('a') as file:\n        file.write('x')\n"
        "    probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n    probe.connect(('192.0.2.1', 9))\n"
    )
    result = project.write(test_a=text).triage("run", "test_a.py", "--format", "json")
    assert result.status == 3
    assert "192.0.2.1" in valid(result.verdict)["summary"]
    assert (project.path / "calls").read_text() == "x"


def test_the_side_effects_can_be_allowed(project):
    text = "import socket\n\n\ndef test_one():\n    socket.socket(type=socket.SOCK_DGRAM).connect(('192.0.2.1', 9))\n"
    text = "import pytest\n\npytestmark = pytest.mark.filterwarnings('ignore')\n" + text
    result = project.write(test_a=text).triage("run", "test_a.py", *FEW, "--allow-side-effects")
    assert result.status == 0
    assert result.verdict["trials"] > 2


def test_an_interpreter_without_pytest(project):
    project.write(test_a=PASSES)
    subprocess.run([*command()[:1], "-m", "venv", "--without-pip", "bare"], cwd=project.path, check=True)
    named = project.triage("run", "test_a.py", "--python", "bare")
    assert named.status == 3
    assert "no pytest" in named.err
    assert "pip install pytest" in named.err


def test_nothing_but_its_own_folder_is_written(project):
    project.write(test_a=PASSES, shop="VALUE = 1\n")
    before = {path.name for path in project.path.iterdir()}
    project.triage("run", "test_a.py", *FEW)
    after = {path.name for path in project.path.iterdir()}
    assert after - before == {".triage"}
    assert (project.path / ".triage" / ".gitignore").read_text() == "*\n"


def test_a_package_called_triage_works(project):
    package = project.path / "triage"
    package.mkdir()
    (package / "__init__.py").write_text("VALUE = 3\n")
    project.write(test_a="import triage\n\n\ndef test_one():\n    assert triage.VALUE == 3\n")
    done = subprocess.run(
        [str(Path(command()[0]).with_name("triage")), "run", "test_a.py", *FEW],
        cwd=project.path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdict"] == "stable_pass"


def test_reruns_of_the_project_are_taken_over(project):
    (project.path / "pytest.ini").write_text("[pytest]\naddopts = --reruns 3 --strict-markers\n")
    text = "import pytest\n\n\n@pytest.mark.flaky(reruns=5)\ndef test_one():\n    assert False\n"
    result = project.write(test_a=text).triage("run", "test_a.py", *FEW, env={"VIRTUAL_ENV": str(PLUGINS)})
    verdict = valid(result.verdict)
    assert verdict["verdict"] == "stable_fail"
    assert any("rerunfailures" in taken for taken in verdict["takeovers"])
    assert any("rerun" in evidence["statement"] for evidence in verdict["evidence"]), "what they hid is said"


def test_arguments_after_two_dashes_go_to_pytest(project):
    project.write(test_a=PASSES, conftest="def pytest_addoption(parser):\n    parser.addoption('--size')\n")
    (project.path / "test_b.py").write_text(
        "def test_two(request):\n    assert request.config.getoption('--size') == '4'\n"
    )
    result = project.triage("run", "test_b.py", *FEW, "--", "--size", "4")
    assert result.verdict["verdict"] == "stable_pass"


def test_interrupted_it_says_what_is_known(project):
    fifo = project.path / "started"
    os.mkfifo(fifo)
    text = "def test_one():\n    with open('started', 'w') as file:\n        file.write('x')\n"
    project.write(test_a=text)
    with subprocess.Popen(
        command("run", "test_a.py", "--format", "json", "--budget", "100s", "--skip", "repeat"),
        cwd=project.path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        for _ in range(4):
            fifo.read_text()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    verdict = valid(json.loads(out))
    assert verdict["complete"] is False
    assert verdict["trials"] >= 3
    assert "Traceback" not in err


def test_the_past_can_be_read(project):
    project.write(test_a=PASSES)
    first = project.triage("run", "test_a.py", *FEW).verdict
    assert project.triage("show", "--format", "json").verdict == first
    assert first["experiment"] in project.triage("show", first["experiment"][:11]).out
    listed = project.triage("history")
    assert "test_a.py::test_one" in listed.out
    trials = project.triage("show", "latest", "--trials", "--format", "json").verdicts
    assert len(trials) == first["trials"]
    assert {trial["outcome"] for trial in trials} == {"passed"}


def test_an_empty_history_says_how_to_fill_it(project):
    result = project.triage("history")
    assert (result.status, result.out) == (0, "")
    assert "triage run" in result.err


def test_text_and_markdown(project):
    project.write(test_a=FAILS)
    text = project.triage("run", "test_a.py", "--trials", "12")
    assert "STABLE FAIL" in text.out
    assert "test_a.py:2" in text.out
    assert "\x1b[" not in text.out + text.err, "no colour where there is no terminal"
    assert "STABLE FAIL" in project.triage("show", "--format", "md").out.upper().replace("_", " ")


def test_every_cause_is_explained(project):
    listed = project.triage("explain").out
    causes = [line.split()[0] for line in listed.splitlines() if line.strip()]
    assert {"race", "crash", "state_leak", "tolerance"} <= set(causes)
    assert len(project.triage("explain", "race").out) > 300


def test_a_suite_that_is_too_long_does_not_eat_the_budget(project):
    slow = "import threading\n\n\ndef test_slow():\n    threading.Event().wait(900)\n"
    result = project.write(test_a=slow, test_b=PASSES).triage(
        "run", "test_b.py", "--format", "json", "--budget", "40s", "--trials", "16", "--skip", "repeat"
    )
    verdict = valid(result.verdict)
    assert (result.status, verdict["verdict"]) == (0, "stable_pass")
    broken = [t for t in project.triage("show", "--trials", "--format", "json").verdicts if t["outcome"] == "broken"]
    assert len(broken) == 1
    assert "longer than the 8 s" in broken[0]["reason"]


def test_a_run_that_ends_red_after_green_tests_did_not_pass(project):
    product = "import atexit\nimport os\n\n\ndef start():\n    atexit.register(os._exit, 3)\n    return True\n"
    test = "import shop\n\n\ndef test_one():\n    assert shop.start()\n"
    result = project.write(shop=product, test_a=test).triage("run", "test_a.py", *FEW)
    verdict = valid(result.verdict)
    assert verdict["verdict"] == "stable_fail"
    assert all(rate["failed"] == rate["trials"] for rate in verdict["rates"])
    trials = project.triage("show", "--trials", "--format", "json").verdicts
    assert {trial["outcome"] for trial in trials} == {"crashed"}
    assert len(trials) <= 12


@pytest.mark.parametrize("name", ["triage_probe", "triage_levels"])
def test_a_project_with_a_module_of_our_name_is_told_so(project, name):
    (project.path / f"{name}.py").write_text("VALUE = 1\n")
    result = project.write(test_a=PASSES).triage("run", "test_a.py")
    assert result.status == 3
    assert f"the project has a module `{name}` of its own" in result.err


def test_output_that_cannot_be_written(project):
    project.write(test_a=PASSES).triage("run", "test_a.py", *FEW)
    full = subprocess.run(
        ["/bin/sh", "-c", '"$0" "$@" > /dev/full', *command("show")],
        cwd=project.path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert full.returncode == 2
    assert full.stderr.startswith("error: standard output cannot be written")
    closed = subprocess.run(
        ["/bin/sh", "-c", '"$0" "$@" >&-', *command("show")],
        cwd=project.path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (closed.returncode, closed.stderr) == (0, "")


@pytest.mark.parametrize(
    ("conftest", "ini", "says"),
    [
        ("raise RuntimeError('no\\ndatabase')", "[pytest]\n", "RuntimeError: no"),
        ("", "[pytest]\naddopts = --cov=. --frobnicate\n", "unrecognized arguments: "),
        ("def broken(:", "[pytest]\n", "SyntaxError"),
    ],
)
def test_what_keeps_pytest_from_collecting_is_told_in_one_line(project, conftest, ini, says):
    (project.path / "pytest.ini").write_text(ini)
    result = project.write(test_a=PASSES, conftest=conftest).triage("run", "test_a.py")
    assert result.status == 3
    assert says in result.err.splitlines()[0]
    assert len(result.err.strip().splitlines()) <= 2


LIAR = """
import pytest


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    if report.outcome == "failed":
        report.outcome = "passed"
    call.excinfo = None
"""


def test_an_instrument_that_cannot_see_a_failure_reports_nothing(project):
    """A plugin of the environment that hides failures: the controls miss, and nothing is said about the target."""
    project.write(test_a=FAILS, liar=LIAR)
    lying = {"PYTEST_PLUGINS": "liar", "PYTHONPATH": str(project.path)}
    result = project.triage("run", "test_a.py", *FEW, env=lying)
    assert result.status == 3
    assert "the controls missed" in result.err
    assert "`control_fails` came out as passed, not failed" in result.err
    verdict = valid(result.verdict)
    assert (verdict["verdict"], verdict["trials"]) == ("undetermined", 0), "nothing is said about the target"


def test_a_fault_of_our_own_is_said_to_be_ours(monkeypatch, capsys, tmp_path):
    from triage.cli import main, running

    def broken(**_):
        raise RuntimeError("a planted fault")

    monkeypatch.setattr(running, "run", broken)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    assert main._run(["run", "test_a.py"]) == 70
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("error: a fault of triage itself: RuntimeError: a planted fault")
    (report,) = tmp_path.glob("triage-fault-*.txt")
    assert "Traceback" in report.read_text()
