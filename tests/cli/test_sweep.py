"""`triage sweep` from the outside: what is swept, what is printed and kept, and what an interruption leaves."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT, command, environment
from jsonschema import Draft202012Validator

SCHEMAS = {
    name: Draft202012Validator(json.loads((ROOT / "docs" / f"{name}.schema.json").read_text()))
    for name in ("verdict", "sweep")
}


def triage(folder, *arguments, env=None):
    return subprocess.run(
        command("sweep", *arguments),
        cwd=folder,
        env={**environment(), **(env or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


TAKES_TURNS = """\
import os

import pytest


@pytest.mark.flaky
@pytest.mark.skip(reason="not | here")
def test_first():
    pass


@pytest.mark.flaky
def test_second():
    if os.path.exists("started"):
        with open("started", "w") as file:
            file.write("x")
"""


def test_what_was_interrupted_is_reported_and_continued(tmp_path):
    """SIGTERM in the second of two tests: both rows are printed; the same command goes on with the second alone."""
    os.mkfifo(tmp_path / "started")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n    flaky: x\n")
    (tmp_path / "test_a.py").write_text(TAKES_TURNS)
    with subprocess.Popen(
        command("sweep", "--budget", "5s", "--format", "json"),
        cwd=tmp_path,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        (tmp_path / "started").read_text()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "1 of 2: NOT RUN (it is skipped: not | here): test_a.py::test_first\n" in err
    assert "Traceback" not in err
    *verdicts, last = [json.loads(line) for line in out.splitlines()]
    SCHEMAS["sweep"].validate(last)
    assert not last["complete"]
    interrupted = {test["target"]: test["interrupted"] for test in last["tests"]}
    assert interrupted == {"test_a.py::test_first": False, "test_a.py::test_second": True}

    (tmp_path / "started").unlink()
    again = triage(tmp_path, "--budget", "5s", "--format", "json")
    assert again.returncode == 3, "what could not be run counts as if it had been tried again"
    assert "goes on with an interrupted sweep: 1 of 2 results kept" in again.stderr
    *continued, last = [json.loads(line) for line in again.stdout.splitlines()]
    assert last["complete"]
    assert [one["target"] for one in continued] == ["test_a.py::test_first", "test_a.py::test_second"]
    assert continued[0] == verdicts[0], "a result that was known is told again as it was"


def test_nothing_selected(tmp_path):
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_a.py").write_text("def test_one():\n    pass\n")
    result = triage(tmp_path)
    assert (result.returncode, result.stdout) == (4, "")
    assert result.stderr.startswith(
        "error: no test is marked `flaky`, `quarantine` or `quarantined` (1 collected)\nhint: "
    )
    assert "-m EXPR" in result.stderr
    unreadable = triage(tmp_path, "-m", "flaky and (")
    assert (unreadable.returncode, unreadable.stdout) == (2, "")
    assert unreadable.stderr.startswith("error: pytest cannot read the expression after `-m`: flaky and (")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--shard", "4/3"], "`4/3` is not a shard"),
        (["--shard", "0/3"], "`0/3` is not a shard"),
        (["--format", "xml"], "`xml` is not a format"),
        (["-m", " "], "`-m` has an empty expression"),
        (["--output", "nowhere/report.md"], "`nowhere/report.md` cannot be written"),
        (["--", "-m", "slow"], "`-m` after `--` would be overridden"),
    ],
)
def test_wrong_usage_of_a_sweep_is_one_line_and_a_hint(tmp_path, capsys, monkeypatch, arguments, says):
    from triage.cli import main

    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main.entry(["sweep", *arguments])
    said = capsys.readouterr()
    assert ended.value.code == 2
    assert says in said.err
    assert said.err.startswith("error: ")
    assert len(said.err.strip().splitlines()) <= 2
    assert said.out == ""
    assert not Path(".triage").exists()


def test_a_report_that_can_no_longer_be_written_is_printed(tmp_path, capsys):
    """The folder is there when the sweep begins and gone when it ends, hours later."""
    from triage.cli.sweeping import Paper
    from triage.errors import UsageError
    from triage.model.sweep import Conclusion, Selection, Start, Sweep
    from triage.model.verdict import Environment

    folder = tmp_path / "out"
    folder.mkdir()
    paper = Paper("md", folder / "report.md")
    folder.rmdir()
    here = Environment(python=(), pytest=None, platform="")
    start = Start(sweep="x", started=0.0, root="/", selection=Selection(), command="triage sweep", environment=here)
    with pytest.raises(UsageError) as error:
        paper.conclude(Conclusion(sweep=Sweep(start=start)))
    assert "no such file or directory" in error.value.message
    assert capsys.readouterr().out.startswith("## Flaky-test sweep")
