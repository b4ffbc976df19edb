"""A sweep: which tests it takes, what it says of each, and what became of them since the sweep before.

`Sweep` is kept by the store and compared with; `Document` is the contract `triage.sweep/1`, which is printed.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum

from msgspec import Struct

from triage.model.verdict import Environment, Rate, Report, Strength, Trigger, Verdict

SCHEMA = "triage.sweep/1"
FLAKY_MARKS = ("flaky", "quarantine", "quarantined")
"""What is swept unless an expression says otherwise: the mark of the plugins that rerun failures, and two for quarantine."""
DESPITE_MARKS = ("-m", "")
"""pytest options that take back a mark expression given before them: a quarantine is often `-m "not quarantine"`."""


class Shard(Struct, frozen=True):
    """The tests whose hash falls to `number` of `of`; a test stays in its shard whatever others come and go."""

    number: int
    """From 1."""
    of: int

    @property
    def label(self) -> str:
        """`2/5`."""
        return f"{self.number}/{self.of}"

    def has(self, node_id: str) -> bool:
        """Whether a test is in this shard."""
        digest = hashlib.sha256(node_id.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8]) % self.of == self.number - 1


class Selection(Struct, frozen=True, kw_only=True):
    """Which of the collected tests a sweep takes."""

    expression: str | None = None
    """pytest's own mark expression; None: every test with one of `FLAKY_MARKS`."""
    paths: tuple[str, ...] = ()
    """As given; without any, what pytest collects by itself."""
    shard: Shard | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """Options of the collection; an expression of the user's configuration is taken back."""
        return ("-m", self.expression) if self.expression else DESPITE_MARKS

    def wants(self, marks: tuple[str, ...]) -> bool:
        """Whether a collected test with these marks is asked for, in any shard."""
        return self.expression is not None or not set(FLAKY_MARKS).isdisjoint(marks)

    def covers(self, other: Selection) -> bool:
        """Whether a sweep with this selection looked at everything that one with `other` looks at, and asked for the same."""
        same = (self.expression, sorted(self.paths)) == (other.expression, sorted(other.paths))
        return same and self.shard in {None, other.shard}

    @property
    def words(self) -> str:
        """What is selected, for people."""
        marks = " or ".join((", ".join(f"`{mark}`" for mark in FLAKY_MARKS[:-1]), f"`{FLAKY_MARKS[-1]}`"))
        what = f"selected by `-m {self.expression}`" if self.expression else f"marked {marks}"
        return what + (f", shard {self.shard.label}" if self.shard else "")


class State(StrEnum):
    """How far a sweep got with one test."""

    EXAMINED = "examined"
    EXPECTED_FAILURE = "expected_failure"
    """Marked as an expected failure and failing so: pytest counts that as no failure, and nothing is claimed."""
    UNRUNNABLE = "unrunnable"
    """It could not be tried; `why` says why."""
    NOT_REACHED = "not_reached"
    """The sweep ended before it."""


class Result(Struct, frozen=True, kw_only=True):
    """What a sweep says of one test; the whole report is that of its experiment."""

    target: str
    marks: tuple[str, ...] = ()
    state: State = State.NOT_REACHED
    why: str = ""
    experiment: str | None = None
    verdict: Verdict | None = None
    cause: str | None = None
    strength: Strength | None = None
    summary: str = ""
    trigger: Trigger | None = None
    rate: Rate | None = None
    """Of the user's own command in fresh processes."""
    forked: Rate | None = None
    """Of the same in forked trials, which carry no verdict and are compared with nothing."""
    complete: bool = False
    interrupted: bool = False
    """Whether the user or a signal ended the experiment: a sweep that goes on takes the test up again."""
    failing_command: str | None = None
    """A shell line, to be run in the root folder, that was seen to fail: the user's own, without any trigger."""


class Start(Struct, frozen=True, kw_only=True):
    """What is known of a sweep when its first experiment begins."""

    sweep: str
    """Its id."""
    started: float
    """Seconds since the epoch."""
    root: str
    selection: Selection
    command: str
    """Shell line that does the same from `folder`."""
    folder: str = "."
    """Relative to `root`."""
    selected: tuple[str, ...] = ()
    """Node ids, those of this shard only."""
    selected_in_all: int = 0
    """How many tests all shards have together."""
    budget_seconds: float = 0.0
    environment: Environment
    errors: tuple[str, ...] = ()
    """Files that could not be collected: any test in them is missing here. One line each."""
    surface: str = ""
    """Digest of what an interrupted sweep must share with one that goes on with it."""
    triage: str = ""
    """Version that wrote it."""
    owner: str = ""
    """The process that runs it, see `triage.store.owner`."""


class Sweep(Struct, frozen=True, kw_only=True):
    """A sweep as far as it got."""

    start: Start
    results: tuple[Result, ...] = ()
    """In the order in which they became known."""
    experiments: tuple[tuple[str, str], ...] = ()
    """Target and experiment of each that was begun."""
    ended: float | None = None
    """Seconds since the epoch; None if it is still running or was killed."""
    complete: bool = False
    """Whether it got to its last test."""

    @property
    def by_target(self) -> dict[str, Result]:
        """The results by node id."""
        return {result.target: result for result in self.results}

    @property
    def everything(self) -> tuple[Result, ...]:
        """A result for every selected test, `NOT_REACHED` where there is none."""
        known = self.by_target
        return tuple(known.get(target) or Result(target=target) for target in self.start.selected)


class Change(StrEnum):
    """What became of a test since the sweep before."""

    NEW = "new"
    """It was not selected then."""
    STILL = "still"
    """Verdict and cause are the same."""
    CHANGED = "changed"
    """Verdict or cause are others; that alone does not mean that the code changed."""
    NOT_COMPARED = "not_compared"
    """One of the two sweeps has no verdict of it."""


class Difference(StrEnum):
    """What an exact test says of two rates."""

    HIGHER = "higher"
    LOWER = "lower"
    NOT_SHOWN = "not_shown"
    """No difference was shown, which is not to say that there is none."""
    NOT_COMPARED = "not_compared"


class Compared(Struct, frozen=True, kw_only=True):
    """One test of this sweep beside the same test in the sweep before."""

    target: str
    change: Change
    before: Result | None = None
    difference: Difference = Difference.NOT_COMPARED
    p_value: float | None = None
    """Two-sided, Fisher's exact test of the two rates."""


class Gone(Struct, frozen=True, kw_only=True):
    """A test of the sweep before that this one does not have."""

    target: str
    why: str
    before: Result | None = None


class Since(Struct, frozen=True, kw_only=True):
    """The first of the latest sweeps in a row that gave a test the verdict and cause that it has now."""

    target: str
    sweep: str
    started: float


class Comparison(Struct, frozen=True, kw_only=True):
    """A sweep beside the one before it with the same selection."""

    sweep: str
    started: float
    complete: bool
    tests: tuple[Compared, ...] = ()
    gone: tuple[Gone, ...] = ()
    level: float = 0.05
    """At which each pair of rates was tested: 5% split over all pairs."""
    environment: tuple[str, ...] = ()
    """What differs between the environments of the two, in words: such a difference may explain any other."""


class Conclusion(Struct, frozen=True, kw_only=True):
    """All that a report of a sweep is made of."""

    sweep: Sweep
    reports: tuple[Report, ...] = ()
    """Of the experiments, in the order in which they became known."""
    comparison: Comparison | None = None
    """None if there is no earlier sweep with the same selection."""
    since: tuple[Since, ...] = ()


class Document(Struct, frozen=True, kw_only=True):
    """The contract `triage.sweep/1`: printed as one line after the verdicts. Keys are only ever added."""

    schema: str = SCHEMA
    sweep: str
    started: float
    ended: float | None
    complete: bool
    root: str
    selection: Selection
    counts: dict[str, int]
    tests: tuple[Result, ...]
    comparison: Comparison | None
    since: tuple[Since, ...]
    errors: tuple[str, ...]
    environment: Environment
    command: str
    folder: str
    budget_seconds: float
    selected_in_all: int
