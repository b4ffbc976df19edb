"""The root folder that `parse` finds is the one that the real pytest reports."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from triage.targets.nodeids import parse

FILES = {
    "pytest_ini": {"sub/pytest.ini": ""},
    "pytest_toml": {"sub/pytest.toml": "", "pytest.ini": ""},
    "pyproject_without_section": {"pyproject.toml": "[project]\nname = 'x'\n"},
    "pyproject_with_section": {"sub/pyproject.toml": "[project]\n", "pyproject.toml": "[tool.pytest.ini_options]\n"},
    "native_pyproject": {"sub/pyproject.toml": "[tool.pytest]\nxfail_strict = true\n"},
    "tox": {"tox.ini": "[pytest]\n", "sub/tox.ini": "[tox]\n"},
    "setup_cfg": {"setup.cfg": "[tool:pytest]\n", "sub/setup.cfg": "[metadata]\n"},
    "setup_py": {"sub/setup.py": ""},
    "nothing": {},
}


@pytest.mark.parametrize("name", FILES)
def test_root_is_that_of_pytest(tmp_path: Path, name: str) -> None:
    (tmp_path / "sub" / "tests").mkdir(parents=True)
    (tmp_path / "sub" / "tests" / "test_x.py").write_text("def test_x(): pass\n")
    for file, text in FILES[name].items():
        (tmp_path / file).write_text(text)
    request = parse(["sub/tests/test_x.py::test_x"], tmp_path)
    environ = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # loading them takes longer than the rest
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", request.arguments[0].node_id],
        cwd=request.root,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    reported = next(line for line in done.stdout.splitlines() if line.startswith("rootdir: "))
    assert reported == f"rootdir: {request.root}"
