"""Arguments before they are parsed."""

from __future__ import annotations


def split_pytest_arguments(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Split at the first `--`: what is ours, and what goes to pytest."""
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]
