from __future__ import annotations

import pytest

from triage.classify.explain import explain
from triage.classify.registry import causes, modules
from triage.errors import UsageError
from triage.model.verdict import Verdict

REAL = {"race", "crash", "deadlock", "state_leak", "resource_leak", "nondeterminism", "time_bug", "input_bug"}
WRONG = {
    "async_wait", "order_assumption", "tolerance", "unseeded_random", "clock", "time_limit", "isolation", "missing_setup",
    "shared_resource", "network", "deadline", "race", "crash", "deadlock", "resource_leak",
}  # fmt: skip
ENVIRONMENT = {"missing_dependency", "out_of_memory", "disk", "unreachable_service"}


def test_every_cause_of_the_design_is_there_with_its_verdicts() -> None:
    found = {verdict: {name for name, cause in causes().items() if verdict in cause.verdicts} for verdict in Verdict}
    assert found[Verdict.REAL_BUG] == REAL
    assert found[Verdict.WRONG_TEST] == WRONG
    assert found[Verdict.ENVIRONMENT] == ENVIRONMENT
    assert set(causes()) == REAL | WRONG | ENVIRONMENT


def test_a_cause_is_named_like_its_file() -> None:
    assert all(cause.name == name for name, cause in causes().items())


def test_only_one_rule_decides_yet() -> None:
    assert [name for name, module in modules().items() if hasattr(module, "judge")] == ["crash"]


@pytest.mark.parametrize("name", sorted(REAL | WRONG | ENVIRONMENT))
def test_the_page_of_a_cause_is_complete(name: str) -> None:
    page = explain(name)
    first, *_ = page.splitlines()
    assert first.startswith(f"{name} (")
    for title in ("Evidence needed", "What would refute it", "Usual fixes", "Example"):
        assert f"\n{title}\n" in page
    assert max(map(len, page.splitlines())) <= 120
    assert "\n\n\n" not in page
    assert page == page.strip()


@pytest.mark.parametrize("name", ["Race", "state-leak", " state leak "])
def test_names_are_forgiving(name: str) -> None:
    assert explain(name)


def test_an_unknown_cause_offers_the_closest() -> None:
    with pytest.raises(UsageError) as caught:
        explain("isolaton")
    assert caught.value.message == "`isolaton` is no cause, verdict or strength"
    assert "`isolation`" in (caught.value.hint or "")
    with pytest.raises(UsageError) as caught:
        explain("zzzzzz")
    assert "`race`" in (caught.value.hint or "")
