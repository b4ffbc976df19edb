"""Reports of every kind, and the comparison with what they looked like when somebody last looked at them.

`TRIAGE_GOLD=1 pytest tests/unit/report` writes the files under `gold/` anew; read the difference before committing it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from triage.model.verdict import (
    Culprit,
    Environment,
    Evidence,
    Finding,
    Hypothesis,
    Rate,
    Report,
    Reproduction,
    Strength,
    Trigger,
    Verdict,
)
from triage.stats.intervals import clopper_pearson

GOLD = Path(__file__).parent / "gold"
HERE = Environment(python=("3.11.7",), pytest="9.2.0", platform="Linux-6.8.0-x86_64-with-glibc2.36")


def make_rate(arm: str, failed: int, trials: int) -> Rate:
    low, high = clopper_pearson(failed, trials)
    return Rate(arm=arm, failed=failed, trials=trials, low=low, high=high)


def make_report(
    *findings: Finding,
    target: str,
    trials: int,
    seconds: float,
    complete: bool = True,
    takeovers: tuple[str, ...] = (),
    environment: Environment = HERE,
) -> Report:
    headline = findings[0]
    return Report(
        **{name: getattr(headline, name) for name in headline.__struct_fields__},
        experiment="2vq8z41k7m3c",
        target=target,
        findings=findings,
        environment=environment,
        trials=trials,
        wall_seconds=seconds,
        complete=complete,
        takeovers=takeovers,
    )


CRASH = Finding(
    verdict=Verdict.REAL_BUG,
    cause="crash",
    strength=Strength.ESTABLISHED,
    summary=(
        "The process dies of SIGSEGV while the product's decoder reads past the end of a buffer; "
        "with a debug allocator it dies every time."
    ),
    signature="SIGSEGV at shop/codec.py:41 in decode",
    culprits=(
        Culprit(
            role="product", file="shop/codec.py", lines=(41, 42, 43), what="passes a length that counts the header"
        ),
        Culprit(role="native", file="shop/_codec.c", lines=(118,)),
    ),
    trigger=Trigger(factor="allocator", level="debug"),
    rates=(
        make_rate("baseline", 7, 100),
        make_rate("allocator=debug", 20, 20),
        make_rate("hash_seed=0", 1, 16),
        make_rate("python=3.13", 0, 16),
    ),
    reproduction=Reproduction(
        command=(
            "PYTHONMALLOC=debug .venv/bin/python -m pytest -q -p no:cacheprovider 'tests/test_codec.py::test_decode[long text]'"
        ),
        failed=20,
        trials=20,
    ),
    counterfactual=Reproduction(
        command="PYTHONMALLOC=malloc .venv/bin/python -m pytest -q 'tests/test_codec.py::test_decode[long text]'",
        failed=0,
        trials=60,
    ),
    evidence=(
        Evidence(
            kind="stack", statement="The deepest frame in all 27 crashes is shop/codec.py:41, called by the test."
        ),
        Evidence(kind="bare_script", statement="The same call in a script without pytest dies too."),
    ),
    not_established=("whether other callers of decode() are affected",),
    next="Subtract the header in shop/codec.py:41; 64 runs without a failure then exclude the old rate at 99%.",
)
SLOW_TEARDOWN = Finding(
    verdict=Verdict.WRONG_TEST,
    cause="time_limit",
    strength=Strength.SUPPORTED,
    summary="The test allows 50 ms, which a loaded machine exceeds.",
    signature="AssertionError at tests/test_codec.py:60 in test_decode",
    trigger=Trigger(factor="cpu_load", level="2"),
    reproduction=Reproduction(command="python -m pytest tests/test_codec.py", failed=9, trials=20),
    not_established=("the mechanism",),
)
UNDETERMINED = Finding(
    verdict=Verdict.UNDETERMINED,
    strength=Strength.SUPPORTED,
    summary="The hash seed decides whether the test fails; who is wrong is not decided.",
    signature="AssertionError at tests/test_report.py:31 in test_columns",
    trigger=Trigger(factor="hash_seed", level="3"),
    rates=(
        make_rate("hash_seed=0", 0, 12),
        make_rate("hash_seed=3", 12, 12),
        make_rate("baseline", 11, 40),
        Rate(arm="order=reversed", failed=0, trials=0, low=0.0, high=1.0),
    ),
    reproduction=Reproduction(
        command="PYTHONHASHSEED=3 python -m pytest tests/test_report.py::test_columns", failed=20, trials=20
    ),
    counterfactual=Reproduction(
        command="PYTHONHASHSEED=0 python -m pytest tests/test_report.py::test_columns", failed=0, trials=20
    ),
    hypotheses=(
        Hypothesis(
            verdict=Verdict.WRONG_TEST,
            cause="order_assumption",
            missing="whether columns() promises an order; its docstring does not say",
        ),
        Hypothesis(
            verdict=Verdict.REAL_BUG,
            cause="nondeterminism",
            missing="a caller in the product that relies on the order",
        ),
    ),
    not_established=("who is wrong", "whether the operands are equal as multisets"),
    next="Say in the docstring of columns() whether the order counts, then run triage again.",
)
POLLUTED = Finding(
    verdict=Verdict.WRONG_TEST,
    cause="isolation",
    strength=Strength.ESTABLISHED,
    summary="test_locale leaves LANG behind in os.environ, and this test reads it.",
    signature="AssertionError at tests/test_money.py:12 in test_format",
    culprits=(
        Culprit(role="test", file="tests/test_locale.py", lines=(8, 11), what="sets LANG and does not restore it"),
    ),
    polluters=tuple(
        f"tests/test_locale.py::test_locale[{name}]" for name in ("de", "fr", "pl", "ja", "sv", "cs", "tr")
    ),
    polluter_sets=(("tests/test_a.py::test_one", "tests/test_b.py::test_two"),),
    setters=("tests/test_money.py::test_default",),
    cleaners=("tests/test_locale.py::test_reset",),
    state=("os.environ['LANG']",),
    trigger=Trigger(factor="order", level="after tests/test_locale.py::test_locale[de]"),
    reproduction=Reproduction(
        command="python -m pytest 'tests/test_locale.py::test_locale[de]' tests/test_money.py::test_format",
        failed=8,
        trials=8,
    ),
    counterfactual=Reproduction(command="python -m pytest tests/test_money.py::test_format", failed=0, trials=8),
    next="Use monkeypatch.setenv in tests/test_locale.py.",
)
STABLE_PASS = Finding(
    verdict=Verdict.STABLE_PASS,
    strength=Strength.SUPPORTED,
    summary="No failure in 60 runs as you run it, nor under any of the 9 other arms.",
    rates=(make_rate("baseline", 0, 60), *(make_rate(f"hash_seed={seed}", 0, 4) for seed in range(14))),
    not_established=("a rate below 4.9% is not excluded",),
    next="Nothing to do; more runs lower the bound: `triage run --trials 300`.",
)
STABLE_FAIL = Finding(
    verdict=Verdict.STABLE_FAIL,
    strength=Strength.SUPPORTED,
    summary="Every run fails in the same way; this is no flaky test.",
    signature="ImportError at tests/test_io.py:3: cannot import name …",
    rates=(make_rate("baseline", 12, 12),),
    reproduction=Reproduction(command="python -m pytest tests/test_io.py::test_read", failed=12, trials=12),
    next="Read the failure: python -m pytest tests/test_io.py::test_read",
)
INTERRUPTED = Finding(
    verdict=Verdict.UNDETERMINED,
    strength=Strength.SUGGESTED,
    summary="The experiment was interrupted before it had a verdict; so far 3 of 14 trials failed.",
    rates=(make_rate("baseline", 3, 14),),
    not_established=("everything: no step of the experiment was concluded",),
    next="run it again",
)
HOSTILE = (
    "\x1b[31mred\x1b[0m `tick` | pipe\n# head <b>&@someone #12 *star* _under_ [x](y) \u202eevil $a$ ~~s~~ \udc80 '\\"
)
NASTY = Finding(
    verdict=Verdict.REAL_BUG,
    cause=HOSTILE,
    strength=Strength.LATENT,
    summary=HOSTILE,
    signature=HOSTILE,
    culprits=(Culprit(role=HOSTILE, file=HOSTILE, lines=(1,), what=HOSTILE), Culprit(role="environment")),
    polluters=(HOSTILE,),
    polluter_sets=((HOSTILE, HOSTILE),),
    setters=(HOSTILE,),
    cleaners=(HOSTILE,),
    state=(HOSTILE,),
    trigger=Trigger(factor="rng_seed", level=HOSTILE),
    rates=(make_rate(HOSTILE, 1, 2),),
    reproduction=Reproduction(command="python -m pytest 't.py::test[\x1b`|\n```\\]'", failed=1, trials=2),
    counterfactual=Reproduction(command=HOSTILE, failed=0, trials=2),
    evidence=(Evidence(kind="x", statement=HOSTILE, data={"text": HOSTILE}),),
    hypotheses=(Hypothesis(verdict=Verdict.ENVIRONMENT, cause=HOSTILE, missing=HOSTILE),),
    not_established=(HOSTILE,),
    next=HOSTILE,
)
RERUNS = (
    "pytest-rerunfailures: switched off, it hides failures",
    "pytest-randomly: order and seeds are set by the trial",
)


@pytest.fixture(scope="session")
def reports() -> dict[str, Report]:
    return {
        "crash": make_report(
            CRASH, target="tests/test_codec.py::test_decode[long text]", trials=271, seconds=38.2, takeovers=RERUNS
        ),
        "two_findings": make_report(
            CRASH, SLOW_TEARDOWN, target="tests/test_codec.py::test_decode", trials=431, seconds=119.6
        ),
        "undetermined": make_report(
            UNDETERMINED, target="tests/test_report.py::test_columns", trials=104, seconds=3725
        ),
        "polluted": make_report(POLLUTED, target="tests/test_money.py::test_format", trials=96, seconds=125.0),
        "stable_pass": make_report(STABLE_PASS, target="tests/test_io.py::test_write", trials=100, seconds=9.994),
        "stable_fail": make_report(STABLE_FAIL, target="tests/test_io.py::test_read", trials=12, seconds=2.5),
        "interrupted": make_report(
            INTERRUPTED,
            target="tests/unit/some/very/deep/folder/test_inventory_reservations.py::TestReservations::test_release",
            trials=14,
            seconds=4.0,
            complete=False,
            environment=Environment(python=(), pytest=None, platform="unknown"),
        ),
        "hostile": make_report(NASTY, NASTY, target=HOSTILE, trials=2, seconds=0.0, takeovers=(HOSTILE,)),
    }


@pytest.fixture
def same_as_gold() -> Callable[[str, str], None]:
    def compare(name: str, text: str) -> None:
        path = GOLD / name
        if os.environ.get("TRIAGE_GOLD"):
            GOLD.mkdir(exist_ok=True)
            path.write_text(text + "\n", encoding="utf-8")
        assert text + "\n" == path.read_text(encoding="utf-8"), f"{name} differs; TRIAGE_GOLD=1 writes it anew"

    return compare
