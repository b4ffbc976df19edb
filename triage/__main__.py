"""`python -m triage`."""

from triage.cli.main import entry

entry()
