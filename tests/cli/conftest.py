"""`triage` as a user starts it: a process of its own, in a small project of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


class Result:
    def __init__(self, done):
        self.status = done.returncode
        self.out = done.stdout
        self.err = done.stderr

    @property
    def verdicts(self):
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def verdict(self):
        (only,) = self.verdicts
        return only


LEAN = ROOT / ".envs" / "py3.11-pytest9"
"""An environment with pytest alone: plugins would multiply the price of each trial."""
PLUGINS = ROOT / ".envs" / "py3.11-plugins"


def environment(**more):
    """The environment without what an outer pytest or a virtual environment would add, with a lean one active."""
    for needed in (LEAN, PLUGINS):
        if not (needed / "bin" / "python").exists():
            pytest.skip(f"no environment {needed.name}: `make envs` makes it")
    dropped = ("PYTEST_", "COV_", "COVERAGE", "VIRTUAL_ENV", "PYTHONHASHSEED", "PYTHONPATH", "COLUMNS", "NO_COLOR")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    return {**kept, "VIRTUAL_ENV": str(LEAN), **more}


def command(*arguments):
    return [sys.executable, "-m", "triage", *arguments]


@pytest.fixture
def project(tmp_path):
    """A project whose tests are given as text; its interpreter is the one that runs the suite."""

    class Project:
        path = tmp_path

        def write(self, **files):
            for name, text in files.items():
                (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
            return self

        def triage(self, *arguments, env=None, timeout=300):
            done = subprocess.run(
                command(*arguments),
                cwd=tmp_path,
                env={**environment(), **(env or {})},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=timeout,
                check=False,
            )
            return Result(done)

    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return Project()
