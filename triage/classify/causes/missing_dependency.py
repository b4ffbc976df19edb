"""`missing_dependency`: something that should be installed is not."""

from __future__ import annotations

from collections.abc import Iterator

from triage.classify.case import Case
from triage.classify.cause import KIND, TRIGGER, Cause, Suspicion
from triage.model.verdict import Verdict

CAUSE = Cause(
    name="missing_dependency",
    verdicts=(Verdict.ENVIRONMENT,),
    meaning="""A module, shared library or program that the target needs is not installed, or not in the version that
        is needed, in this interpreter or on this machine.""",
    evidence=(
        "the name, and that it is absent in the environment of the failing trials",
        "with it installed the target passes",
    ),
    refuted_by=(
        "it is installed: the import fails for another reason, such as a wrong `sys.path` or a circular import",
        "the product declares it as optional and must work without it",
    ),
    fixes=(
        "declare it where the project lists what tests need",
        "use `pytest.importorskip` where it is optional",
    ),
    example="""
        import lxml         # ModuleNotFoundError on the interpreter that was added last week
    """,
)

MISSING = (
    "look whether the name is installed in the interpreter of the failing trials, and whether the project declares it"
)


def suspect(case: Case) -> Iterator[Suspicion]:
    """Imports, libraries and programs that were not found."""
    if case.exception in {"ModuleNotFoundError", "PackageNotFoundError"}:
        yield Suspicion(Verdict.ENVIRONMENT, TRIGGER, MISSING)
    elif case.exception == "ImportError" or case.says("cannot open shared object file", "command not found"):
        yield Suspicion(Verdict.ENVIRONMENT, KIND, MISSING)
