"""A screen that reads in a thread, at once and then whenever something was written, and never blocks while it does."""

from __future__ import annotations

import time
from collections.abc import Hashable
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from textual import on, work
from textual.binding import Binding
from textual.message import Message
from textual.screen import Screen

from triage.errors import TriageError

if TYPE_CHECKING:
    from triage.session.reader import Reader

T = TypeVar("T")
HELP = Binding("question_mark", "app.help", "Help", key_display="?", tooltip="this page")
QUIT = Binding("q", "app.quit", "Quit", tooltip="quit")
REFRESH = Binding(
    "r", "refresh", "Refresh", show=False, tooltip="read again; what is written meanwhile shows by itself"
)
POLL_SECONDS = 0.5
REST = 5.0
"""How many times as long as a reading took is waited before the next: large histories leave the machine to the trials."""


class Found(Message):
    """Something was read, or an error is to be told."""

    def __init__(self, value: object, seen: Hashable, error: TriageError | None = None) -> None:
        super().__init__()
        self.value = value
        self.seen = seen
        self.error = error


class Unchanged(Message):
    """There was nothing new to read."""


class LiveScreen(Screen[None], Generic[T]):
    """Subclasses say how to look whether something changed, how to read, and how to show it."""

    def __init__(self, reader: Reader) -> None:
        super().__init__()
        self.reader = reader
        self.seen: Hashable = None
        """What `look` said when the shown state was read."""
        self._reading = False
        self._again = False
        self._rest_until = 0.0

    def look(self) -> Hashable:
        """Return a value that is another one when there is something new. Called in a thread."""
        raise NotImplementedError

    def read(self) -> T:
        """Read everything that is shown. Called in a thread; may raise `TriageError`."""
        raise NotImplementedError

    def show(self, value: T) -> None:
        """Show what was read."""
        raise NotImplementedError

    def complain(self, error: TriageError) -> None:
        """Show why nothing could be read."""
        raise NotImplementedError

    def on_mount(self) -> None:
        """Read for the first time, and go on."""
        self.set_interval(POLL_SECONDS, self._poll)
        self._start(force=True)

    def on_screen_resume(self) -> None:
        """Look again at once when this screen is on top again."""
        self._rest_until = 0.0
        self._poll()

    def action_refresh(self) -> None:
        """Read again, whether something changed or not."""
        self._start(force=True)

    def _poll(self) -> None:
        if self.is_current and time.monotonic() >= self._rest_until:
            self._start(force=False)

    def _start(self, *, force: bool) -> None:
        if self._reading:
            self._again = self._again or force
            return
        self._reading = True
        self._read(self.seen, force=force)

    @work(thread=True)
    def _read(self, seen: Hashable, *, force: bool) -> None:
        began = time.monotonic()
        message: Message = Unchanged()
        try:
            found = self.look()
            if force or found != seen:
                message = Found(self.read(), found)
        except TriageError as error:
            message = Found(None, None, error)
        self._rest_until = time.monotonic() + REST * (time.monotonic() - began)
        self.post_message(message)

    @on(Found)
    def _found(self, message: Found) -> None:
        message.stop()
        self.seen = message.seen
        if message.error:
            self.complain(message.error)
        else:
            self.show(cast("T", message.value))
        self._done()

    @on(Unchanged)
    def _unchanged(self, message: Unchanged) -> None:
        message.stop()
        self._done()

    def _done(self) -> None:
        self._reading = False
        if self._again:
            self._again = False
            self._start(force=True)
