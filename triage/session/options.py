"""What a user may ask of `triage run`, checked."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from enum import StrEnum

from msgspec import Struct

from triage.errors import UsageError
from triage.model.sweep import Selection
from triage.model.verdict import Verdict

DEFAULT_BUDGET = 120.0
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")


class Provision(StrEnum):
    """When environments for the project are made under `.triage/envs`."""

    AUTO = "auto"
    """Where an interpreter has no pytest, or lacks what the project says that it needs."""
    ALWAYS = "always"
    NEVER = "never"


class RunOptions(Struct, frozen=True, kw_only=True):
    """The options of `triage run`."""

    node_ids: tuple[str, ...]
    python: tuple[str, ...] = ()
    provision: Provision = Provision.AUTO
    budget: float = DEFAULT_BUDGET
    """Seconds for one target in all, its confirmation included."""
    trials: int | None = None
    scope: str | None = None
    factors: tuple[str, ...] = ()
    """Only these are varied; none: all."""
    skip: tuple[str, ...] = ()
    fail_on: tuple[Verdict, ...] = ()
    allow_side_effects: bool = False
    pytest_args: tuple[str, ...] = ()
    fresh: bool = False
    """Start a new experiment also where an interrupted one could be continued."""
    seed: int | None = None
    """Seed of the planner's choices; None draws one."""
    selection: Selection | None = None
    """Of what the node ids stand for, take only these tests; None: all of them."""


def parse_duration(text: str) -> float:
    """Return seconds of `90`, `90s`, `2m`, `1m30s`, `1.5h`; raise `UsageError` for anything else, and for nothing."""
    compact = text.strip().lower()
    parts = list(DURATION.finditer(compact))
    if not parts or "".join(part[0] for part in parts) != compact or any(part[2] not in UNITS for part in parts):
        raise UsageError(f"`{text}` is not a duration", hint="write `90s`, `2m` or `1m30s`")
    seconds = sum(float(part[1]) * UNITS[part[2]] for part in parts)
    if not 1 <= seconds <= 7 * 86400:
        raise UsageError(f"`{text}` is not a usable duration", hint="it is one second at least, and a week at most")
    return seconds


def parse_verdicts(words: Iterable[str]) -> tuple[Verdict, ...]:
    """Return the verdicts that `--fail-on` names; raise `UsageError` for another word."""
    return tuple(Verdict(_known(word, [verdict.value for verdict in Verdict], "verdict")) for word in words)


def parse_provision(word: str) -> Provision:
    """Return what `--provision` names; raise `UsageError` for another word."""
    return Provision(_known(word, [when.value for when in Provision], "way to provision"))


def check_factors(words: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Return the names of factors as given; raise `UsageError` for one that does not exist."""
    return tuple(_known(word, known, "factor") for word in words)


def _known(word: str, known: Sequence[str], kind: str) -> str:
    plain = word.strip().replace("-", "_")
    if plain in known:
        return plain
    near = difflib.get_close_matches(plain, known, n=1)
    listed = ", ".join(known)
    raise UsageError(
        f"`{word}` is not a {kind}",
        hint=f"did you mean `{near[0]}`? There are {listed}" if near else f"there are {listed}",
    )
