"""Decodes what the probe recorded (docs/wire.md); knows the format, draws no conclusions."""

from __future__ import annotations

import json
from typing import TypeVar

import msgspec
from msgspec import Struct

from triage.model.project import Collection, Item, Plugin
from triage.model.trial import Failure, Frame

VERSION = 1


class WireError(Exception):
    """The wire file is not what the format promises: the probe or this reader is wrong, so the trial is `broken`."""


class Hello(Struct, frozen=True, kw_only=True):
    """The probe was imported."""

    v: int
    t: float
    pid: int
    python: str
    implementation: str = ""
    pytest: str = ""
    free_threaded: bool = False
    worker: str | None = None
    """The id of this process, if it is a worker of xdist."""


class Configured(Struct, frozen=True, kw_only=True):
    """pytest has read its configuration and loaded its plugins."""

    root: str
    inifile: str | None = None
    plugins: tuple[tuple[str, str, str], ...] = ()


class Packages(Struct, frozen=True, kw_only=True):
    """Installed distributions."""

    packages: tuple[tuple[str, str], ...]


class CollectError(Struct, frozen=True, kw_only=True):
    """A file or package that could not be collected."""

    id: str
    text: str


class CollectedItem(Struct, frozen=True, kw_only=True):
    """One collected test."""

    id: str
    file: str
    line: int | None = None
    marks: tuple[str, ...] = ()


class Collected(Struct, frozen=True, kw_only=True):
    """Collection is over."""

    count: int
    selected: int
    digest: str = ""
    items: tuple[CollectedItem, ...] = ()


class Start(Struct, frozen=True, kw_only=True):
    """A test begins."""

    id: str
    index: int
    t: float


class Problem(Struct, frozen=True, kw_only=True):
    """What was raised in a phase."""

    exception: str | None = None
    message: str | None = None
    frames: tuple[tuple[str, int | None, str], ...] = ()
    source: str | None = None
    text: str | None = None


class Phase(Struct, frozen=True, kw_only=True):
    """Setup, call or teardown of a test is over."""

    id: str
    index: int
    when: str
    outcome: str
    seconds: float = 0.0
    xfail: bool = False
    reason: str | None = None
    failure: Problem | None = None

    def as_failure(self) -> Failure:
        """Return what was raised as the value that trials carry."""
        problem = self.failure or Problem()
        return Failure(
            phase=self.when,
            exception=problem.exception,
            message=problem.message or "",
            frames=tuple(Frame(file, line or 0, function) for file, line, function in problem.frames),
            text=problem.text or "",
            source=problem.source or "",
        )


class Finish(Struct, frozen=True, kw_only=True):
    """A test is over, teardown included."""

    id: str
    index: int


class Facts(Struct, frozen=True, kw_only=True):
    """What a test did while it ran."""

    id: str
    threads: int = 0
    processes: int = 0
    forks: int = 0
    sleeps: int = 0
    connects: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()
    lookups: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    """Programs that were started with the name of another machine, each with that name."""


class Reached(Struct, frozen=True, kw_only=True):
    """Something beyond the process that was reached for, told at once; by forks of the process as well."""

    id: str
    """Of the test that ran; empty outside of tests."""
    connects: tuple[str, ...] = ()
    lookups: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()


class InternalProblem(Struct, frozen=True, kw_only=True):
    """pytest or a plugin failed."""

    text: str


class SessionEnd(Struct, frozen=True, kw_only=True):
    """The session is over."""

    status: int


class WorkerEnd(Struct, frozen=True, kw_only=True):
    """Told by xdist's controller: how one of its workers ended."""

    id: str
    status: int | None = None
    """As `subprocess` has it: negative for a signal; None if it is not known."""
    error: str | None = None
    """What xdist says of a worker that was gone before it had said goodbye."""


class End(Struct, frozen=True, kw_only=True):
    """pytest has let go of its configuration; the process itself may still live."""


Event = (
    Hello
    | Configured
    | Packages
    | CollectError
    | Collected
    | Start
    | Phase
    | Finish
    | Facts
    | Reached
    | InternalProblem
    | WorkerEnd
    | SessionEnd
    | End
)

EVENTS: dict[str, type[Event]] = {
    "hello": Hello,
    "configured": Configured,
    "packages": Packages,
    "collect_error": CollectError,
    "collected": Collected,
    "start": Start,
    "phase": Phase,
    "finish": Finish,
    "facts": Facts,
    "reach": Reached,
    "internal_error": InternalProblem,
    "worker": WorkerEnd,
    "session_end": SessionEnd,
    "end": End,
}


class _Name(Struct):
    e: str


class Wire(Struct, frozen=True, kw_only=True):
    """Everything that one process recorded."""

    hello: Hello | None = None
    configured: Configured | None = None
    packages: tuple[tuple[str, str], ...] = ()
    collect_errors: tuple[CollectError, ...] = ()
    collected: Collected | None = None
    tests: tuple[Start | Phase | Finish, ...] = ()
    """In the order of the file."""
    facts: tuple[Facts, ...] = ()
    reached: tuple[Reached, ...] = ()
    internal_errors: tuple[str, ...] = ()
    session_status: int | None = None
    """pytest's exit status; None if the session did not come to its end."""
    workers: tuple[WorkerEnd, ...] = ()
    ended: bool = False

    @property
    def sequence(self) -> tuple[str, ...]:
        """The node ids that started, in order."""
        return tuple(event.id for event in self.tests if isinstance(event, Start))

    def collection(self) -> Collection | None:
        """Return what a `collect` trial found; None if pytest did not get so far."""
        if self.configured is None:
            return None
        items = self.collected.items if self.collected else ()
        return Collection(
            root=self.configured.root,
            inifile=self.configured.inifile,
            items=tuple(Item(id=item.id, file=item.file, line=item.line, marks=item.marks) for item in items),
            plugins=tuple(
                Plugin(name=name, distribution=distribution, version=version)
                for name, distribution, version in self.configured.plugins
            ),
            errors=tuple(error.text for error in self.collect_errors),
            uncollected=tuple(error.id for error in self.collect_errors),
            packages=self.packages,
        )


def read_wire(data: bytes) -> Wire:
    """Decode a wire file.

    An incomplete last line is dropped: its process died while writing. Raises WireError if any other line is no event
    of this version or the probe did not introduce itself first.
    """
    lines = data.split(b"\n")[:-1]
    events = [event for number, line in enumerate(lines, 1) if (event := read_event(line, number)) is not None]
    if events and not isinstance(events[0], Hello):
        raise WireError(f"the first event is `{type(events[0]).__name__}`, not `Hello`")
    return assemble(events)


def read_event(line: bytes, number: int) -> Event | None:
    """Decode one line; None for an event that this version does not know."""
    try:
        try:
            event = decode(line)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            event = decode(without_surrogates(line))
    except ValueError as error:
        raise WireError(f"line {number} of the wire: {error}") from error
    if isinstance(event, Hello) and event.v != VERSION:
        raise WireError(f"the probe speaks version {event.v} of the wire, not {VERSION}")
    return event


def decode(line: bytes) -> Event | None:
    """Decode one line by the name in it."""
    kind = EVENTS.get(msgspec.json.decode(line, type=_Name).e)
    return None if kind is None else msgspec.json.decode(line, type=kind)


def without_surrogates(line: bytes) -> bytes:
    r"""Return a line with lone surrogates (`\udc80`: undecodable bytes in a file name or message) as question marks.

    msgspec and databases refuse them.
    """
    return json.dumps(json.loads(line), ensure_ascii=False).encode("utf-8", "replace")


Kind = TypeVar("Kind", bound=Event)


def assemble(events: list[Event]) -> Wire:
    """Sort events by kind; of those that come once the last one counts."""

    def last(kind: type[Kind]) -> Kind | None:
        return next((event for event in reversed(events) if isinstance(event, kind)), None)

    packages, session = last(Packages), last(SessionEnd)
    return Wire(
        hello=last(Hello),
        configured=last(Configured),
        packages=packages.packages if packages else (),
        collect_errors=tuple(event for event in events if isinstance(event, CollectError)),
        collected=last(Collected),
        tests=tuple(event for event in events if isinstance(event, Start | Phase | Finish)),
        facts=tuple(event for event in events if isinstance(event, Facts)),
        reached=tuple(event for event in events if isinstance(event, Reached)),
        internal_errors=tuple(event.text for event in events if isinstance(event, InternalProblem)),
        session_status=session.status if session else None,
        workers=tuple(event for event in events if isinstance(event, WorkerEnd)),
        ended=last(End) is not None,
    )
