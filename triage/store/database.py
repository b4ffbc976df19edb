"""The SQLite file under the history: opening, version, transactions, and every way in which that fails, as one line.

Importing this module imports SQLModel, which takes about a second; `triage.store.history` does it when it has to.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import msgspec
from sqlalchemy import Connection, Engine, QueuePool, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlmodel import Session, SQLModel

from triage.store import tables
from triage.store.errors import explain, foreign_database, newer_version

BUSY_SECONDS = 20.0
"""How long a writer waits for another one; a transaction here takes milliseconds."""

APPLICATION = int.from_bytes(b"tria")
"""`PRAGMA application_id`: the database is ours."""
MIGRATIONS: dict[int, tuple[str, ...]] = {}
"""For each version that has been released, the statements that lead to the next one."""
OURS = [SQLModel.metadata.tables[name] for name in ("text", "experiment", "trial", "finding")]


class Database:
    """One open history file.

    Raises `triage.store.errors.HistoryError` from every method, with the reason in one line.
    """

    def __init__(self, path: Path, *, version: int = tables.VERSION) -> None:
        self.path = path.absolute()
        self.version = version
        self.read_only = False
        self._shown = path
        with self._explained():
            found = self._probe()
            self.read_only = found > version
            self._engine = self._make_engine()
            if found < version:
                try:
                    self._prepare()
                except BaseException:
                    self.close()
                    raise

    def close(self) -> None:
        """Close every connection; the last one to go folds the write-ahead log into the file."""
        self._engine.dispose()

    @contextmanager
    def read(self) -> Iterator[Session]:
        """Give a session that sees one state of the database from its first query on."""
        with self._explained(), Session(self._engine) as session:
            yield session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """Give a session that is committed at the end, and rolled back if the block raises.

        It takes SQLite's write lock at its beginning: a transaction that first reads and then wants to write is refused
        at once, whatever the busy timeout, if somebody wrote in between.
        """
        if self.read_only:
            raise newer_version(self._shown)
        with self._explained(), Session(self._engine.execution_options(immediate=True)) as session:
            yield session
            session.commit()

    def _probe(self) -> int:
        """Return the version of the file without changing it: 0 if it is new or empty."""
        if not self.path.exists():
            return 0
        if self.path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        connection = sqlite3.connect(_uri(self.path, "ro"), uri=True, timeout=BUSY_SECONDS)
        try:
            application = connection.execute("PRAGMA application_id").fetchone()[0]
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            if application != APPLICATION and connection.execute("SELECT 1 FROM sqlite_schema").fetchone():
                raise foreign_database(self._shown)
            return version
        finally:
            connection.close()

    def _make_engine(self) -> Engine:
        mode = "ro" if self.read_only else "rwc"

        def connect() -> sqlite3.Connection:
            connection = sqlite3.connect(
                _uri(self.path, mode),
                uri=True,
                timeout=BUSY_SECONDS,
                isolation_level=None,  # transactions are begun by `begin` below, not by the driver
                check_same_thread=False,  # the pool hands a connection to one thread at a time
            )
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = NORMAL")
            return connection

        engine = create_engine("sqlite://", creator=connect, poolclass=QueuePool)

        @event.listens_for(engine, "begin")
        def begin(connection: Connection) -> None:
            immediate = connection.get_execution_options().get("immediate", False)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")

        return engine

    def _prepare(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._use_write_ahead_log()
        with self._engine.execution_options(immediate=True).begin() as connection:
            found = int(connection.exec_driver_sql("PRAGMA user_version").scalar_one())
            if found == 0:
                SQLModel.metadata.create_all(connection, tables=OURS)
                connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION}")
            for step in range(found or self.version, self.version):
                for statement in MIGRATIONS[step]:
                    connection.exec_driver_sql(statement)
            connection.exec_driver_sql(f"PRAGMA user_version = {self.version}")

    def _use_write_ahead_log(self) -> None:
        """Let readers and one writer work at the same time; the setting stays in the file."""
        deadline = time.monotonic() + BUSY_SECONDS
        connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS)
        try:
            while True:
                try:
                    connection.execute("PRAGMA journal_mode = WAL")
                except sqlite3.OperationalError as error:
                    # Two processes that switch at once: SQLite refuses one of them without waiting.
                    if "locked" not in str(error) or time.monotonic() > deadline:
                        raise
                    time.sleep(0.01)
                else:
                    return
        finally:
            connection.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            raise explain(error.orig or error, self._shown, newer=self.read_only) from error
        except (sqlite3.Error, OSError, msgspec.DecodeError) as error:
            raise explain(error, self._shown, newer=self.read_only) from error


def _uri(path: Path, mode: str) -> str:
    return f"file:{quote(str(path))}?mode={mode}"
