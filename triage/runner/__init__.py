"""Runs one trial in processes of its own and says how it ended."""
