"""What was found out, kept: experiments, their trials one by one as they finish, and their reports."""

from __future__ import annotations

import difflib
import platform
import time
from collections.abc import Hashable, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from triage import __version__
from triage.errors import UsageError
from triage.model.encoding import carriable, encode
from triage.model.entry import Entry, Unfinished
from triage.model.project import Interpreter
from triage.model.signature import signature_of
from triage.model.surface import Surface
from triage.model.trial import Trial
from triage.model.verdict import Report
from triage.store.ids import new_id, shortest_prefix
from triage.store.owner import owner

if TYPE_CHECKING:
    from triage.store.database import Database

LATEST = "latest"
MOST_CANDIDATES = 5


class History:
    """The history file of a project, usually `.triage/history.db`.

    Nothing is opened before it is needed: a file that does not exist reads as an empty history and is made, with its
    folder, by the first `start`. Every method raises `triage.store.errors.HistoryError` if the file cannot be used
    (damaged, not writable, disk full, written by a newer version) and `UsageError` for an experiment that is not in it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._opened: Database | None = None
        self._roots: dict[str, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the next call opens it again."""
        if self._opened:
            self._opened.close()
            self._opened = None

    def start(
        self,
        target: str,
        root: str,
        *,
        options: tuple[str, ...] = (),
        interpreters: tuple[Interpreter, ...] = (),
        surface: Surface | None = None,
    ) -> str:
        """Record that an experiment begins, run by this process, and return its id."""
        from sqlmodel import col, func, select  # noqa: PLC0415 - takes a second

        from triage.store import rows  # noqa: PLC0415 - as above
        from triage.store.tables import ExperimentRow  # noqa: PLC0415 - as above

        started = time.time()
        with self._database().write() as session:
            last = session.exec(select(func.max(col(ExperimentRow.id)))).one()
            experiment = new_id(int(started * 1000), last)
            session.add(
                ExperimentRow(
                    id=experiment,
                    target=carriable(target),
                    root=carriable(root),
                    surface=rows.keep_surface(session, surface),
                    options=encode(options).decode(),
                    interpreters=encode(interpreters).decode(),
                    platform=platform.platform(),
                    triage=__version__,
                    owner=owner(),
                    started=started,
                )
            )
        self._roots[experiment] = root
        return experiment

    def interrupted(self, target: str, root: str) -> Unfinished | None:
        """Return the latest experiment on a test, if it was interrupted and nobody runs it any more."""
        from triage.store import resuming  # noqa: PLC0415 - takes a second

        if not self.path.exists():
            return None
        with self._database().read() as session:
            return resuming.interrupted(session, target, root)

    def resume(self, experiment: str) -> bool:
        """Make this process the one that runs an interrupted experiment; False if another one was faster."""
        from triage.store import resuming  # noqa: PLC0415 - takes a second

        with self._database().write() as session:
            return resuming.take_over(session, experiment)

    def surface(self, experiment: str) -> Surface | None:
        """Return the surface that an experiment was made on; None if it is not known."""
        from triage.store import resuming  # noqa: PLC0415 - takes a second

        with self._database().read() as session:
            return resuming.surface(session, experiment)

    def add(self, experiment: str, *trials: Trial) -> None:
        """Record finished trials; once this returns, they outlive `triage`."""
        from triage.store import rows  # noqa: PLC0415 - takes a second

        with self._database().write() as session:
            root = self._roots.get(experiment)
            if root is None:
                root = self._roots[experiment] = rows.experiment(session, experiment).root
            for trial in trials:
                signature = signature_of(trial, root)
                rows.add_trial(session, experiment, trial, signature.key if signature else None)

    def finish(self, experiment: str, report: Report) -> None:
        """Record the report of an experiment; a second one replaces the first."""
        from triage.store import rows  # noqa: PLC0415 - takes a second

        with self._database().write() as session:
            rows.finish(session, experiment, report)

    def load(self, name: str) -> tuple[Report, tuple[Trial, ...]]:
        """Return the report and the trials of an experiment: its id, a prefix that no other one has, or `latest`.

        For one without a report, because it is still running or was killed, the report says so and counts the trials.
        """
        from triage.store import rows  # noqa: PLC0415 - takes a second

        experiment = self.resolve(name)
        with self._database().read() as session:
            return rows.load(session, experiment)

    def resolve(self, name: str) -> str:
        """Return the whole id for an id, a prefix or `latest`; raise `UsageError` where there is not exactly one."""
        ids = self._ids()
        if not ids:
            raise UsageError(
                f"no experiment in `{self.path}`", "`triage run NODEID` makes one; each project keeps its own"
            )
        if name == LATEST:
            return ids[-1]
        wanted = name.strip().lower()
        found = [identity for identity in ids if identity.startswith(wanted)] if wanted else []
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(f"`{name}` is the beginning of {len(found)} experiments", self._offer(found[::-1], ids))
        shown = {shortest_prefix(identity, ids): identity for identity in ids}
        close = difflib.get_close_matches(wanted, [*ids, *shown], n=MOST_CANDIDATES, cutoff=0.5)
        offered = list(dict.fromkeys(shown.get(match, match) for match in close))
        raise UsageError(f"no experiment `{name}`", self._offer(offered or ids[::-1], ids))

    def list(self, target: str | None = None, limit: int = 20) -> tuple[Entry, ...]:
        """Return the latest experiments, latest first: of one test, or of all below a file, folder or parametrised test."""
        from triage.store import rows  # noqa: PLC0415 - takes a second

        if not self.path.exists():
            return ()
        with self._database().read() as session:
            return rows.entries(session, target, limit)

    def stamp(self) -> Hashable:
        """Return a value that is another one after somebody has written; the file is looked at, not read."""
        found: list[tuple[int, ...]] = []
        for path in (self.path, self.path.with_name(self.path.name + "-wal")):
            try:
                status = path.stat()
            except OSError:
                found.append(())
            else:
                found.append((status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns))
        return tuple(found)

    def progress(self, experiment: str) -> Hashable:
        """Return a value that is another one after an experiment got trials, a report or an end."""
        from triage.store import rows  # noqa: PLC0415 - takes a second

        if not self.path.exists():
            return None
        with self._database().read() as session:
            return rows.progress(session, experiment)

    def short(self, experiment: str) -> str:
        """Return the shortest prefix of an id by which `load` finds it."""
        return shortest_prefix(experiment, self._ids())

    def _ids(self) -> Sequence[str]:
        """Every id, oldest first."""
        from triage.store import rows  # noqa: PLC0415 - takes a second

        if not self.path.exists():
            return ()
        with self._database().read() as session:
            return rows.ids(session)

    def _offer(self, candidates: Sequence[str], ids: Sequence[str]) -> str:
        from triage.store import rows  # noqa: PLC0415 - takes a second

        with self._database().read() as session:
            targets = rows.targets(session, candidates[:MOST_CANDIDATES])
        words = [f"`{shortest_prefix(one, ids)}` ({targets[one]})" for one in candidates[:MOST_CANDIDATES]]
        more = len(candidates) - len(words)
        listed = ", ".join(words) + (f" and {more} more; see `triage history`" if more > 0 else "")
        return f"there is {listed}"

    def _database(self) -> Database:
        if self._opened is None:
            from triage.store.database import Database  # noqa: PLC0415 - takes a second

            self._opened = Database(self.path)
        return self._opened
