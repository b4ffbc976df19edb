"""One trial in full: what it was asked to do, how it ended, and what it left behind."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from triage.model.trial import Trial
from triage.report import words
from triage.report.escape import command, prose, visible
from triage.report.fields import Field, listed, paragraph
from triage.report.layout import whole
from triage.report.trials import moment, status, what


def details(trial: Trial) -> Iterator[Field]:
    """Yield everything of a trial but its texts and the tests that ran."""
    yield paragraph("arm", whole(visible(trial.arm.label)))
    yield paragraph("stage", f"{trial.stage}, {'with' if trial.probed else 'without'} the probe")
    yield paragraph("outcome", ": ".join(part for part in (status(trial), what(trial)) if part))
    yield paragraph("ended", _end(trial))
    yield paragraph("time", "; ".join(_times(trial)))
    yield paragraph("memory", f"{trial.max_rss_kib / 1024:.0f} MiB at most" if trial.max_rss_kib else "")
    yield paragraph("started", moment(trial.started) if trial.started else "")
    yield paragraph("Python", prose(trial.python))
    yield paragraph("forked from", f"process {trial.cluster}" if trial.cluster is not None else "")
    yield paragraph("processes left", f"{trial.leftovers} still alive" if trial.leftovers else "")
    yield paragraph("reruns seen", str(trial.reruns) if trial.reruns else "")
    yield Field("command", (("", command(trial.command)),) if trial.command else (), is_command=True)


def sequence(trial: Trial) -> Field:
    """Return the tests that ran, in their order; one that ran several times in a row has a line with their number."""
    runs = [(name, len(list(group))) for name, group in groupby(trial.sequence)]
    shown = [whole(visible(name)) + (f" ({count} times)" if count > 1 else "") for name, count in runs]
    return listed("tests that ran", shown)


def texts(trial: Trial) -> Iterator[tuple[str, list[str]]]:
    """Yield the title and the lines of each text that the trial left; nothing in them moves a cursor."""
    failure = trial.failure.text if trial.failure else ""
    for title, text in (("failure", failure), ("standard output", trial.stdout), ("standard error", trial.stderr)):
        if text.strip():
            yield title, [visible(row.expandtabs()) for row in text.rstrip().splitlines()]


def _end(trial: Trial) -> str:
    if trial.signal:
        return f"by {visible(trial.signal)}"
    return "" if trial.exit_status is None else f"with status {trial.exit_status}"


def _times(trial: Trial) -> Iterator[str]:
    yield f"{words.seconds(trial.wall_seconds)} in all"
    if trial.test_seconds is not None:
        yield f"{words.seconds(trial.test_seconds)} the test itself"
    if trial.cpu_seconds:
        yield f"{words.seconds(trial.cpu_seconds)} of processor"
