"""`triage doctor`."""

from __future__ import annotations

import os
from pathlib import Path

from triage.cli.output import write
from triage.cli.progress import progress_for_stderr
from triage.cli.running import width
from triage.errors import ExitCode
from triage.model.encoding import encode
from triage.report import checkups
from triage.session.doctor import examine_here
from triage.session.interrupting import Interruptions


def doctor(python: list[str], *, format_: str) -> ExitCode:
    """Print what a look at this project, its interpreters and the instrument says; 3 if trials cannot be run or believed."""
    with Interruptions(), progress_for_stderr() as progress:
        result = examine_here(python, progress, Path.cwd(), os.environ)
    write(encode(result).decode() + "\n" if format_ == "json" else checkups.render(result, width()) + "\n")
    return ExitCode.OK if result.fit else ExitCode.UNRUNNABLE
