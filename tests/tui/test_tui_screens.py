"""Every screen and every key, on histories as `triage run` writes them."""

from __future__ import annotations

import pytest
from tui_driving import NARROW, SEED, WIDE, make_finding, make_trial

from triage.model.outcome import Outcome
from triage.model.verdict import Strength, Verdict
from triage.tui.experiment import ExperimentScreen
from triage.tui.experiments import ExperimentsScreen
from triage.tui.help import HelpScreen
from triage.tui.trials import TrialScreen, TrialsScreen

CRASH = make_finding(
    verdict=Verdict.REAL_BUG,
    cause="crash",
    strength=Strength.ESTABLISHED,
    summary="It dies.",
    signature="SIGSEGV at shop/codec.py:41",
    counterfactual=None,
    hypotheses=(),
)


@pytest.mark.parametrize("size", [NARROW, WIDE])
def test_experiments_are_listed_latest_first(drive, history, record, size):
    record("t.py::test_first", CRASH)
    record("t.py::test_second", complete=False)
    unfinished = history.start("t.py::test_third", "/p")
    history.add(unfinished, make_trial(), make_trial(outcome=Outcome.PASSED, failure=None))

    async def script(driver):
        assert isinstance(driver.app.screen, ExperimentsScreen)
        assert driver.targets == ["t.py::test_third", "t.py::test_second", "t.py::test_first"]
        third, second, first = driver.lines[2:5]
        assert third.split()[:3] == ["t.py::test_third", "running", "-"]
        assert second.split()[:3] == ["t.py::test_second", "UNDETERMINED*", "-"]
        assert all(part in first for part in ("REAL BUG", "crash", "100%", "28%"))
        assert "3 experiments" in driver.lines[0]
        wide = {"test", "verdict", "cause", "worst", "baseline", "strength", "id", "why"}
        titles = driver.lines[1].split()
        assert titles[:3] == ["test", "verdict", "cause"]
        assert {"worst", "baseline"} <= set(titles)
        assert (wide <= set(titles)) == (size == WIDE)
        assert "it is still running; so far 1 of 2 trials failed" in driver.seen
        await driver.press("down", "down")
        assert "hash_seed=3: 12 of 12 failed" in driver.seen
        driver.check_layout()

    drive(script, size)


@pytest.mark.parametrize("size", [NARROW, WIDE])
def test_a_page_says_everything(drive, record, size):
    record()

    async def script(driver):
        await driver.press("enter")
        assert isinstance(driver.app.screen, ExperimentScreen)
        driver.check_layout()
        said = " ".join(driver.page.split())
        for part in (
            "UNDETERMINED trigger supported: t.py::test_b",
            "The hash seed decides whether the test fails.",
            "a wrong test (order_assumption); to decide: whether an order is promised",
            "AssertionError at t.py:31 in test_b",
            "shop/book.py:4-5 (product): iterates over a set",
            "run alone 11 of 40 failed: 28% (15% to 44%)",
            "reproduce PYTHONHASHSEED=3 python -m pytest 't.py::test_b'",
            "gone with PYTHONHASHSEED=0 python -m pytest 't.py::test_b'",
            "run them in /elsewhere/project",
            "not established who is wrong",
            "next Say in the docstring whether the order counts.",
            "baseline 11/40 28% 15% to 44%",
            "repeat=20 3/3 100% 29% to 100%",
            "seen The operands are equal as multisets.",
            "pytest-rerunfailures: switched off",
            "Python 3.11.7; pytest 9.2.0; Linux-6.8.0",
        ):
            assert part in said
        (row,) = [line for line in driver.page.splitlines() if line.startswith(" hash_seed=3")]
        assert row.rstrip().endswith("━●│")
        top = driver.lines[1]
        await driver.press("end")
        assert driver.app.screen.query_one("#page").scroll_offset.y > 0 or size == WIDE
        assert "started" in driver.seen
        await driver.press("home")
        assert driver.lines[1] == top
        await driver.press("escape")
        assert isinstance(driver.app.screen, ExperimentsScreen)

    drive(script, size)


def test_commands_are_copied_and_it_says_so(drive, record):
    record()

    async def script(driver):
        await driver.press("enter")
        assert "Copy reproduction" in driver.footer
        await driver.press("c")
        assert driver.app.clipboard == "PYTHONHASHSEED=3 python -m pytest 't.py::test_b'"
        await driver.press("C")
        assert driver.app.clipboard == "PYTHONHASHSEED=0 python -m pytest 't.py::test_b'"
        assert driver.said == [
            "The reproduction command was sent to the terminal's clipboard.",
            "The counterfactual command was sent to the terminal's clipboard.",
        ]
        await driver.press("t", "enter", "c")
        assert driver.app.clipboard == "python -m pytest 't.py::test_b'"

    drive(script)


def test_every_finding_is_shown(drive, record):
    record("t.py::test_b", CRASH, make_finding(reproduction=None, counterfactual=None, summary="Another one."))

    async def script(driver):
        await driver.press("enter")
        assert "1 of 2, gravest first" in driver.page
        assert "also found  UNDETERMINED trigger supported: Another one." in driver.page
        assert "C counterfactual" not in driver.footer
        await driver.press("C")
        assert driver.app.clipboard == ""
        await driver.press("n")
        assert "2 of 2" in driver.page
        assert "no command has been confirmed to do it" in driver.page
        assert "also found  REAL BUG crash, established: It dies." in driver.page
        assert "Copy" not in driver.footer
        await driver.press("n")
        assert "1 of 2" in driver.page
        await driver.press("p")
        assert "2 of 2" in driver.page

    drive(script)


def test_trials_and_one_of_them(drive, record):
    passed = make_trial(number=3, outcome=Outcome.PASSED, failure=None, stdout="", stderr="", command="")
    record(trials=(make_trial(), make_trial(number=2, arm=SEED), passed))

    async def script(driver):
        await driver.press("enter", "t")
        assert isinstance(driver.app.screen, TrialsScreen)
        assert [line.split()[:4] for line in driver.lines[2:5]] == [
            ["1", "FAIL", "baseline", "0.50"],
            ["2", "FAIL", "hash_seed=3", "0.50"],
            ["3", "PASS", "baseline", "0.50"],
        ]
        assert "ValueError: bad [red]" in driver.lines[2]
        await driver.press("down", "enter")
        assert isinstance(driver.app.screen, TrialScreen)
        said = driver.page
        assert "hash_seed=3" in said
        assert "FAIL: ValueError: bad [red]" in said
        assert " >   assert [bold]\n E   ValueError: bad [red]" in said
        assert " printed [red]by[/red] \\x1b[31mthe test     and\n more\n" in said
        assert "and on standard error" in said
        assert "t.py::test_a" in said
        await driver.press("escape", "end", "enter")
        assert "PASS" in driver.page
        assert "Copy" not in driver.footer
        await driver.press("escape")
        assert driver.rows.key == "2"
        await driver.filter("seed")
        await driver.press("enter")
        assert [row.key for row in driver.rows.table.rows] == ["1"]
        await driver.press("escape")
        assert len(driver.rows.table.rows) == 3
        await driver.press("escape", "escape")
        assert isinstance(driver.app.screen, ExperimentsScreen)

    drive(script)


def test_filter(drive, record):
    for name in ("test_apple", "test_pear", "test_plum[a b]"):
        record(f"tests/{name}.py::{name}", CRASH if name == "test_pear" else make_finding())

    async def script(driver):
        everything = driver.targets
        await driver.filter("PLUM b]")
        assert driver.targets == ["tests/test_plum[a b].py::test_plum[a b]"]
        assert "1 of 3 experiments" in driver.lines[0]
        await driver.press("enter")
        await driver.until(lambda: driver.app.focused is driver.rows)
        await driver.press("escape")
        assert driver.targets == everything
        await driver.filter("real bug")
        assert driver.targets == ["tests/test_pear.py::test_pear"]
        await driver.press("g", "question_mark", "q")
        assert "no experiment contains `real bugg?q`" in driver.notice
        driver.check_layout()
        await driver.press("escape")
        assert driver.targets == everything
        await driver.until(lambda: driver.app.focused is driver.rows)
        assert "Back" not in driver.footer
        await driver.press("escape")
        assert isinstance(driver.app.screen, ExperimentsScreen)

    drive(script)


def test_help_lists_every_key_of_every_screen(drive, record):
    record("t.py::test_b", CRASH, make_finding())

    async def script(driver):
        active = {}
        for keys in ((), ("enter",), ("t",), ("enter",)):
            await driver.press(*keys)
            active |= {key: one.binding for key, one in driver.app.screen.active_bindings.items()}
        await driver.press("question_mark")
        assert isinstance(driver.app.screen, HelpScreen)
        driver.check_layout()
        shown = {key for line in driver.page.splitlines() for key in line[3:26].strip().split(", ")}
        of_textual = {"tab", "shift+tab", "ctrl+c", "super+c", "left", "right", "ctrl+pageup", "ctrl+pagedown"}
        missing = {
            key for key, binding in active.items() if driver.app.get_key_display(binding) not in shown
        } - of_textual
        assert not missing
        await driver.press("question_mark")
        assert isinstance(driver.app.screen, TrialScreen)
        await driver.press("question_mark", "escape")
        assert isinstance(driver.app.screen, TrialScreen)

    drive(script)


@pytest.mark.parametrize("key", ["q", "ctrl+q"])
def test_quit(drive, record, key):
    record()

    async def script(driver):
        await driver.press("enter")
        await driver.pilot.press(key)
        assert driver.app._exit
        assert driver.app.return_code == 0

    drive(script)


def test_mouse(drive, record):
    record("t.py::test_first")
    record("t.py::test_second")

    async def script(driver):
        await driver.pilot.click("#rows", offset=(5, 2))
        await driver.settle()
        assert driver.rows.cursor == 1
        await driver.pilot.click("#rows", offset=(5, 9))
        assert driver.rows.cursor == 1
        await driver.pilot.click("#rows", offset=(5, 2))
        await driver.settle()
        assert isinstance(driver.app.screen, ExperimentScreen)
        assert "t.py::test_first" in driver.page

    drive(script)
