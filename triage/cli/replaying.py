"""`triage replay`: run a recorded command again."""

from __future__ import annotations

import os
from pathlib import Path

from triage.cli.output import write
from triage.cli.progress import progress_for_stderr
from triage.cli.running import width
from triage.errors import ExitCode, UsageError
from triage.model.encoding import encode
from triage.report import replays
from triage.session.interrupting import Interruptions
from triage.session.replay import ReplayOptions, replay

CONDITIONS = ("failed", "passed")


def run(options: ReplayOptions, *, format_: str, fail_on: str | None) -> ExitCode:
    """Replay, print what came of it, and return the exit status: 1 if any failed, or none did, where `fail_on` says so."""
    if fail_on is not None and fail_on not in CONDITIONS:
        raise UsageError(f"`{fail_on}` is no condition", f"there are {', '.join(CONDITIONS)}")
    with Interruptions(), progress_for_stderr() as progress:
        result = replay(options, progress, Path.cwd(), os.environ)
    write(encode(result).decode() + "\n" if format_ == "json" else replays.render(result, width()) + "\n")
    if result.interrupted:
        return ExitCode.INTERRUPTED
    if not result.trials:
        return ExitCode.UNRUNNABLE
    held = (fail_on == "failed" and result.failed) or (fail_on == "passed" and not result.failed)
    return ExitCode.CONDITION if held else ExitCode.OK
