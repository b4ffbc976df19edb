"""An experiment that is killed, continued and replayed; what reaches out; `triage doctor`."""

import json
import os
import signal
import subprocess

import pytest
from conftest import command, environment

SIGNALS = """\
import os
from pathlib import Path


def test_one():
    with Path("calls").open("a") as file:
        file.write("x")
    if Path("calls").stat().st_size == 4:
        with open("fifo", "w"):  # somebody waits for the fourth execution
            pass
    assert os.environ.get("NEVER_SET")
"""
REACHES = "import socket\n\nwith socket.socket(type=socket.SOCK_DGRAM) as probe:\n    probe.connect(('192.0.2.1', 9))\n"
CRASHES = "import os\nimport signal\n\n\ndef test_one():\n    os.kill(os.getpid(), signal.SIGSEGV)\n"
COMMAND = (
    "import subprocess\n\n\ndef test_one():\n"
    "    subprocess.run(['/bin/true', 'https://somebody:secret@example.com/path'], check=True)\n"
)
FEW = ("--format", "json", "--trials", "8", "--budget", "300s")


def test_killed_continued_and_replayed(project):
    project.write(test_a=SIGNALS)
    os.mkfifo(project.path / "fifo")
    running = subprocess.Popen(
        command("run", "test_a.py", *FEW),
        cwd=project.path,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with (project.path / "fifo").open() as ready:
        ready.read()
    running.send_signal(signal.SIGKILL)
    running.wait()

    resumed = project.triage("run", "test_a.py", *FEW)
    assert resumed.status == 0, resumed.err
    assert "continues experiment" in resumed.err
    assert resumed.verdict["verdict"] == "stable_fail"
    assert resumed.verdict["trials"] <= 9
    assert any(one["kind"] == "continued" and one["data"]["kept"] >= 2 for one in resumed.verdict["evidence"])

    replayed = project.triage("replay", "--trial", "1", "--times", "2", "--format", "json", "--fail-on", "failed")
    assert replayed.status == 1, replayed.err
    seen = json.loads(replayed.out)
    assert (seen["failed"], seen["trials"], seen["changed"]) == (2, 2, [])
    assert [(one["times"], one["same"]) for one in seen["failures"]] == [(2, True)]

    project.write(test_a="def test_one():\n    pass\n")
    after = project.triage("replay", "--trial", "1", "--times", "1")
    assert after.status == 0
    assert "`test_a.py`" in after.err
    assert "now 0 of 1 failed" in after.out

    nothing = project.triage("replay")
    assert nothing.status == 2
    assert "no confirmed reproduction" in nothing.err
    assert "--trial N" in nothing.err


@pytest.mark.parametrize(
    ("text", "reached"),
    [(REACHES + CRASHES, "192.0.2.1:9"), (COMMAND, "true https://example.com")],
    ids=["import", "command"],
)
def test_what_reaches_out_outside_of_the_test_itself_is_noticed(project, text, reached):
    result = project.write(test_a=text).triage("run", "test_a.py", "--format", "json")
    assert result.status == 3, result.err
    assert reached in result.verdict["summary"]
    assert "secret" not in result.out
    assert result.verdict["trials"] == 1


def test_doctor_shows_a_collection_error_as_pytest_does(project):
    project.write(test_a="import nowhere_to_be_found\n")
    nowhere = {"PATH": "/nowhere", "PYENV_ROOT": "/nowhere"}  # every interpreter that is found is started
    result = project.triage("doctor", "--json", env=nowhere)
    assert result.status == 3, result.err
    found = json.loads(result.out)
    assert not found["fit"]
    assert "No module named 'nowhere_to_be_found'" in found["tests"]["errors"][0]
    assert {one["name"] for one in found["controls"] if one["depth"] == "cold" and not one["missed"]} >= {
        "control_passes",
        "control_fails",
        "control_errors",
        "control_skips",
        "control_xfails",
        "control_xpasses",
        "control_leaks",
        "control_crashes",
        "control_hangs",
        "control_third",
    }
    assert found["interpreters"][0]["use"] == "baseline"
    assert found["store"]["exists"] is False


def test_a_verdict_is_explained_as_causes_are(project):
    result = project.triage("explain", "wrong-test")
    assert result.status == 0
    assert result.out.startswith("wrong_test (verdict)")
