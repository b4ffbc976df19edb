"""`python`: the interpreter, with the packages that are installed for it."""

from __future__ import annotations

from typing import ClassVar

from msgspec.structs import replace

from triage.factors.base import Factor
from triage.model.arm import Level
from triage.model.invocation import Invocation
from triage.model.project import Interpreter


class Python(Factor):
    """The interpreters given with `--python`, beside the project's own."""

    name: ClassVar[str] = "python"
    rank: ClassVar[int] = 40
    every_round: ClassVar[bool] = True

    def reason(self) -> str | None:
        """Nothing to compare with a single interpreter."""
        if len(self.context.project.interpreters) > 1:
            return None
        return f"only {self.context.interpreter.version} was given (`--python V` adds another)"

    @property
    def home(self) -> Level:
        """The project's own."""
        return self._named()[0][0]

    def levels(self) -> tuple[Level, ...]:
        """All others."""
        return tuple(level for level, _ in self._named()[1:])

    def apply(self, level: Level, invocation: Invocation) -> Invocation:
        """Run under that interpreter."""
        return replace(invocation, python=next(i.path for named, i in self._named() if named == level))

    def _named(self) -> list[tuple[Level, Interpreter]]:
        """Name each interpreter by the shortest version that tells it from the others."""
        all_ = self.context.project.interpreters
        for name in (lambda i: i.short, lambda i: i.version, lambda i: f"{i.version} ({i.path})"):
            names = [name(interpreter) for interpreter in all_]
            if len(set(names)) == len(names):
                break
        return [(self.level(name), interpreter) for name, interpreter in zip(names, all_, strict=True)]
