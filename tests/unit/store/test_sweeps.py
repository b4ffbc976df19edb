"""The files of sweeps: what is written is there, whatever happens afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from triage.model.sweep import Result, Selection, Shard, Start, State
from triage.model.verdict import Environment
from triage.store.errors import HistoryError
from triage.store.sweeps import SweepLog, is_running, read_sweep, read_sweeps

START = Start(
    sweep="",
    started=1_790_000_000.0,
    root="/project",
    selection=Selection(expression="slow", paths=("tests",), shard=Shard(2, 3)),
    command="triage sweep",
    selected=("t.py::a", "t.py::b\u2028|\n"),
    environment=Environment(python=("3.11.7",), pytest="9.2.0", platform="Linux"),
)
RESULT = Result(target="t.py::a", state=State.UNRUNNABLE, why="it is skipped")


def test_a_whole_sweep_is_read_back(tmp_path: Path):
    with SweepLog(tmp_path, START) as log:
        log.begin("t.py::a", "2vq8z41k7m3c")
        log.add(Result(target="t.py::a"))
        log.add(RESULT)
        log.end(complete=True)
    (sweep,) = read_sweeps(tmp_path)
    assert sweep.start == log.start
    assert sweep.start.selection == START.selection
    assert sweep.results == (RESULT,), "the later one counts"
    assert sweep.experiments == (("t.py::a", "2vq8z41k7m3c"),)
    assert sweep.complete
    assert sweep.ended
    assert not is_running(sweep)
    assert [result.state for result in sweep.everything] == [State.UNRUNNABLE, State.NOT_REACHED]


def test_one_that_is_at_work_is_told_from_one_that_was_killed(tmp_path: Path):
    with SweepLog(tmp_path, START) as log:
        log.begin("t.py::a", "2vq8z41k7m3c")
        assert is_running(read_sweep(log.path))
    dead = log.path.read_text().replace(log.start.owner, "1:1:1:another boot")
    log.path.write_text(dead)
    sweep = read_sweep(log.path)
    assert sweep.ended is None
    assert not is_running(sweep)


def test_a_line_that_was_cut_off_costs_itself_alone(tmp_path: Path):
    with SweepLog(tmp_path, START) as log:
        log.add(RESULT)
        log.end(complete=True)
    whole = log.path.read_bytes()
    for cut in range(len(whole)):
        log.path.write_bytes(whole[:cut])
        sweep = read_sweep(log.path)
        lines = whole[:cut].count(b"\n")
        assert (sweep is None) == (lines == 0)
        assert sweep is None or len(sweep.results) == (lines > 1)


@pytest.mark.parametrize("text", ["", "{}\n", "not a sweep\n", "\udcff\n", '{"type": "result"}\n'])
def test_what_is_no_sweep_is_left_out(tmp_path: Path, text: str):
    with SweepLog(tmp_path, START) as log:
        pass
    log.path.with_name("zzzz.jsonl").write_bytes(text.encode("utf-8", "surrogateescape"))
    (sweep,) = read_sweeps(tmp_path)
    assert sweep.start == log.start


def test_a_sweep_of_a_newer_version_is_left_alone_and_one_with_more_keys_is_read(tmp_path: Path):
    with SweepLog(tmp_path, START) as log:
        pass
    begun = json.loads(log.path.read_text())
    begun["start"]["later"] = begun["later"] = 1
    log.path.write_text(json.dumps(begun) + "\n")
    assert read_sweep(log.path).start == log.start
    log.path.write_text(json.dumps({**begun, "version": 2}) + "\n")
    assert read_sweep(log.path) is None


def test_two_sweeps_at_once_have_a_file_each(tmp_path: Path):
    logs = [SweepLog(tmp_path, START) for _ in range(5)]
    for number, log in enumerate(logs):
        log.add(Result(target=str(number)))
    for log in logs:
        log.end(complete=True)
        log.close()
    sweeps = read_sweeps(tmp_path)
    assert {sweep.results[0].target for sweep in sweeps} == set("01234")
    assert all(len(sweep.results) == 1 and sweep.complete for sweep in sweeps)


def test_without_a_folder_there_is_no_sweep(tmp_path: Path):
    assert read_sweeps(tmp_path / "nowhere") == ()


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path):
    (tmp_path / "sweeps").write_text("in the way")
    with pytest.raises(HistoryError) as error:
        SweepLog(tmp_path, START)
    assert "cannot write" in error.value.message


def test_a_full_disk_is_one_line(tmp_path: Path):
    with SweepLog(tmp_path, START) as log:
        log.close()
        with Path("/dev/full").open("wb", buffering=0) as log._file, pytest.raises(HistoryError) as error:
            log.add(RESULT)
    assert "no space left" in error.value.message
