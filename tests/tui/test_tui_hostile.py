"""Texts that come from tests are shown as they are, at any width, and move nothing."""

from __future__ import annotations

import asyncio

import pytest
from textual.app import App
from tui_driving import NARROW, WIDE, Driver, make_finding, make_rate, make_trial

from triage.model.arm import Arm, Level
from triage.model.trial import Failure
from triage.model.verdict import Culprit, Evidence, Hypothesis, Reproduction, Trigger, Verdict
from triage.tui.canvas import Span
from triage.tui.listing import of_trials
from triage.tui.rows import Rows
from triage.tui.table import Column, Row, fit, line, make_table

TEXT = (
    "[red]x[/red] [/] [@click=app.quit]y[/] \x1b[31m\x1b]52;c;eA==\x07 \r\n\t\x00 "
    "\u202eevil 中文中文 e\u0301 \U0001f600 $HOME `z`"
)
TARGET = f"tests/test_x.py::test_it[{TEXT}]"
LONG = f"tests/{'very/' * 200}test_x.py::test_it[{'中' * 300}]"


@pytest.mark.parametrize(
    ("size", "target"),
    [(NARROW, TARGET), (WIDE, TARGET), (NARROW, LONG), ((40, 10), TARGET)],
    ids=["narrow", "wide", "long", "tiny"],
)
def test_nothing_breaks_the_layout_or_is_markup(drive, record, size, target):
    finding = make_finding(
        verdict=Verdict.REAL_BUG,
        cause=TEXT,
        summary=TEXT,
        signature=TEXT,
        culprits=(Culprit(role=TEXT, file=TEXT, lines=(1,), what=TEXT),),
        polluters=(target,) * 7,
        state=(TEXT,),
        trigger=Trigger(factor="order", level=target),
        rates=(make_rate(f"order=after {target}", 3, 4), make_rate("baseline", 0, 2)),
        reproduction=Reproduction(command=f"python -m pytest '{target}'", failed=1, trials=1),
        evidence=(Evidence(kind="x", statement=TEXT),),
        hypotheses=(Hypothesis(verdict=Verdict.WRONG_TEST, cause=TEXT, missing=TEXT),),
        not_established=(TEXT,),
        next=TEXT,
    )
    trial = make_trial(
        arm=Arm((Level(factor="order", value=f"after {target}"),)),
        reason=TEXT,
        stdout=TEXT,
        sequence=(target,),
        failure=Failure(phase="call", exception=TEXT, message=TEXT, text=TEXT),
        command=f"python -m pytest '{target}'",
    )
    record(target, finding, trials=(trial,))

    async def script(driver: Driver):
        driver.check_layout()
        await driver.press("enter", "c")
        driver.check_layout()
        assert driver.app.clipboard.isprintable()
        whole = driver.page.replace("\n", "").replace(" ", "")
        if target is TARGET:
            assert "[red]x[/red][/][@click=app.quit]y[/]\\x1b[31m" in whole
        else:
            assert whole.count("very/" * 10) > 10, "nothing of a long id is cut off"
        assert "and 2 more" not in driver.page
        await driver.press("end")
        driver.check_layout()
        await driver.press("t")
        driver.check_layout()
        await driver.press("enter")
        driver.check_layout()
        await driver.press("escape")
        await driver.filter("[red]")
        driver.check_layout()
        assert len(driver.rows.table.rows) == 1

    drive(script, size)


def test_columns_of_lesser_value_go_first():
    columns = (Column("name", 0, least=10), Column("ab", 1), Column("abc", 6, right=True))
    cells = (Span("n" * 60), Span("x"), Span("1"))
    table = make_table(columns, [Row("1", cells, "")])
    assert fit(table, 90) == [(0, 60), (1, 2), (2, 3)]
    assert fit(table, 60) == [(0, 49), (1, 2), (2, 3)]
    assert fit(table, 40) == [(0, 34), (1, 2)]
    assert fit(table, 16) == [(0, 10), (1, 2)]
    assert fit(table, 14) == [(0, 12)]
    drawn = "".join(span.text for span in line(table, 0, fit(table, 60)))
    assert (len(drawn), drawn[:5], drawn[-3:]) == (59, " nnnn", "  1")


class Alone(App):
    """The list without a history that would be read behind the test's back."""

    def compose(self):
        yield Rows()


def test_thousands_of_rows_cost_what_is_seen():
    """A list of 5,000 trials is shown and moved through; only the rows on the screen are drawn."""
    table = of_trials([make_trial(number=number, stdout="") for number in range(1, 5001)])

    async def main():
        app = Alone()
        async with app.run_test(size=NARROW) as pilot:
            driver = Driver(app, pilot)
            drawn = []
            plain = driver.rows.render_line
            driver.rows.render_line = lambda y: drawn.append(y) or plain(y)
            driver.rows.focus()
            driver.rows.show(table)
            await driver.press("end")
            assert driver.rows.cursor == 4999
            await driver.until(lambda: any(row.split()[:1] == ["5000"] for row in driver.lines))
            await driver.press("home")
            await driver.until(lambda: driver.lines[1].split()[:1] == ["1"])
            assert len(drawn) < 1000
            driver.check_layout()

    asyncio.run(main())
