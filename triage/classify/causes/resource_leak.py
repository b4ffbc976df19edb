"""`resource_leak`: files, sockets, threads or memory are not given back."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import FACT, KIND, TRIGGER, Cause, Suspicion
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="resource_leak",
    verdicts=(Verdict.REAL_BUG, Verdict.WRONG_TEST),
    meaning="""Something that the system has a limit of (file descriptors, threads, connections, memory) is taken and
        not given back, until an unrelated operation fails. Whose code took it decides.""",
    evidence=(
        "the count grows with every execution of the target or of another test",
        "the place of allocation of what is still open",
        "who should have closed it: the product's own `close`, or the test that opened it",
    ),
    refuted_by=("the count is level over executions, and the limit is lower than one execution needs",),
    fixes=(
        "use a context manager, or close in `finally`",
        "join threads and shut down executors that you started",
        "in a test: let a fixture close what it opens",
    ),
    example="""
        def read(path):
            return open(path).read().splitlines()      # closed whenever the collector finds time
    """,
)

MISSING = "count open files, threads and memory after each execution, with the place of allocation: the product's or the test's?"


def suspect(case: Case) -> Iterator[Suspicion]:
    """Limits that were reached, above all after several executions."""
    exhausted = case.says(
        "too many open files", "can't start new thread", "cannot allocate memory", "resourcewarning", "emfile"
    )
    exhausted = exhausted or case.exception in {"MemoryError", "ResourceWarning", "PytestUnraisableExceptionWarning"}
    if case.factor in {"repeat", "memory", "fd_limit", "gc"} and (exhausted or case.factor != "repeat"):
        yield Suspicion(Verdict.REAL_BUG, TRIGGER + 5, MISSING)
    elif exhausted:
        yield Suspicion(Verdict.REAL_BUG, KIND + 2, MISSING)
        yield Suspicion(Verdict.WRONG_TEST, FACT, MISSING)
