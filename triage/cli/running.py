"""`triage run`: from words to options, from reports to standard output."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from triage.cli.output import write
from triage.cli.progress import progress_for_stderr
from triage.errors import ExitCode, UnrunnableError
from triage.model.verdict import Report
from triage.report import json_report, markdown, text
from triage.report.colour import is_wanted
from triage.session.interrupting import StoppedError
from triage.session.investigate import investigate, unrunnable
from triage.session.options import RunOptions, parse_duration, parse_provision, parse_verdicts


def run(
    *,
    node_ids: list[str],
    python: list[str],
    provision: str = "auto",
    budget: str,
    trials: int | None,
    scope: str | None,
    factors: list[str],
    skip: list[str],
    format_: str,
    fail_on: list[str],
    allow_side_effects: bool,
    fresh: bool,
    seed: int | None,
    pytest_args: list[str],
) -> ExitCode:
    """Triage the tests and print a verdict for each."""
    options = RunOptions(
        node_ids=tuple(node_ids),
        python=tuple(python),
        provision=parse_provision(provision),
        budget=parse_duration(budget),
        trials=trials,
        scope=scope,
        factors=tuple(factors),
        skip=tuple(skip),
        fail_on=parse_verdicts(fail_on),
        allow_side_effects=allow_side_effects,
        pytest_args=tuple(pytest_args),
        fresh=fresh,
        seed=seed,
    )
    try:
        with progress_for_stderr() as progress:
            return investigate(options, progress, lambda report: progress.aside(lambda: print_report(report, format_)))
    except (UnrunnableError, StoppedError) as error:
        if format_ == "json":
            for node_id in node_ids:
                print_report(unrunnable(node_id, error), format_)
        raise


def print_report(report: Report, format_: str) -> None:
    """Write one report to standard output."""
    if format_ == "json":
        write(json_report.render(report) + "\n")
    elif format_ == "md":
        write(markdown.render(report).rstrip() + "\n")
    else:
        colour = is_wanted(sys.stdout, os.environ)
        write(text.render(report, width=width(), colour=colour, here=str(Path.cwd())).rstrip() + "\n\n")


def width(most: int = 110) -> int:
    """Return the columns that a page may take: on a terminal what it has, at most so many."""
    if not sys.stdout.isatty():
        return 100
    return max(60, min(most, os.get_terminal_size(sys.stdout.fileno()).columns))
