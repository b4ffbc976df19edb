"""`.triage/sweeps/ID.jsonl`: what each sweep took and found, a file for each (docs/decisions/0010).

A file is written by the one process that runs its sweep, line by line, and never again by anybody: sweeps at the same time do
not meet, and one that was killed leaves all that it knew. The experiments themselves are in the history.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

import msgspec
from msgspec import Struct

from triage import __version__
from triage.model.encoding import encode
from triage.model.sweep import Result, Start, Sweep
from triage.store.errors import HistoryError
from triage.store.ids import new_id
from triage.store.owner import is_alive, owner

FOLDER = "sweeps"
"""Below the folder that `triage` owns."""
MOST_READ = 100
"""Sweeps that are looked at, latest first: about two years of weekly ones."""


class Begun(Struct, frozen=True, tag="begun", kw_only=True):
    """The first line."""

    version: Literal[1] = 1
    """Of the format; a file of a newer one is left alone."""
    start: Start


class Experiment(Struct, frozen=True, tag="experiment"):
    """An experiment of this sweep begins."""

    target: str
    experiment: str


class Known(Struct, frozen=True, tag="result"):
    """The result of one test."""

    result: Result


class Ended(Struct, frozen=True, tag="ended"):
    """The last line; without it the sweep is running or was killed."""

    at: float
    complete: bool


Line = Begun | Experiment | Known | Ended
_DECODER = msgspec.json.Decoder(Line)


class SweepLog:
    """Writes one sweep. Every method raises `HistoryError` if the file cannot be written; what was written stays."""

    def __init__(self, state: Path, start: Start) -> None:
        """Open a file of its own below `state` and record the beginning; `start` gets id, version and owner here."""
        folder = state / FOLDER
        self.start = msgspec.structs.replace(
            start, sweep=new_id(int(start.started * 1000)), triage=__version__, owner=owner()
        )
        self.path = folder / f"{self.start.sweep}.jsonl"
        with self._explained():
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("xb", buffering=0)
            self._write(Begun(start=self.start))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def begin(self, target: str, experiment: str) -> None:
        """Record that an experiment begins."""
        self._write(Experiment(target, experiment))

    def add(self, result: Result) -> None:
        """Record what became of a test."""
        self._write(Known(result))

    def end(self, *, complete: bool) -> None:
        """Record that nothing more comes."""
        self._write(Ended(time.time(), complete))

    def _write(self, line: Line) -> None:
        with self._explained():
            data = encode(line) + b"\n"
            while data:  # a write without a buffer may take a part of it only
                data = data[self._file.write(data) :]

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise HistoryError(
                f"cannot write `{self.path}`: {(error.strerror or str(error)).lower()}", "make its folder writable"
            ) from error


def read_sweeps(state: Path) -> tuple[Sweep, ...]:
    """Return the sweeps below `state`, latest first; files that cannot be read, or are of a newer version, are left out."""
    try:
        files = sorted((state / FOLDER).glob("*.jsonl"), reverse=True)
    except OSError:
        return ()
    found = (read_sweep(file) for file in files[:MOST_READ])
    return tuple(sweep for sweep in found if sweep is not None)


def read_sweep(file: Path) -> Sweep | None:
    """Return the sweep in a file, up to the first line that is cut off or not ours; None if not even its beginning is there."""
    lines = list(_lines(file))
    if not lines or not isinstance(lines[0], Begun):
        return None
    ended = next((line for line in lines if isinstance(line, Ended)), None)
    return Sweep(
        start=lines[0].start,
        results=tuple({line.result.target: line.result for line in lines if isinstance(line, Known)}.values()),
        experiments=tuple((line.target, line.experiment) for line in lines if isinstance(line, Experiment)),
        ended=ended.at if ended else None,
        complete=bool(ended and ended.complete),
    )


def _lines(file: Path) -> Iterator[Line]:
    with contextlib.suppress(OSError, msgspec.MsgspecError), file.open("rb") as stream:
        for line in stream:
            if line.endswith(b"\n"):
                yield _DECODER.decode(line)


def is_running(sweep: Sweep) -> bool:
    """Whether the process that runs a sweep is still at work."""
    return sweep.ended is None and is_alive(sweep.start.owner)
