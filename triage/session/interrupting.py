"""Ctrl-C, SIGTERM and SIGHUP: they end what is being done, never the telling of what is known."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Self

from triage.errors import ExitCode, TriageError
from triage.model.events import Event, EventSink, Preparing

NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StoppedError(TriageError):
    """It was interrupted before there was anything to report."""

    exit_code = ExitCode.INTERRUPTED


class Interruptions:
    """A context in which the signals raise KeyboardInterrupt, at once or, inside of `held`, when that ends.

    A signal that was ignored when `triage` was started (`nohup`) stays so. Only the main thread may enter it.
    """

    def __init__(self) -> None:
        self._before: dict[int, object] = {}
        self._held = False
        self.pending = False
        """Whether one came while they were held."""

    def __enter__(self) -> Self:
        for number in NUMBERS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        if self._held and not self.pending:
            self.pending = True  # somebody who insists gets through
        else:
            raise KeyboardInterrupt

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let a first signal wait until something short, a report, is finished; `pending` then tells of it."""
        self._held = True
        try:
            yield
        finally:
            self._held = False


class Doing:
    """Passes events on, and remembers what is being prepared."""

    def __init__(self, sink: EventSink) -> None:
        self._sink = sink
        self.words = "starting"

    def __call__(self, event: Event) -> None:
        """Take one event in."""
        if isinstance(event, Preparing):
            self.words = event.doing
        self._sink(event)

    def stopped(self) -> StoppedError:
        """Return what is said where there is nothing else to say."""
        return StoppedError(
            f"interrupted while {self.words}, before the first trial",
            hint="run the same command again",
        )
