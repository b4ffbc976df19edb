"""Real pytest processes with the probe or the levels plugin, started as `docs/wire.md` says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import textwrap
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from triage.runner.wire import read_wire

PROBE = Path(__file__).resolve().parents[3] / "triage" / "probe"
LEVELS = "triage_levels"
PLUGINS = ".triage/plugins"
MAIN = "py3.11-pytest9"
OTHERS = (
    "py3.8-pytest7",
    "py3.12-pytest8",
    "py3.13-pytest9",
    *(
        pytest.param(name, marks=pytest.mark.slow)
        for name in (
            "py3.8-pytest8",
            "py3.9-pytest8",
            "py3.10-pytest9",
            "py3.11-pytest7",
            "py3.12-pytest9",
            "py3.13-pytest8",
        )
    ),
)
"""`make test` takes the ends and a middle, `make test-all` every one."""
STRICT = "[pytest]\nfilterwarnings = error\n"


@dataclass
class Result:
    """What one process left."""

    status: int
    stdout: str
    stderr: str
    crash: str
    lines: list[str]
    events: list[dict[str, Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.events = [json.loads(line) for line in self.lines]

    def of(self, name: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["e"] == name]

    def one(self, name: str) -> dict[str, Any]:
        (event,) = self.of(name)
        return event

    def started(self) -> list[str]:
        return [event["id"].partition("::")[2] for event in self.of("start")]

    def phases(self, name: str) -> list[tuple[str, str]]:
        return [(event["when"], event["outcome"]) for event in self.of("phase") if event["id"].endswith("::" + name)]

    def failure(self, name: str) -> dict[str, Any]:
        (failure,) = [e["failure"] for e in self.of("phase") if e["id"].endswith("::" + name) and e["failure"]]
        return failure

    def complete(self) -> Result:
        """Assert that the session was recorded to its end, without a fault of the probe, and that `triage` reads it."""
        assert self.of("internal_error") == [], self.of("internal_error")
        assert self.events[0]["e"] == "hello", self.stdout + self.stderr
        assert self.events[-1]["e"] == "end"
        assert self.one("session_end")["status"] == self.status
        wire = read_wire("".join(line + "\n" for line in self.lines).encode())
        assert (wire.ended, wire.session_status) == (True, self.status)
        assert len(wire.tests) == sum(len(self.of(name)) for name in ("start", "phase", "finish"))
        return self


class Project:
    """A project of the target's in a folder of its own, and how to run its tests."""

    def __init__(self, folder: Path, python: Path) -> None:
        self.folder = folder / "project"
        self.outside = folder / "outside"
        self.folder.mkdir()
        self.outside.mkdir()
        self.python = python
        self.write("pytest.ini", STRICT)

    def write(self, name: str, content: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(content), encoding="utf-8")
        return path

    def run(
        self,
        *args: str,
        probe: bool = True,
        levels: str | None = None,
        env: dict[str, str] | None = None,
        plan: dict[str, Any] | None = None,
    ) -> Result:
        """Run pytest; `plan` overrides keys of the plan, `env` adds variables."""
        variables = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "PYTEST", "TRIAGE", "HYPOTHESIS", "COV_"))
        }
        variables.update(env or {})
        folders = [variables["PYTHONPATH"]] if "PYTHONPATH" in variables else []
        if levels is not None:
            shutil.copytree(PROBE / LEVELS, self.folder / PLUGINS / LEVELS, dirs_exist_ok=True)
            folders.insert(0, PLUGINS)
            variables["TRIAGE_LEVELS"] = levels
            args = ("-p", "triage_levels", *args)
        wire, crash = self.outside / "wire", self.outside / "crash"
        for path in (wire, crash):
            path.unlink(missing_ok=True)
        restored = {"PYTHONPATH": os.pathsep.join(folders) or None, "PYTEST_PLUGINS": variables.get("PYTEST_PLUGINS")}
        if probe:
            shutil.copytree(PROBE / "triage_probe", self.outside / "probe" / "triage_probe", dirs_exist_ok=True)
            folders.insert(0, str(self.outside / "probe"))
            content = {
                "v": 1,
                "wire": str(wire),
                "crash": str(crash),
                "env": restored,
                "cache": str(self.outside / "cache"),
                "collect": False,
                "facts": False,
                "text_limit": 20_000,
                **(plan or {}),
            }
            plan_file = self.outside / "plan.json"
            plan_file.write_text(json.dumps(content))
            variables["TRIAGE_PROBE"] = str(plan_file)
            plugins = [variables["PYTEST_PLUGINS"]] if "PYTEST_PLUGINS" in variables else []
            variables["PYTEST_PLUGINS"] = ",".join([*plugins, "triage_probe"])
        if folders:
            variables["PYTHONPATH"] = os.pathsep.join(folders)
        done = subprocess.run(
            [self.python, "-m", "pytest", *args],
            cwd=self.folder,
            env=variables,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=120,
            check=False,
        )
        return Result(
            status=done.returncode,
            stdout=done.stdout,
            stderr=done.stderr,
            crash=crash.read_text() if crash.exists() else "",
            lines=wire.read_text("ascii").splitlines() if wire.exists() else [],
        )


@pytest.fixture
def make_project(tmp_path: Path, env_python: Callable[[str], Path]) -> Callable[[str], Project]:
    return lambda name: Project(tmp_path, env_python(name))


@pytest.fixture
def project(make_project: Callable[[str], Project]) -> Project:
    return make_project(MAIN)


@pytest.fixture
def plugin_project(make_project: Callable[[str], Project]) -> Project:
    """In the environment that has the plugins which users have."""
    return make_project("py3.11-plugins")


@pytest.fixture(params=OTHERS)
def other_project(request: pytest.FixtureRequest, make_project: Callable[[str], Project]) -> Project:
    return make_project(request.param)
