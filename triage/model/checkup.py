"""What `triage doctor` finds out. JSON: `triage.doctor/1`; keys are only ever added, absent knowledge is null."""

from __future__ import annotations

from msgspec import Struct

SCHEMA = "triage.doctor/1"


class PythonFound(Struct, frozen=True, kw_only=True):
    """An interpreter that works."""

    path: str
    version: str
    pytest: str | None
    xdist: str | None
    origin: str
    use: str | None
    """`baseline`, `comparison`, or None if it is not used."""
    unfit: str | None
    """Why it cannot run targets as it is; None if it can."""


class Control(Struct, frozen=True, kw_only=True):
    """A test with a known outcome."""

    name: str
    depth: str
    """`cold` or `forked`."""
    expected: str
    seen: str
    missed: bool


class Tests(Struct, frozen=True, kw_only=True):
    """What pytest collects in the whole project."""

    collected: int
    errors: tuple[str, ...] = ()
    """As pytest shows them."""
    takeovers: tuple[str, ...] = ()
    """Plugins and options that trials switch off or take over, each with the reason."""


class Cores(Struct, frozen=True, kw_only=True):
    """Whether a crash leaves a core file."""

    possible: bool | None
    """None if it is not known."""
    statement: str
    soft_limit: int | None = None
    """Bytes; -1 for none."""
    hard_limit: int | None = None
    pattern: str | None = None


class Store(Struct, frozen=True, kw_only=True):
    """The folder that `triage` owns, and the history in it."""

    folder: str
    writable: bool
    free_bytes: int | None
    history: str
    exists: bool
    version: int | None = None
    """Of its format."""
    experiments: int | None = None
    problem: str | None = None
    """Why it cannot be used or only be read; None if it can."""


class Checkup(Struct, frozen=True, kw_only=True):
    """Everything, and whether trials can be run and believed here."""

    schema: str = SCHEMA
    fit: bool
    advice: str
    """What to do, in one line; empty if there is nothing."""
    triage: str
    platform: str
    root: str
    interpreters: tuple[PythonFound, ...]
    tests: Tests | None
    """None if pytest could not be asked."""
    controls: tuple[Control, ...]
    """Empty if they could not be run."""
    unforkable: str | None
    """Why trials cannot be forked here; None if they can."""
    start_seconds: float | None
    """What a cold trial of the controls took, its start included."""
    cores: Cores
    store: Store
