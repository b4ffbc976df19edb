"""What is known about the project that a target lives in, before any trial."""

from __future__ import annotations

from msgspec import Struct

from triage.model.arm import Level


class Interpreter(Struct, frozen=True, kw_only=True):
    """A Python that can run the target."""

    path: str
    version: str
    """`3.11.7`."""
    pytest: str | None
    """Version of pytest in it, or None if it has none."""
    origin: str
    """How it was found: `active virtual environment`, `.venv`, `--python 3.13`, ..."""
    implementation: str = "cpython"
    free_threaded: bool = False

    @property
    def short(self) -> str:
        """`3.13`, or `3.13t` for a free-threaded build."""
        return ".".join(self.version.split(".")[:2]) + ("t" if self.free_threaded else "")


class Item(Struct, frozen=True, kw_only=True):
    """One collected test."""

    id: str
    file: str
    """Relative to the root folder."""
    line: int | None = None
    """From 1."""
    marks: tuple[str, ...] = ()


class Plugin(Struct, frozen=True, kw_only=True):
    """A pytest plugin that an installed distribution brings."""

    name: str
    """As registered with pytest."""
    distribution: str
    version: str


class Collection(Struct, frozen=True, kw_only=True):
    """What pytest collects for some arguments, with the configuration that it found."""

    root: str
    inifile: str | None
    items: tuple[Item, ...]
    plugins: tuple[Plugin, ...]
    errors: tuple[str, ...] = ()
    """Collection errors as pytest shows them."""
    uncollected: tuple[str, ...] = ()
    """The files and classes that they are about, in the same order."""
    packages: tuple[tuple[str, str], ...] = ()
    """Installed distributions, name and version."""


class Takeover(Struct, frozen=True, kw_only=True):
    """A plugin or option of the user's setup that trials switch off or take over, and why."""

    what: str
    why: str


class Unsteady(Struct, frozen=True, kw_only=True):
    """A parametrised test that is collected differently in each process."""

    test: str
    """Its node id without parameters."""
    file: str
    line: int | None = None
    """From 1."""
    ids_differ: bool = False
    """Whether its ids are other ones; else they come in another order."""
    seen: tuple[tuple[str, ...], ...] = ()
    """Two of the sequences of its parameters."""

    @property
    def statement(self) -> str:
        """One sentence without a full stop, with the place."""
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        how = "are other ones" if self.ids_differ else "come in another order"
        shown = " or ".join(f"`{', '.join(ids[:4])}{', ...' if len(ids) > 4 else ''}`" for ids in self.seen)
        return f"the parameters of `{self.test}` ({place}) {how} under another hash seed ({shown})"


class Project(Struct, frozen=True, kw_only=True):
    """Where and how targets of one project run."""

    root: str
    interpreters: tuple[Interpreter, ...]
    """The project's own first; the others are levels of the factor `python`."""
    options: tuple[str, ...] = ()
    """pytest options of every trial: the user's after `--`, then those that take plugins over."""
    levels: tuple[str, ...] = ()
    """Settings of the levels plugin in every trial, such as `without=rerunfailures`."""
    takeovers: tuple[Takeover, ...] = ()
    collection: Collection
    """What the requested node ids select."""
    scope: tuple[Item, ...] = ()
    """The tests that may run around a target, in pytest's own order."""
    scope_arguments: tuple[str, ...] | None = None
    """What pytest is given to collect just these; None: they have to be named one by one."""
    unsteady: tuple[Unsteady, ...] = ()
    """Tests of the scope that were collected differently under several hash seeds."""
    starts: tuple[Level, ...] = ()
    """Levels that the user's own command names, such as the order of a seed that failed in CI: screened before all others.
    Those of `order` hold every test of the scope in that order, also the target and those after it."""
