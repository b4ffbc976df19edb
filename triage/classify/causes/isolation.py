"""`isolation`: tests change what they share and do not put it back."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import FALLBACK, KIND, TRIGGER, Cause, Suspicion
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="isolation",
    verdicts=(Verdict.WRONG_TEST,),
    meaning="""Test code writes to something that outlives the test (an environment variable, a module attribute, a
        folder, a class-level fixture), and another test depends on it.""",
    evidence=(
        "the polluting tests or executions, found and confirmed",
        "the attribute that differs, proved: setting it alone makes the target fail, restoring it makes it pass",
        "test code wrote it, or called an interface whose purpose is global configuration",
    ),
    refuted_by=("product code wrote it behind an ordinary call (`state_leak`)",),
    fixes=(
        "use `monkeypatch`, `tmp_path` and fixtures that undo what they do",
        "build what a test needs in the test",
    ),
    example="""
        def test_debug_mode():
            os.environ["SHOP_DEBUG"] = "1"          # stays for every test that follows
    """,
)

MISSING = (
    "compare global state before and after what ran first, and prove the attribute: a test's own write, or a call whose purpose "
    "is global configuration, is the test's"
)
FALLBACK_MISSING = (
    "hold what the test takes from its surroundings still, one after the other: files, environment, time, randomness"
)


def suspect(case: Case) -> Iterator[Suspicion]:
    """Where what ran before decides; and behind everything else, as a test that does not control its surroundings."""
    if case.factor in {"order", "repeat"} and not case.fails_alone:
        yield Suspicion(Verdict.WRONG_TEST, TRIGGER - 2, MISSING)
    elif case.factor in {"environment", "home", "umask", "locale"}:
        yield Suspicion(Verdict.WRONG_TEST, KIND - 2, MISSING)
    else:
        yield Suspicion(Verdict.WRONG_TEST, FALLBACK - 2, FALLBACK_MISSING)
