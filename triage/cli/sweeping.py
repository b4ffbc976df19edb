"""`triage sweep`: from words to options, from a conclusion to standard output or a file."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

from triage.cli.output import write
from triage.cli.progress import Progress, progress_for_stderr
from triage.cli.running import width
from triage.errors import ExitCode, UsageError
from triage.model.events import Event, ExperimentFinished, ExperimentStarted
from triage.model.sweep import Conclusion, Selection, Shard
from triage.model.verdict import Report
from triage.report import json_report, sweep_json, sweep_markdown, sweep_text
from triage.report.colour import is_wanted
from triage.report.escape import prose, visible
from triage.report.sweep_words import TITLES, kind
from triage.report.words import headline
from triage.session.options import RunOptions, parse_duration, parse_verdicts
from triage.session.selection import check_arguments
from triage.sweep.conduct import conduct
from triage.sweep.results import result_of

SHARD = re.compile(r"(\d{1,4})/(\d{1,4})")
WIDTH = 100
SUFFIXES = {".md": "md", ".markdown": "md", ".json": "json", ".jsonl": "json"}
"""What the name of a file says about its format."""


def sweep(
    *,
    paths: list[str],
    expression: str | None,
    shard: str | None,
    python: list[str],
    budget: str,
    format_: str | None,
    fail_on: list[str],
    allow_side_effects: bool,
    fresh: bool,
    output: Path | None,
    pytest_args: list[str],
) -> ExitCode:
    """Triage every selected test and print one report."""
    check_arguments(expression, tuple(pytest_args))
    options = RunOptions(
        node_ids=tuple(paths) or (".",),
        python=tuple(python),
        budget=parse_duration(budget),
        fail_on=parse_verdicts(fail_on),
        allow_side_effects=allow_side_effects,
        pytest_args=tuple(pytest_args),
        fresh=fresh,
        selection=Selection(expression=expression, paths=tuple(paths), shard=parse_shard(shard) if shard else None),
    )
    format_ = format_ or SUFFIXES.get(output.suffix.lower() if output else "", "text")
    paper = Paper(format_, output)
    with progress_for_stderr() as progress:
        return conduct(
            options,
            command_of(options, budget, format_, output),
            Told(progress),
            lambda report: progress.aside(lambda: paper.verdict(report)),
            lambda conclusion: progress.aside(lambda: paper.conclude(conclusion)),
        )


class Paper:
    """Where the report goes: standard output, or a file that is written at the end."""

    def __init__(self, format_: str, output: Path | None) -> None:
        """Raise `UsageError` at once if `output` cannot be written: a sweep may take hours."""
        self.format = format_
        self.output = output
        self._waiting: list[str] = []
        if output is not None:
            folder = output.absolute().parent
            if not folder.is_dir():
                raise UsageError(
                    f"`{output}` cannot be written: there is no folder `{folder}`", hint="make it, then try again"
                )
            if output.is_dir() or not os.access(output if output.exists() else folder, os.W_OK):
                raise UsageError(f"`{output}` cannot be written", hint="name another file with --output")

    def verdict(self, report: Report) -> None:
        """Take the report of one test; only JSON has them one by one."""
        if self.format == "json":
            self._put(json_report.render(report) + "\n")

    def conclude(self, conclusion: Conclusion) -> None:
        """Write the report of the sweep. Where the file cannot be written, it goes to standard output and says so."""
        if self.format == "json":
            self._put(sweep_json.render(conclusion) + "\n")
        elif self.format == "md":
            self._put(sweep_markdown.render(conclusion) + "\n")
        else:
            colour = self.output is None and is_wanted(sys.stdout, os.environ)
            self._put(sweep_text.render(conclusion, width=width(WIDTH), colour=colour) + "\n")
        if self.output is None:
            return
        text = "".join(self._waiting)
        try:
            self.output.write_text(text, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            write(text)
            reason = (error.strerror or str(error)).lower()
            raise UsageError(
                f"`{self.output}` cannot be written: {reason}", hint="the report is on standard output instead"
            ) from error

    def _put(self, text: str) -> None:
        if self.output is None:
            write(text)
        else:
            self._waiting.append(text)


class Told:
    """Passes events on to the display, and leaves a line for each finished test: a sweep takes long, also without a terminal."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self._number = 0
        self._of = 0

    def __call__(self, event: Event) -> None:
        """Take one event in."""
        self.progress(event)
        if isinstance(event, ExperimentStarted):
            self._number, self._of = event.number, event.of
        elif isinstance(event, ExperimentFinished):
            result = result_of(event.report, event.unfit)
            more = result.why or headline(event.report)
            line = f"{self._number} of {self._of}: {TITLES[kind(result)]} ({prose(more)}): {visible(result.target)}\n"
            self.progress.aside(lambda: _say(line))


def parse_shard(text: str) -> Shard:
    """Return the shard of `2/5`; raise `UsageError` for anything else."""
    found = SHARD.fullmatch(text.strip())
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise UsageError(
            f"`{text}` is not a shard", hint="write `1/3`, `2/3` and `3/3` for the three thirds of the tests"
        )
    return Shard(int(found[1]), int(found[2]))


def command_of(options: RunOptions, budget: str, format_: str, output: Path | None) -> str:
    """Return the shell line that does the same."""
    selection = options.selection
    assert selection is not None
    words = ["triage", "sweep"]
    if selection.expression is not None:
        words += ["-m", selection.expression]
    if selection.shard:
        words += ["--shard", selection.shard.label]
    words += [word for version in options.python for word in ("--python", version)]
    words += ["--budget", budget]
    words += [word for verdict in options.fail_on for word in ("--fail-on", verdict.value)]
    if options.allow_side_effects:
        words.append("--allow-side-effects")
    words += ["--format", format_]
    if output is not None:
        words += ["--output", str(output)]
    words += selection.paths
    if options.pytest_args:
        words += ["--", *options.pytest_args]
    return shlex.join(words)


def _say(line: str) -> None:
    sys.stderr.write(line)
    sys.stderr.flush()
