"""Histories that are not there, damaged or of a newer version; a terminal or Textual that is missing."""

from __future__ import annotations

import os
import pty
import re
import select
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tui_driving import PATIENCE, Driver, make_trial

from triage.tui.experiments import ExperimentsScreen


def sql(path, statement):
    connection = sqlite3.connect(path)
    try:
        connection.execute(statement)
        connection.commit()
    finally:
        connection.close()


def test_an_empty_history_says_what_to_do_and_one_that_appears_is_shown(drive, tmp_path, history):
    async def script(driver: Driver):
        assert "no experiment yet; `triage run NODEID` makes the first one" in driver.notice
        assert f"lookedin{tmp_path};" in "".join(driver.notice.split())
        assert "0 experiments" in driver.lines[0]
        await driver.press("enter", "down", "question_mark", "escape")
        history.start("t.py::test_b", str(tmp_path))
        await driver.until(lambda: driver.targets == ["t.py::test_b"])
        assert not driver.notice
        await driver.until(lambda: driver.app.focused is driver.rows)

    drive(script)


def test_a_damaged_history_is_one_line_until_it_is_repaired(drive, tmp_path, record, history):
    record()
    history.close()
    path = history.path
    whole = path.read_bytes()
    path.write_bytes(b"not a database, and long enough to be taken for one" * 100)

    async def script(driver: Driver):
        said = "".join(driver.notice.split())
        assert said == f"error:`{path}`isdamagedornotahistoryhint:moveitaway;triagemakesanewone"
        driver.check_layout()
        path.write_bytes(whole)
        await driver.press("r")
        assert driver.targets == ["t.py::test_b"]
        await driver.press("enter")
        path.write_bytes(b"damaged once more" * 1000)
        await driver.press("r")
        assert driver.page.lstrip().startswith("error:")
        assert "is damaged" in driver.page
        assert "Copy" not in driver.footer
        await driver.press("t")
        assert "is damaged" in " ".join(driver.notice.split())
        path.unlink()
        await driver.press("escape", "escape", "r")
        assert isinstance(driver.app.screen, ExperimentsScreen)
        assert "no experiment yet" in driver.notice

    drive(script)


def test_a_newer_history_is_read_where_it_can_be(drive, record, history):
    record()
    history.close()
    sql(history.path, "PRAGMA user_version = 99")

    async def script(driver: Driver):
        assert driver.targets == ["t.py::test_b"]
        await driver.press("enter")
        assert "The hash seed decides" in driver.page
        sql(history.path, "ALTER TABLE experiment RENAME COLUMN report TO verdict_report")
        await driver.press("escape", "r")
        said = " ".join(driver.notice.split())
        assert "which a newer version of triage wrote" in said
        assert "hint: update triage" in said

    drive(script)


def test_an_experiment_that_grows_is_followed(drive, history):
    """Another connection writes; the list, the page and the trials follow by themselves."""
    experiment = history.start("t.py::test_b", "/p")

    async def script(driver: Driver):
        await driver.press("enter")
        history.add(experiment, make_trial())
        await driver.until(lambda: "so far 1 of 1 trial failed" in driver.page)
        await driver.press("t")
        history.add(experiment, make_trial(number=2))
        await driver.until(lambda: len(driver.rows.table.rows) == 2)
        await driver.press("escape", "escape")
        await driver.until(lambda: "so far 2 of 2 trials failed" in driver.seen)
        history.start("t.py::test_c", "/p")
        await driver.until(lambda: driver.targets == ["t.py::test_c", "t.py::test_b"])
        assert driver.rows.key == experiment, "the cursor stays where it was"

    drive(script)


def started(arguments, cwd):
    return subprocess.run(
        [sys.executable, *arguments], cwd=cwd, capture_output=True, stdin=subprocess.DEVNULL, text=True, check=False
    )


def test_without_a_terminal_or_textual_it_is_one_line_and_status_2(tmp_path):
    piped = started(["-m", "triage", "tui"], tmp_path)
    assert (piped.returncode, piped.stdout) == (2, "")
    assert piped.stderr.splitlines() == [
        "error: `triage tui` needs a terminal",
        "hint: `triage history` and `triage show` print the same anywhere",
    ]
    # As if Textual were not installed: the finder of installed packages does not know it.
    hide = (
        "import importlib.machinery, sys; find = importlib.machinery.PathFinder.find_spec; "
        "sys.meta_path[:] = [type('Finder', (), {'find_spec': staticmethod("
        "lambda name, path=None, target=None: None if name == 'textual' else find(name, path, target))}) "
        "if one is importlib.machinery.PathFinder else one for one in sys.meta_path]; "
        "from triage.cli.main import entry; entry(['tui'])"
    )
    without = started(["-c", hide], tmp_path)
    assert (without.returncode, without.stdout) == (2, "")
    first, second = without.stderr.splitlines()
    assert first == "error: `triage tui` needs Textual, which is not installed"
    assert second.startswith("hint: `pip install 'flaky-triage[tui]'`")


LEAN = Path(__file__).parents[2] / ".envs" / "py3.11-pytest9"
"""An environment with pytest alone: plugins would multiply the price of each trial."""


class Terminal:
    """A terminal of 80x24 in which `triage tui` runs."""

    def __init__(self, cwd, environment):
        self.outside, inside = pty.openpty()
        self.shown = ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "triage", "tui"],
            cwd=cwd,
            env={**environment, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"},
            stdin=inside,
            stdout=inside,
            stderr=inside,
            start_new_session=True,
        )
        os.close(inside)

    def until(self, text=None):
        """Read until a text is shown or, without one, until the application has closed the terminal."""
        deadline = time.monotonic() + PATIENCE
        while text is None or text not in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self.shown):
            assert time.monotonic() < deadline, self.shown[-2000:]
            if select.select([self.outside], [], [], 1.0)[0]:
                try:
                    self.shown += os.read(self.outside, 65536).decode(errors="replace")
                except OSError:  # EIO: nobody has the other end any more
                    assert text is None, self.shown[-2000:]
                    return

    def press(self, key):
        os.write(self.outside, key)

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.outside)


def test_a_real_run_is_followed_in_a_real_terminal(tmp_path):
    """`triage tui` in a terminal of its own, `triage run` beside it; `q` gives the terminal back."""
    if not (LEAN / "bin" / "python").exists():
        pytest.skip(f"no environment {LEAN.name}: `make envs` makes it")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    (tmp_path / "test_a.py").write_text("def test_one():\n    assert True\n", encoding="utf-8")
    dropped = ("PYTEST_", "COV_", "COVERAGE", "PYTHONHASHSEED", "PYTHONPATH", "COLUMNS", "LINES", "NO_COLOR")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    environment["VIRTUAL_ENV"] = str(LEAN)
    terminal = Terminal(tmp_path, environment)
    try:
        terminal.until("no experiment yet")
        run = [
            sys.executable,
            "-m",
            "triage",
            "run",
            "test_a.py",
            "--trials",
            "4",
            "--skip",
            "repeat",
            "--skip",
            "order",
        ]
        done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        terminal.until("UNDETERMINED")
        terminal.press(b"\r")
        terminal.until("how sure")
        terminal.press(b"q")
        terminal.until()
        assert terminal.process.wait(PATIENCE) == 0
    finally:
        terminal.close()
    assert terminal.shown.count("\x1b[?1049h") == terminal.shown.count("\x1b[?1049l") == 1, "the old screen is back"
    assert "Traceback" not in terminal.shown
