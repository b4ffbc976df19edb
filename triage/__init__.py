"""Flaky-test triage and root-cause classification for pytest."""

__version__ = "0.1.0"
