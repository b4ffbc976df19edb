"""Where the process begins: nothing is imported yet, so that Ctrl-C is told in one line from the first moment on."""

from __future__ import annotations

import signal
import sys


def entry() -> None:
    """Run the command line and end the process with its status."""
    try:
        from triage.cli.main import entry as run  # noqa: PLC0415 - takes a tenth of a second

        run()
    except KeyboardInterrupt:
        sys.stderr.write("error: interrupted\n")
        sys.exit(130)
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is said; the end of the interpreter has nothing to add
