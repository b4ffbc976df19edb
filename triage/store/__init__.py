"""`.triage/history.db`: every experiment with its trials, committed one by one. Import `triage.store.history`."""
