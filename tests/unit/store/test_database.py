"""Every way in which the file can refuse, and what a file of another version is."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from triage.model.trial import Trial
from triage.store import database
from triage.store.database import Database
from triage.store.errors import HistoryError
from triage.store.history import History
from triage.store.tables import VERSION

Make = Callable[..., Trial]


def execute(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    try:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    finally:
        connection.close()


def filled(path: Path, trial: Trial) -> str:
    with History(path) as history:
        experiment = history.start("t.py::test_b", "/project")
        history.add(experiment, trial)
    return experiment


def assert_one_line(error: HistoryError, *, hint: str) -> None:
    assert "\n" not in error.message
    assert "history.db" in error.message
    assert hint in (error.hint or "")


def test_settings_of_the_file_and_of_a_connection(path: Path, history: History) -> None:
    history.start("t.py::test_b", "/project")
    opened = Database(path)
    try:
        with opened.read() as session:
            connection = session.connection()
            values = [
                connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
                for name in ("journal_mode", "foreign_keys", "user_version", "busy_timeout")
            ]
    finally:
        opened.close()
    assert values == ["wal", 1, VERSION, 20_000]


def test_file_that_is_no_database(path: Path, history: History) -> None:
    path.parent.mkdir()
    path.write_bytes(b"not a database, but long enough to be read as a page " * 100)
    with pytest.raises(HistoryError, match="damaged or not a history") as caught:
        history.start("t.py::test_b", "/project")
    assert_one_line(caught.value, hint="move it away")
    assert path.read_bytes().startswith(b"not a database")


def test_damage_in_the_middle(path: Path, make_trial: Make) -> None:
    experiment = filled(path, make_trial())
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with History(path) as history, pytest.raises(HistoryError, match="damaged or not a history") as caught:
        history.load(experiment)
    assert_one_line(caught.value, hint="move it away")


@pytest.mark.parametrize("version", [0, 1, 5])
def test_database_of_another_program_is_not_touched(path: Path, history: History, version: int) -> None:
    path.parent.mkdir()
    execute(path, "CREATE TABLE trial (a)", f"PRAGMA user_version = {version}")
    before = path.read_bytes()
    with pytest.raises(HistoryError, match="of another program") as caught:
        history.start("t.py::test_b", "/project")
    assert_one_line(caught.value, hint="move it away")
    assert path.read_bytes() == before


def test_empty_file_becomes_a_history(path: Path, history: History) -> None:
    path.parent.mkdir()
    path.touch()
    experiment = history.start("t.py::test_b", "/project")
    assert history.list()[0].experiment == experiment


def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        History(tmp_path / "file" / "history.db") as history,
        pytest.raises(HistoryError, match="cannot write") as caught,
    ):
        history.start("t.py::test_b", "/project")
    assert_one_line(caught.value, hint="writable")


def test_folder_in_the_place_of_the_file(path: Path, history: History) -> None:
    path.mkdir(parents=True)
    with pytest.raises(HistoryError, match=r"cannot write .*: is a directory") as caught:
        history.start("t.py::test_b", "/project")
    assert_one_line(caught.value, hint="writable")


def test_full_disk(path: Path, make_trial: Make) -> None:
    with History(path) as history:
        experiment = history.start("t.py::test_b", "/project")
        with history._database().write() as session:
            session.connection().exec_driver_sql("PRAGMA max_page_count = 1")
        with pytest.raises(HistoryError, match="no space left") as caught:
            history.add(experiment, make_trial(stdout="x" * 1_000_000))
        assert_one_line(caught.value, hint="free disk space")
        assert history.load(experiment)[1] == ()  # nothing of it is left, and the file can be read


def test_locked_for_too_long(path: Path, make_trial: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = filled(path, make_trial())
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.01)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        with History(path) as history:
            with pytest.raises(HistoryError, match="locked by another process") as caught:
                history.add(experiment, make_trial())
            assert_one_line(caught.value, hint="wait")
            assert len(history.load(experiment)[1]) == 1  # reading goes on
    finally:
        other.close()


def test_newer_version_is_read_and_never_written(path: Path, make_trial: Make) -> None:
    experiment = filled(path, make_trial())
    execute(path, "ALTER TABLE trial ADD COLUMN of_the_future TEXT", f"PRAGMA user_version = {VERSION + 1}")
    before = path.read_bytes()
    with History(path) as history:
        assert history.load(experiment)[1] == (make_trial(),)
        assert len(history.list()) == 1
        for write in (
            lambda: history.start("t.py::test_b", "/project"),
            lambda: history.add(experiment, make_trial()),
        ):
            with pytest.raises(HistoryError, match="newer version of triage and is not changed") as caught:
                write()
            assert_one_line(caught.value, hint="update triage")
    assert path.read_bytes() == before


def test_newer_version_that_cannot_be_read(path: Path, make_trial: Make) -> None:
    experiment = filled(path, make_trial())
    execute(path, "ALTER TABLE trial RENAME COLUMN stage TO phase", f"PRAGMA user_version = {VERSION + 1}")
    with History(path) as history, pytest.raises(HistoryError, match="a newer version of triage wrote") as caught:
        history.load(experiment)
    assert_one_line(caught.value, hint="update triage")


def test_value_that_only_a_newer_version_knows(path: Path, make_trial: Make) -> None:
    experiment = filled(path, make_trial())
    execute(
        path,
        """UPDATE trial SET record = replace(record, '"failed"', '"vanished"')""",
        f"PRAGMA user_version = {VERSION + 1}",
    )
    with History(path) as history, pytest.raises(HistoryError, match="a newer version of triage wrote"):
        history.load(experiment)


def test_older_version_is_brought_up_to_date(path: Path, make_trial: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = filled(path, make_trial())
    monkeypatch.setitem(database.MIGRATIONS, VERSION, ("ALTER TABLE trial ADD COLUMN later TEXT DEFAULT 'none'",))
    Database(path, version=VERSION + 1).close()
    connection = sqlite3.connect(path)
    try:
        assert connection.execute("PRAGMA user_version").fetchone() == (VERSION + 1,)
        assert connection.execute("SELECT later FROM trial WHERE experiment = ?", (experiment,)).fetchall() == [
            ("none",)
        ]
    finally:
        connection.close()


def test_migration_that_fails_changes_nothing(path: Path, make_trial: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = filled(path, make_trial())
    monkeypatch.setitem(database.MIGRATIONS, VERSION, ("DROP TABLE finding", "nonsense"))
    with pytest.raises(HistoryError, match="cannot use"):
        Database(path, version=VERSION + 1)
    with History(path) as history:
        assert history.load(experiment)[1] == (make_trial(),)
        assert history.list()[0].experiment == experiment


def test_foreign_keys_hold(path: Path, make_trial: Make, history: History) -> None:
    history.start("t.py::test_b", "/project")
    history._roots["nope"] = "/project"
    with pytest.raises(HistoryError, match="FOREIGN KEY"):
        history.add("nope", make_trial())


def test_sqlmodel_is_imported_only_when_the_store_is_used() -> None:
    code = (
        "import sys; from pathlib import Path; from triage.store.history import History; "
        "History(Path('absent', 'history.db')); "
        "sys.exit(int(any(name.partition('.')[0] in ('sqlmodel', 'sqlalchemy', 'scipy') for name in sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
