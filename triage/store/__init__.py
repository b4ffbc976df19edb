"""Every trial of every experiment, in `.triage/history.db`."""
