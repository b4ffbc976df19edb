"""Experiments over all flaky-marked and quarantined tests, and what became of them since the sweep before."""
