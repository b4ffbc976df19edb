"""The two rates that the list of experiments shows, without the trials themselves being read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from sqlalchemy import case
from sqlmodel import Session, col, func, select

from triage.model.arm import BASELINE
from triage.model.outcome import FAILURES, NO_EVIDENCE
from triage.model.trial import Stage
from triage.model.verdict import Rate
from triage.stats.intervals import clopper_pearson
from triage.store.tables import ExperimentRow, TrialRow


class _Rates(msgspec.Struct):
    """All that is decoded of a report here."""

    rates: tuple[Rate, ...] = ()


def rates(session: Session, rows: Iterable[ExperimentRow]) -> dict[str, tuple[Rate, ...]]:
    """Return the rates of each arm for each experiment: those of its report, else counted from its trials."""
    result: dict[str, tuple[Rate, ...]] = {}
    unfinished: list[str] = []
    for row in rows:
        if row.report is None:
            unfinished.append(row.id)
        else:
            result[row.id] = msgspec.json.decode(row.report, type=_Rates).rates
    return result | _counted(session, unfinished)


def baseline(found: Sequence[Rate]) -> Rate | None:
    """Return the rate of the user's own command, if it was tried."""
    return next((rate for rate in found if rate.arm == BASELINE.label and rate.trials), None)


def worst(found: Sequence[Rate]) -> Rate | None:
    """Return the rate of the arm that fails most for sure: the highest lower bound, so that 1 of 1 is not worse than 19 of 20.

    Arms that repeat the test in each trial are left out: that one of k executions fails says little beside one of one.
    """
    tried = [rate for rate in found if rate.trials and not _repeats(rate.arm)]
    return max(tried, key=lambda rate: (rate.low, rate.failed / rate.trials), default=None)


def _repeats(label: str) -> bool:
    return any(level.startswith("repeat=") for level in label.split(" + "))


def _counted(session: Session, identities: Sequence[str]) -> dict[str, tuple[Rate, ...]]:
    failures = case((col(TrialRow.outcome).in_([*map(str, FAILURES)]), 1), else_=0)
    query = (
        select(TrialRow.experiment, TrialRow.label, func.sum(failures), func.count())
        .where(
            col(TrialRow.experiment).in_(identities),
            col(TrialRow.outcome).not_in([*map(str, NO_EVIDENCE)]),
            TrialRow.stage != Stage.CONTROL,
        )
        .group_by(col(TrialRow.experiment), col(TrialRow.label))
    )
    result: dict[str, tuple[Rate, ...]] = {}
    for identity, label, failed, trials in session.exec(query) if identities else ():
        low, high = clopper_pearson(failed, trials)
        rate = Rate(arm=label, failed=failed, trials=trials, low=low, high=high)
        result[identity] = (*result.get(identity, ()), rate)
    return result
