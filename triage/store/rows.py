"""From values to rows and back. Every function works in the session that it is given."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Sequence

import msgspec
from sqlalchemy import ColumnElement, case, delete, or_
from sqlalchemy.dialects.sqlite import insert
from sqlmodel import Session, col, func, select

from triage.errors import UsageError
from triage.model.arm import BASELINE, Arm
from triage.model.encoding import carriable, encode
from triage.model.entry import Entry, State
from triage.model.outcome import FAILURES, NO_EVIDENCE
from triage.model.project import Interpreter
from triage.model.surface import Surface
from triage.model.trial import Stage, Trial
from triage.model.verdict import Environment, Rate, Report, Strength, Verdict
from triage.store import rates
from triage.store.ids import shortest_prefix
from triage.store.owner import is_alive
from triage.store.tables import ExperimentRow, FindingRow, TextRow, TrialRow
from triage.store.unfinished import unfinished_report

AT_ONCE = 500
"""Values in one `IN (...)`; SQLite allows 999 in the oldest version that matters."""


def experiment(session: Session, identity: str) -> ExperimentRow:
    """Return the row of an experiment; raise `UsageError` if there is none."""
    row = session.get(ExperimentRow, identity)
    if row is None:
        raise UsageError(f"no experiment `{identity}`", "see `triage history`")
    return row


def ids(session: Session) -> Sequence[str]:
    """Return every id, oldest first."""
    return session.exec(select(ExperimentRow.id).order_by(col(ExperimentRow.id))).all()


def targets(session: Session, identities: Sequence[str]) -> dict[str, str]:
    """Return the target of each of some experiments."""
    query = select(ExperimentRow.id, ExperimentRow.target).where(col(ExperimentRow.id).in_(identities))
    return dict(session.exec(query).all())


def add_trial(session: Session, identity: str, trial: Trial, signature: str | None) -> None:
    """Add a trial, with its long texts under their digests."""
    failure = trial.failure
    session.add(
        TrialRow(
            experiment=identity,
            number=trial.number,
            label=carriable(trial.arm.label),
            stage=trial.stage,
            outcome=trial.outcome,
            signal=trial.signal,
            signature=signature,
            python=trial.python,
            started=trial.started,
            wall_seconds=trial.wall_seconds,
            test_seconds=trial.test_seconds,
            arm=_keep(session, encode(trial.arm).decode() if trial.arm != BASELINE else ""),
            sequence=_keep(session, encode(trial.sequence).decode() if trial.sequence else ""),
            stdout=_keep(session, trial.stdout),
            stderr=_keep(session, trial.stderr),
            failure_text=_keep(session, failure.text if failure else ""),
            record=encode(
                msgspec.structs.replace(
                    trial,
                    arm=BASELINE,
                    sequence=(),
                    stdout="",
                    stderr="",
                    failure=msgspec.structs.replace(failure, text="") if failure else None,
                )
            ).decode(),
        )
    )


def keep_surface(session: Session, surface: Surface | None) -> str:
    """Store a surface unless an equal one is there, and return its digest; empty for none."""
    return _keep(session, encode(surface).decode()) or "" if surface else ""


def finish(session: Session, identity: str, report: Report) -> None:
    """Put a report and its findings in the place of what was there."""
    row = experiment(session, identity)
    row.finished = time.time()
    row.verdict, row.cause, row.strength = report.verdict, report.cause, report.strength
    row.summary, row.complete = carriable(report.summary), report.complete
    row.wall_seconds = report.wall_seconds
    row.report = encode(report).decode()
    session.add(row)
    session.exec(delete(FindingRow).where(col(FindingRow.experiment) == identity))
    for position, finding in enumerate(report.findings):
        trigger = finding.trigger
        session.add(
            FindingRow(
                experiment=identity,
                position=position,
                verdict=finding.verdict,
                cause=finding.cause,
                strength=finding.strength,
                signature=carriable(finding.signature) if finding.signature else None,
                summary=carriable(finding.summary),
                factor=trigger.factor if trigger else None,
                level=carriable(trigger.level) if trigger else None,
            )
        )


def load(session: Session, identity: str) -> tuple[Report, tuple[Trial, ...]]:
    """Return the report and the trials of an experiment."""
    row = experiment(session, identity)
    trials = trials_of(session, identity)
    if row.report is not None:
        return msgspec.json.decode(row.report, type=Report), trials
    interpreters = msgspec.json.decode(row.interpreters, type=tuple[Interpreter, ...])
    report = unfinished_report(
        experiment=row.id,
        target=row.target,
        running=is_alive(row.owner),
        trials=trials,
        environment=Environment(
            python=tuple(dict.fromkeys(one.version for one in interpreters)),
            pytest=interpreters[0].pytest if interpreters else None,
            platform=row.platform,
        ),
        started=row.started,
    )
    return report, trials


def progress(session: Session, identity: str) -> tuple[float | None, int, bool]:
    """Return when an experiment got its report, how many trials it has, and whether it is at work."""
    row = experiment(session, identity)
    count = session.exec(select(func.count()).where(TrialRow.experiment == identity)).one()
    return row.finished, count, row.report is None and is_alive(row.owner)


def entries(session: Session, target: str | None, limit: int) -> tuple[Entry, ...]:
    """Return the latest experiments, latest first."""
    query = select(ExperimentRow).order_by(col(ExperimentRow.id).desc()).limit(limit)
    if target is not None:
        query = query.where(_below(target.rstrip("/")))
    found = session.exec(query).all()
    everything = ids(session)
    neighbours = {one: everything[max(0, place - 1) : place + 2] for place, one in enumerate(everything)}
    counts = _counts(session, [row.id for row in found])
    known = rates.rates(session, found)
    return tuple(_entry(row, neighbours[row.id], counts.get(row.id, (0, 0, 0)), known.get(row.id, ())) for row in found)


def _entry(row: ExperimentRow, neighbours: Iterable[str], counts: tuple[int, int, int], known: Sequence[Rate]) -> Entry:
    trials, counted, failed = counts
    unfinished = State.RUNNING if is_alive(row.owner) else State.INTERRUPTED
    return Entry(
        experiment=row.id,
        short=shortest_prefix(row.id, tuple(neighbours)),
        target=row.target,
        state=State.FINISHED if row.report is not None else unfinished,
        started=row.started,
        verdict=Verdict(row.verdict) if row.verdict else None,
        cause=row.cause,
        strength=Strength(row.strength) if row.strength else None,
        summary=row.summary or "",
        complete=bool(row.complete),
        trials=trials,
        counted=counted,
        failed=failed,
        wall_seconds=row.wall_seconds,
        baseline=rates.baseline(known),
        worst=rates.worst(known),
    )


def _below(target: str) -> ColumnElement[bool]:
    """Match a node id itself and everything that a base id, file or folder stands for."""
    column = col(ExperimentRow.target)
    return or_(
        column == target,
        *(column.startswith(target + separator, autoescape=True) for separator in ("::", "[", "/")),
    )


def _counts(session: Session, identities: Sequence[str]) -> dict[str, tuple[int, int, int]]:
    """Return for each experiment the trials, those that count in rates, and the failures; without controls."""
    left_out, failures = [*map(str, NO_EVIDENCE)], [*map(str, FAILURES)]
    query = (
        select(
            TrialRow.experiment,
            func.count(),
            func.sum(case((col(TrialRow.outcome).in_(left_out), 0), else_=1)),
            func.sum(case((col(TrialRow.outcome).in_(failures), 1), else_=0)),
        )
        .where(col(TrialRow.experiment).in_(identities), TrialRow.stage != Stage.CONTROL)
        .group_by(col(TrialRow.experiment))
    )
    return {identity: (trials, counted, failed) for identity, trials, counted, failed in session.exec(query)}


def trials_of(session: Session, identity: str) -> tuple[Trial, ...]:
    """Return the trials of an experiment in the order in which they were recorded."""
    rows = session.exec(select(TrialRow).where(TrialRow.experiment == identity).order_by(col(TrialRow.key))).all()
    wanted = {digest for row in rows for digest in _digests(row) if digest}
    texts = {"": ""} | _texts(session, sorted(wanted))
    arms: dict[str, Arm] = {}
    sequences: dict[str, tuple[str, ...]] = {}
    result = []
    for row in rows:
        arm, sequence, stdout, stderr, failure_text = (digest or "" for digest in _digests(row))
        if arm and arm not in arms:
            arms[arm] = msgspec.json.decode(texts[arm], type=Arm)
        if sequence and sequence not in sequences:
            sequences[sequence] = msgspec.json.decode(texts[sequence], type=tuple[str, ...])
        trial = msgspec.json.decode(row.record, type=Trial)
        failure = trial.failure
        result.append(
            msgspec.structs.replace(
                trial,
                arm=arms.get(arm, BASELINE),
                sequence=sequences.get(sequence, ()),
                stdout=texts[stdout],
                stderr=texts[stderr],
                failure=msgspec.structs.replace(failure, text=texts[failure_text]) if failure else None,
            )
        )
    return tuple(result)


def _digests(row: TrialRow) -> tuple[str | None, ...]:
    return row.arm, row.sequence, row.stdout, row.stderr, row.failure_text


def _texts(session: Session, digests: Sequence[str]) -> dict[str, str]:
    result: dict[str, str] = {}
    for first in range(0, len(digests), AT_ONCE):
        query = select(TextRow.sha256, TextRow.content).where(col(TextRow.sha256).in_(digests[first : first + AT_ONCE]))
        result.update(session.exec(query).all())
    return result


def _keep(session: Session, text: str) -> str | None:
    """Store a text unless an equal one is there, and return its digest; None for an empty one."""
    if not text:
        return None
    content = carriable(text)
    digest = hashlib.sha256(content.encode()).hexdigest()
    session.exec(insert(TextRow).values(sha256=digest, content=content).on_conflict_do_nothing())
    return digest
