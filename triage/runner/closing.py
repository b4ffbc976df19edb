"""What every engine is beside its trials: a context manager that gives back what it holds."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Closing:
    """`with` closes it."""

    def close(self) -> None:
        """Give back what is held."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
