"""`python -m triage`."""

from triage.cli.start import entry

entry()
