"""Which interpreters take part: those that are ready, and environments made for the project where none is."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from triage.environments.provision import Provisioned, provision
from triage.errors import UnrunnableError
from triage.model.events import EventSink, Noted, Preparing
from triage.model.project import Interpreter
from triage.session.options import Provision
from triage.targets.interpreters import ALL, Found, distinct, every_version, find, find_own, passed_over
from triage.targets.requirements import Needs, read

MOST_NAMED = 3
"""Requirements that a note lists."""


class Readied(Struct, frozen=True, kw_only=True):
    """The interpreters of a project, its own first."""

    interpreters: tuple[Interpreter, ...]
    seconds: float
    """What installing took: time that no budget for a test should pay for."""


class _NotMadeError(Exception):
    """An environment could not be made, which leaves one interpreter out and stops nothing."""

    def __init__(self, why: UnrunnableError) -> None:
        super().__init__(why.message)
        self.why = why


class Readier:
    """Finds interpreters for one project and makes environments; `state` is the folder that `triage` owns."""

    def __init__(self, root: Path, state: Path, environ: Mapping[str, str], when: Provision, sink: EventSink) -> None:
        self.root = root
        self.state = state
        self.environ = environ
        self.when = when
        self.sink = sink
        self.seconds = 0.0
        self.unreadable: UnrunnableError | None = None
        self.needs = self._read()

    def _read(self) -> Needs:
        try:
            return read(self.root)
        except UnrunnableError as error:  # it matters only where an environment has to be made
            self.unreadable = error
            return Needs()

    def ready(self, specs: Sequence[str]) -> Readied:
        """Return the project's own interpreter and those of `specs`, each once.

        A version for which the project cannot be installed is noted and left out. Raises `UnrunnableError` if none is left, or
        for what does not exist, `UsageError` for a spec that means nothing.
        """
        needs = None if self.when is Provision.NEVER else self.needs
        problems: list[UnrunnableError] = []
        chosen: list[Interpreter] = []
        own = find_own(self.root, self.environ, specs, needs)
        for origin in passed_over(self.root, self.environ, own):
            self.sink(Noted(f"the environment `{origin}` has no pytest, so `{own.answer.path}` ({own.origin}) is used"))
        for found, is_own in ((own, True), *((found, False) for found in self._named(specs, needs, own))):
            try:
                chosen.append(self._interpreter(found, fallback=is_own))
            except _NotMadeError as error:
                problems.append(error.why)
        if not chosen:
            raise problems[0]
        for problem in {str(problem): problem for problem in problems}.values():
            self.sink(Noted(f"left out: {problem.message}" + (f"; {problem.hint}" if problem.hint else "")))
        return Readied(interpreters=distinct(chosen, self.environ), seconds=self.seconds)

    def _named(self, specs: Sequence[str], needs: Needs | None, own: Found) -> list[Found]:
        found: list[Found] = []
        for spec in specs:
            if own.origin == f"--python {spec}":
                continue
            if spec != ALL:
                found.append(find(spec, self.root, self.environ, needs))
                continue
            self.sink(Preparing("looking for every Python"))
            for version in every_version(self.root, self.environ, self.needs):
                one = find(version, self.root, self.environ, needs)
                found.append(replace(one, origin=f"--python {ALL}"))
        return found

    def _interpreter(self, found: Found, *, fallback: bool) -> Interpreter:
        """Return an interpreter with what the tests need; with `fallback`, one with pytest serves where no other can be had.

        Raises `_NotMadeError`, or `UnrunnableError` for one that is named and that no environment could make fit.
        """
        answer, problem = found.answer, found.problem
        if self.when is Provision.NEVER or (found.ready and self.when is Provision.AUTO):
            return found.interpreter
        named = found.origin.startswith("--python ") and answer.is_environment and self.when is Provision.AUTO
        if problem is not None and (answer.is_too_old or named):
            raise problem
        try:
            made = self._provisioned(found)
        except UnrunnableError as error:
            if not fallback or problem is not None or self.when is Provision.ALWAYS:
                raise _NotMadeError(error) from error
            self.sink(Noted(f"{_lacking(found)}, and {error.message}: tests may fail for that"))
            return found.interpreter
        return made.interpreter

    def _provisioned(self, found: Found) -> Provisioned:
        if self.unreadable is not None:
            raise self.unreadable
        began = time.monotonic()
        answer = found.answer

        def say(doing: str) -> None:
            if doing.startswith("making"):
                self.sink(Noted(f"{_lacking(found)}: {doing} (once; it is kept in `{self.state.name}/envs`)"))
            self.sink(Preparing(doing))

        try:
            made = provision(
                answer,
                found.origin,
                root=self.root,
                state=self.state,
                needs=self.needs,
                environ=self.environ,
                say=say,
            )
        finally:
            self.seconds += time.monotonic() - began
        built = made.record.built
        if made.fresh:
            what = "nothing names what the tests need, so of that only pytest is in it"
            if built.sources:
                what = f"requirements from {', '.join(built.sources)}"
            took = f"{made.record.seconds:.0f} s by {built.installer}"
            self.sink(Noted(f"the environment for Python {answer.version} was made in {took}; {what}"))
        for absent in built.left_out:
            self.sink(Noted(f"not in the environment for Python {answer.version}: {absent}"))
        if built.state is not None:
            self.sink(
                Noted(
                    f"the environment for Python {answer.version} holds the project as it was built from the sources of now, "
                    "because parts of it are compiled or generated; it is made anew when a source changes"
                )
            )
        return made


def _lacking(found: Found) -> str:
    """Say what an interpreter lacks, as the beginning of a sentence."""
    name = f"Python {found.answer.version} at `{found.answer.path}`"
    if found.problem is not None:
        return found.problem.message
    if not found.lacks:
        return f"{name} is to have an environment of its own"
    more = len(found.lacks) - MOST_NAMED
    listed = ", ".join(f"`{one}`" for one in found.lacks[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
    return f"{name} lacks {listed}"
