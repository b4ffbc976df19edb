"""Whether a history can be used, without changing it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from urllib.parse import quote

from msgspec import Struct

from triage.store.errors import explain

NEWER = "written by a newer version of triage: it is read and not changed"


class Health(Struct, frozen=True, kw_only=True):
    """What a look at the file says."""

    version: int | None = None
    experiments: int | None = None
    problem: str | None = None


def examine(path: Path) -> Health:
    """Look at the file."""
    from triage.store.database import APPLICATION  # noqa: PLC0415 - takes a second
    from triage.store.tables import VERSION  # noqa: PLC0415 - as above

    try:
        connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, timeout=2)
        try:
            if connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION:
                return Health(problem="it is a database of another program")
            version = int(connection.execute("PRAGMA user_version").fetchone()[0])
            damage = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
            experiments = int(connection.execute("SELECT count(*) FROM experiment").fetchone()[0])
        finally:
            connection.close()
    except (sqlite3.Error, OSError) as error:
        told = explain(error, path, newer=False)
        return Health(problem=f"{told.message} ({told.hint})" if told.hint else told.message)
    problem = f"it is damaged: {damage}" if damage != "ok" else NEWER if version > VERSION else None
    return Health(version=version, experiments=experiments, problem=problem)
