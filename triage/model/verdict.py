"""The contract `triage.verdict/1`: what one experiment says. Keys are only ever added; absent knowledge is None."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

from msgspec import Struct

SCHEMA = "triage.verdict/1"


class Verdict(StrEnum):
    """Who is wrong."""

    REAL_BUG = "real_bug"
    WRONG_TEST = "wrong_test"
    ENVIRONMENT = "environment"
    STABLE_PASS = "stable_pass"
    STABLE_FAIL = "stable_fail"
    UNDETERMINED = "undetermined"


VERDICT_GRAVITY = (
    Verdict.REAL_BUG,
    Verdict.UNDETERMINED,
    Verdict.ENVIRONMENT,
    Verdict.WRONG_TEST,
    Verdict.STABLE_FAIL,
    Verdict.STABLE_PASS,
)
"""Gravest first. An undecided finding may be a real bug, so it stands before those that are decided not to be one."""


class Strength(StrEnum):
    """How sure."""

    ESTABLISHED = "established"
    SUPPORTED = "supported"
    SUGGESTED = "suggested"
    LATENT = "latent"


class Culprit(Struct, frozen=True, kw_only=True):
    """Where: a place that must change."""

    role: str
    """`product`, `test`, `dependency`, `interpreter`, `native` or `environment`."""
    file: str | None = None
    """Relative to the root folder where it lies below."""
    lines: tuple[int, ...] = ()
    what: str = ""


class Trigger(Struct, frozen=True, kw_only=True):
    """The factor whose level makes the target fail."""

    factor: str
    level: str


class Rate(Struct, frozen=True, kw_only=True):
    """Failures among the trials of one arm that count, with an exact 95% interval of the rate."""

    arm: str
    failed: int
    trials: int
    low: float
    high: float


class Reproduction(Struct, frozen=True, kw_only=True):
    """A command, and what it did on fresh trials one at a time."""

    command: str
    failed: int
    trials: int


class Evidence(Struct, frozen=True, kw_only=True):
    """One observation in words, with its data."""

    kind: str
    statement: str
    data: dict[str, Any] = {}


class Hypothesis(Struct, frozen=True, kw_only=True):
    """An explanation that has not been excluded, and what would decide it."""

    verdict: Verdict
    cause: str
    missing: str


class Finding(Struct, frozen=True, kw_only=True):
    """One failure signature with everything that is known about it; a stable target has one without a signature."""

    verdict: Verdict
    cause: str | None = None
    strength: Strength
    summary: str
    signature: str | None = None
    culprits: tuple[Culprit, ...] = ()
    polluters: tuple[str, ...] = ()
    polluter_sets: tuple[tuple[str, ...], ...] = ()
    setters: tuple[str, ...] = ()
    cleaners: tuple[str, ...] = ()
    state: tuple[str, ...] = ()
    trigger: Trigger | None = None
    rates: tuple[Rate, ...] = ()
    reproduction: Reproduction | None = None
    counterfactual: Reproduction | None = None
    evidence: tuple[Evidence, ...] = ()
    hypotheses: tuple[Hypothesis, ...] = ()
    not_established: tuple[str, ...] = ()
    next: str = ""


class UsedInterpreter(Struct, frozen=True, kw_only=True):
    """An interpreter that took part."""

    version: str
    origin: str
    """How it was found: `.venv`, `--python 3.13`, ...; with `provisioned` where the environment was made by `triage`."""
    pytest: str | None


class Environment(Struct, frozen=True, kw_only=True):
    """In what the trials ran."""

    python: tuple[str, ...]
    pytest: str | None
    platform: str
    interpreters: tuple[UsedInterpreter, ...] = ()
    """As `python`, with where each comes from."""


class Report(Finding, frozen=True, kw_only=True):
    """The object printed for a target: its gravest finding at the top level, and all of them in `findings`."""

    schema: str = SCHEMA
    experiment: str
    target: str
    findings: tuple[Finding, ...] = ()
    environment: Environment
    layers: None = None
    receipt: None = None
    trials: int
    wall_seconds: float
    complete: bool = True
    """False if the budget, the user or a signal ended the experiment before it was done."""
    interrupted: bool = False
    """True if the user or a signal ended it: the same command goes on with it."""
    takeovers: tuple[str, ...] = ()
    root: str = ""
    """The project's root folder, from which the commands are to be run; empty if it is not known."""
