"""`triage show`, `history` and `explain`."""

from __future__ import annotations

import sys
from pathlib import Path

from triage.classify.explain import explain as explanation
from triage.classify.explain import listing
from triage.cli.output import write
from triage.cli.running import print_report
from triage.model.encoding import encode
from triage.report.trials import history_text, trials_text
from triage.session import past


def show(name: str, *, trials: bool, format_: str) -> None:
    """Print an experiment's report, or its trials."""
    report, all_trials = past.load(name, Path.cwd())
    if not trials:
        print_report(report, format_)
    elif format_ == "json":
        write("".join(encode(trial).decode() + "\n" for trial in all_trials))
    else:
        write(trials_text(all_trials) + "\n")


def history(target: str | None, *, limit: int, format_: str) -> None:
    """Print the list of experiments."""
    entries = past.entries(target, limit, Path.cwd())
    if format_ == "json":
        write("".join(encode(entry).decode() + "\n" for entry in entries))
    elif entries:
        write(history_text(entries) + "\n")
    else:
        sys.stderr.write("no experiment yet; `triage run NODEID` makes one\n")


def explain(cause: str | None) -> None:
    """Print what a cause means, or the list of causes."""
    if cause is None:
        write(listing() + "\n")
    else:
        write(explanation(cause) + "\n")
