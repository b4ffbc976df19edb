"""Environments of project tools; the names were computed by the tools themselves, for a project in `/srv/My_Proj.x`."""

from __future__ import annotations

from pathlib import Path

import pytest

from triage.targets import managers

ROOT = Path("/srv/My_Proj.x")
PYPROJECT = {"project": {"name": "My_Proj.x"}, "tool": {"hatch": {"envs": {"default": {}}}}}


def test_poetry(tmp_path: Path) -> None:
    for name in ("my-proj-x-g2vK09Nn-py3.9", "my-proj-x-g2vK09Nn-py3.12", "other-g2vK09Nn-py3.13"):
        (tmp_path / ".cache" / "pypoetry" / "virtualenvs" / name).mkdir(parents=True)
    found = list(managers._poetry(ROOT, PYPROJECT, {"HOME": str(tmp_path), "PATH": ""}))
    if found:  # another cache folder is in use on other systems
        assert [path.name for path in found] == ["my-proj-x-g2vK09Nn-py3.12", "my-proj-x-g2vK09Nn-py3.9"]
    base = tmp_path / ".cache" / "pypoetry" / "virtualenvs"
    told = managers._poetry(ROOT, PYPROJECT, {"POETRY_VIRTUALENVS_PATH": str(base), "PATH": ""})
    assert [path.name for path in told] == ["my-proj-x-g2vK09Nn-py3.12", "my-proj-x-g2vK09Nn-py3.9"]


def test_poetry_is_asked_where_it_is_there(tmp_path: Path) -> None:
    poetry = tmp_path / "bin" / "poetry"
    poetry.parent.mkdir()
    poetry.write_text('#!/bin/sh\necho "/envs/a-py3.9"\necho "/envs/a-py3.12 (Activated)"\necho "a warning"\n')
    poetry.chmod(0o755)
    found = managers._poetry(tmp_path, PYPROJECT, {"PATH": f"{poetry.parent}:/usr/bin:/bin"})
    assert [str(path) for path in found] == ["/envs/a-py3.12", "/envs/a-py3.9"]


def test_hatch(tmp_path: Path) -> None:
    folder = tmp_path / "env" / "virtual" / "my-proj-x" / "g2vK09Nn"
    for name in ("hatch-test.py3.9", "hatch-test.py3.13", "docs"):
        (folder / name).mkdir(parents=True)
    found = list(managers._hatch(ROOT, PYPROJECT, {"HATCH_DATA_DIR": str(tmp_path)}))
    assert found == [folder / "hatch-test.py3.13", folder / "hatch-test.py3.9", folder / "my-proj-x"]


def test_pipenv(tmp_path: Path) -> None:
    assert managers._pipenv(ROOT, {"WORKON_HOME": str(tmp_path)}) == tmp_path / "My_Proj.x-UD4sZdeF"


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("tox.ini", "", ["tox environment `py312`", "tox environment `py39`", "tox environment `lint`"]),
        ("noxfile.py", "", ["nox environment `tests-3-12`"]),
        ("uv.lock", "", ["uv's environment"]),
        ("README", "", []),
    ],
)
def test_only_tools_that_the_project_names(tmp_path: Path, file: str, text: str, expected: list[str]) -> None:
    (tmp_path / file).write_text(text)
    for name in (".tox/lint", ".tox/py39", ".tox/py312", ".nox/tests-3-12"):
        (tmp_path / name).mkdir(parents=True)
    found = managers.environments(tmp_path, {"UV_PROJECT_ENVIRONMENT": "env", "HOME": str(tmp_path), "PATH": ""})
    assert [origin for _, origin in found] == expected
