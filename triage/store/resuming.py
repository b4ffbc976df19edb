"""Experiments that were interrupted: which one it is, what it was made on, and who goes on with it."""

from __future__ import annotations

import msgspec
from sqlalchemy import delete
from sqlmodel import Session, col, select

from triage.model.entry import Unfinished
from triage.model.surface import Surface
from triage.model.verdict import Report
from triage.store import rows
from triage.store.owner import is_alive, owner
from triage.store.tables import ExperimentRow, FindingRow, TextRow


def interrupted(session: Session, target: str, root: str) -> Unfinished | None:
    """Return the latest experiment on a test, if it is one that can be gone on with."""
    query = select(ExperimentRow).where(ExperimentRow.target == target, ExperimentRow.root == root)
    row = session.exec(query.order_by(col(ExperimentRow.id).desc()).limit(1)).first()
    if row is None or not _was_interrupted(row):
        return None
    return Unfinished(
        experiment=row.id,
        started=row.started,
        trials=rows.trials_of(session, row.id),
        surface=surface(session, row.id),
    )


def take_over(session: Session, experiment: str) -> bool:
    """Make this process the owner, and the experiment one without a report; False if it is not interrupted any more."""
    row = rows.experiment(session, experiment)
    if not _was_interrupted(row):
        return False
    row.owner = owner()
    row.report = row.finished = row.wall_seconds = None
    row.verdict = row.cause = row.strength = row.summary = row.complete = None
    session.add(row)
    session.exec(delete(FindingRow).where(col(FindingRow.experiment) == experiment))
    return True


def surface(session: Session, experiment: str) -> Surface | None:
    """Return the surface of an experiment; None if it is not known, as of those of older versions."""
    row = rows.experiment(session, experiment)
    text = session.get(TextRow, row.surface) if row.surface else None
    return msgspec.json.decode(text.content, type=Surface) if text else None


def _was_interrupted(row: ExperimentRow) -> bool:
    if row.report is None:
        return not is_alive(row.owner)
    return msgspec.json.decode(row.report, type=Report).interrupted
