"""The listings."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC

from triage.model.arm import BASELINE, Arm, Level
from triage.model.entry import Entry, State
from triage.model.outcome import Outcome
from triage.model.trial import Failure, Stage, Trial
from triage.model.verdict import Strength, Verdict
from triage.report.trials import history_text, trials_text

Compare = Callable[[str, str], None]
SEED = Arm((Level(factor="hash_seed", value="3"), Level(factor="order", value="after tests/test_a.py::test_one")))


def test_trials(same_as_gold: Compare) -> None:
    failure = Failure(phase="call", exception="ValueError", message="bad\x1b[0m value\nsecond line")
    trials = [
        Trial(number=1, arm=BASELINE, stage=Stage.CONTROL, outcome=Outcome.FAILED, wall_seconds=0.2, failure=failure),
        Trial(number=2, arm=BASELINE, stage=Stage.SCOUT, outcome=Outcome.PASSED, wall_seconds=0.214),
        Trial(
            number=3, arm=SEED, stage=Stage.SCREEN, outcome=Outcome.FAILED, failure=failure, index=4, wall_seconds=12
        ),
        Trial(
            number=10,
            arm=BASELINE,
            stage=Stage.SCREEN,
            outcome=Outcome.CRASHED,
            signal="SIGSEGV",
            failure=Failure(phase="exit", exception="SIGSEGV"),
            wall_seconds=1.0,
        ),
        Trial(number=11, arm=BASELINE, stage=Stage.PLAIN, outcome=Outcome.CRASHED, reason="exit status 3 in the test"),
        Trial(
            number=12, arm=BASELINE, stage=Stage.PLAIN, outcome=Outcome.HUNG, wall_seconds=100, reason="limit of 100 s"
        ),
        *(
            Trial(number=13 + place, arm=BASELINE, stage=Stage.CONFIRM, outcome=outcome, reason=f"why {outcome}")
            for place, outcome in enumerate(Outcome)
            if outcome not in {Outcome.PASSED, Outcome.FAILED}
        ),
    ]
    same_as_gold("trials.list", trials_text(trials))


def test_no_trials() -> None:
    assert trials_text([]) == "no trial has finished"


def test_only_controls() -> None:
    control = Trial(number=1, arm=BASELINE, stage=Stage.CONTROL, outcome=Outcome.PASSED)
    assert trials_text([control]).endswith("no trial of the target; and 1 control")


def test_history(same_as_gold: Compare) -> None:
    common = {"started": 1_800_000_000.0, "trials": 40, "counted": 38, "failed": 3}
    entries = [
        Entry(
            experiment="2vq8z41k7m3c",
            short="2vq8z",
            target="tests/test_codec.py::test_decode[long\ntext]",
            state=State.FINISHED,
            verdict=Verdict.REAL_BUG,
            cause="crash",
            strength=Strength.ESTABLISHED,
            **common,
        ),
        Entry(
            experiment="2vq8y41k7m3c",
            short="2vq8y",
            target="tests/test_a.py::test_b",
            state=State.FINISHED,
            verdict=Verdict.UNDETERMINED,
            strength=Strength.SUGGESTED,
            complete=False,
            **common,
        ),
        Entry(experiment="1aaaaaaaaaaa", short="1aaa", target="t.py::test_c", state=State.INTERRUPTED, **common),
        Entry(experiment="1baaaaaaaaaa", short="1baa", target="t.py::test_d", state=State.RUNNING, **common),
    ]
    same_as_gold("history.list", history_text(entries, UTC))


def test_empty_history_says_what_to_do() -> None:
    assert "triage run" in history_text([])


def test_forked_trials_of_one_process_that_ended_alike_share_a_line() -> None:
    seed = Arm((Level(factor="rng_seed", value="7"),)).forked

    def trial(number: int, arm: Arm, outcome: Outcome, cluster: int | None) -> Trial:
        return Trial(
            number=number,
            arm=arm,
            stage=Stage.SCREEN,
            outcome=outcome,
            cluster=cluster,
            wall_seconds=0.5,
            started=number,
        )

    passed, failed = Outcome.PASSED, Outcome.FAILED
    forked = BASELINE.forked
    listed = trials_text(
        [
            trial(1, BASELINE, passed, None),
            trial(2, BASELINE, passed, None),
            trial(3, forked, passed, 1),
            trial(4, seed, passed, 1),
            trial(5, forked, failed, 1),
            trial(6, forked, passed, 2),
        ]
    ).splitlines()
    assert [line.split()[0] for line in listed[1:-2]] == ["1", "2", "3-4", "5", "6"]
    assert "2 arms (forked)" in listed[3]
    assert "2 of process 1" in listed[3]
    assert "1.00 s" in listed[3]
