"""The tables of the history, version 1. The rows are dumb: values are validated where they are made, in `triage.model`.

A row has the columns that queries need and, as JSON, the value that it was made from. Whatever is long or repeats from
trial to trial (output, failure text, arm, sequence) is a row of `text`, once for all trials that have it.
"""

from __future__ import annotations

from sqlmodel import Field, SQLModel

VERSION = 1
"""`PRAGMA user_version` of a database with these tables."""


class TextRow(SQLModel, table=True):
    """A text, under the SHA-256 of its bytes."""

    __tablename__ = "text"

    sha256: str = Field(primary_key=True)
    content: str


class ExperimentRow(SQLModel, table=True):
    """One experiment; `report` is null until it is finished."""

    __tablename__ = "experiment"

    id: str = Field(primary_key=True)
    target: str = Field(index=True)
    root: str
    surface: str
    """Digest of what decides which tests run and how, whose JSON is in `text`; empty if unknown."""
    options: str
    """JSON: the pytest options of the user."""
    interpreters: str
    """JSON: the interpreters that it was to use."""
    platform: str
    triage: str
    """Version of `triage` that wrote it."""
    owner: str
    """The process that runs it, see `triage.store.owner`."""
    started: float
    """Seconds since the epoch, as `finished`."""
    finished: float | None = None
    verdict: str | None = None
    cause: str | None = None
    strength: str | None = None
    summary: str | None = None
    complete: bool | None = None
    wall_seconds: float | None = None
    report: str | None = None
    """JSON, schema `triage.verdict/1`."""


class TrialRow(SQLModel, table=True):
    """One finished trial."""

    __tablename__ = "trial"

    key: int | None = Field(default=None, primary_key=True)
    """Ascending in the order of arrival."""
    experiment: str = Field(foreign_key="experiment.id", index=True)
    number: int
    label: str
    """Of its arm."""
    stage: str
    outcome: str
    signal: str | None
    signature: str | None
    python: str
    started: float
    wall_seconds: float
    test_seconds: float | None
    arm: str | None = Field(foreign_key="text.sha256")
    """JSON."""
    sequence: str | None = Field(foreign_key="text.sha256")
    """JSON."""
    stdout: str | None = Field(foreign_key="text.sha256")
    stderr: str | None = Field(foreign_key="text.sha256")
    failure_text: str | None = Field(foreign_key="text.sha256")
    record: str
    """JSON of the trial without what the five columns before refer to."""


class FindingRow(SQLModel, table=True):
    """One finding of a finished experiment."""

    __tablename__ = "finding"

    key: int | None = Field(default=None, primary_key=True)
    experiment: str = Field(foreign_key="experiment.id", index=True)
    position: int
    """From 0, gravest first."""
    verdict: str
    cause: str | None
    strength: str
    signature: str | None
    summary: str
    factor: str | None
    """Of the trigger, as `level`."""
    level: str | None
