"""What `triage` asks of the probe, and taking back the traces of how it asked.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

VARIABLE = "TRIAGE_PROBE"
WORKER = "worker:"
"""Before the path of the plan, in a worker of xdist: it has files of its own."""
VERSION = 1
PACKAGE = __name__.partition(".")[0]
FOLDER = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


class Plan:
    """The plan file's content."""

    def __init__(self, content: dict[str, Any]) -> None:
        if content.get("v") != VERSION:
            raise ValueError(f"plan version {content.get('v')!r}, this probe reads {VERSION}")
        self.wire: str = content["wire"]
        self.crash: str | None = content.get("crash")
        self.env: dict[str, str | None] = content.get("env") or {}
        self.cache: str | None = content.get("cache")
        self.collect: bool = bool(content.get("collect"))
        self.facts: bool = bool(content.get("facts"))
        self.reach: bool = bool(content.get("reach"))
        self.text_limit: int = int(content.get("text_limit") or 20_000)
        self.serve: dict[str, str] | None = content.get("serve")
        self.path = ""
        """Where this plan was read from."""
        self.worker: str | None = None
        """In a worker of xdist: its id."""

    def for_worker(self, worker: str) -> None:
        """Let a worker write beside what its controller writes."""
        name = "".join(letter if letter.isalnum() else "_" for letter in worker)
        self.worker = worker
        self.wire += "." + name
        self.crash = None if self.crash is None else self.crash + "." + name
        self.serve = None


def take_plan() -> Plan | None:
    """Read the plan and put the environment back; None if there is none or it cannot be read (said on stderr)."""
    path = os.environ.pop(VARIABLE, None)
    if path is None:
        return None
    plan = None
    worker = path.startswith(WORKER)
    path = path[len(WORKER) :] if worker else path
    try:
        with open(path, encoding="utf-8") as file:
            plan = Plan(json.load(file))
        plan.path = path
        if worker:
            plan.for_worker(os.environ.get("PYTEST_XDIST_WORKER", "unknown"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        sys.stderr.write(f"{PACKAGE}: not recording, the plan is unusable: {type(error).__name__}: {error}\n")
    put_back(plan.env if plan else {})
    return plan


def put_back(variables: dict[str, str | None]) -> None:
    """Make environment and `sys.path` what they would be without the probe."""
    sys.path[:] = [entry for entry in sys.path if not is_own(entry)]
    left = remaining("PYTHONPATH", os.pathsep, is_own)
    remaining("PYTEST_PLUGINS", ",", lambda name: name.strip() == PACKAGE)
    for name, value in variables.items():
        if name == VARIABLE:
            continue
        if value is None:
            os.environ.pop(name, None)
        elif name == "PYTHONPATH" and value:
            # A plugin that was loaded before us (triage_levels) has taken its own entry out: it stays out.
            kept = [entry for entry in value.split(os.pathsep) if entry in left]
            set_or_unset(name, os.pathsep.join(kept))
        else:
            os.environ[name] = value


def is_own(entry: str) -> bool:
    """Whether an entry of a search path is the folder from which the probe was imported."""
    return bool(entry) and os.path.realpath(entry) == FOLDER


def remaining(name: str, separator: str, own: Any) -> list[str]:
    """Take our own entries out of a variable and return the others; the variable goes if none is left."""
    value = os.environ.get(name)
    if value is None:
        return []
    left = [entry for entry in value.split(separator) if not own(entry)]
    if separator.join(left) != value:
        set_or_unset(name, separator.join(left))
    return left


def set_or_unset(name: str, value: str) -> None:
    """Set a variable, or remove it where nothing is left of it."""
    if value:
        os.environ[name] = value
    else:
        os.environ.pop(name, None)
