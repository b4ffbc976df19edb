"""A version that cannot be had stops nothing while another is left; what is named and unusable is an error."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from triage.errors import UnrunnableError
from triage.model.events import Event, Noted
from triage.session.interpreting import Readier
from triage.session.options import Provision
from triage.targets.interpreters import find
from triage.targets.requirements import read


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Two versions under a pyenv that only answer: one that the project does not allow, and one that is too old."""
    for version in ("3.99.1", "3.7.1"):
        python = tmp_path / "pyenv" / "versions" / version / "bin" / "python"
        python.parent.mkdir(parents=True)
        answer = {"version": version, "executable": str(python), "prefix": str(python.parents[1])}
        answer |= {"implementation": "cpython", "free_threaded": False, "packages": {}}
        python.write_text(f"#!/bin/sh\necho 'triage-interpreter:{json.dumps(answer)}'\n")
        python.chmod(0o755)
    return {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYENV_ROOT": str(tmp_path / "pyenv")}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "pyproject.toml").write_text('[project]\nname = "x"\nrequires-python = "<3.99"\n')
    return tmp_path / "project"


def test_a_version_that_is_not_allowed_is_noted_and_left_out(root: Path, environ: dict[str, str]) -> None:
    seen: list[Event] = []
    readied = Readier(root, root / ".triage", environ, Provision.AUTO, seen.append).ready(["3.99"])
    assert [one.path for one in readied.interpreters] == [sys.executable]
    assert [event.text for event in seen if isinstance(event, Noted)] == [
        "left out: the project does not allow Python 3.99.1 (requires-python `<3.99`); name another version with --python"
    ]


@pytest.mark.parametrize(
    ("spec", "when", "message"),
    [
        ("3.7", Provision.AUTO, r"Python 3\.7\.1 in .* is too old"),
        ("3.99", Provision.NEVER, "no pytest in "),
        ("3.98", Provision.AUTO, r"no Python 3\.98 was found"),
    ],
)
def test_what_is_named_and_unusable(
    root: Path, environ: dict[str, str], spec: str, when: Provision, message: str
) -> None:
    with pytest.raises(UnrunnableError, match=message):
        Readier(root, root / ".triage", environ, when, lambda _: None).ready([spec])


def test_requirements_that_cannot_be_read_matter_only_where_they_are_needed(
    root: Path, environ: dict[str, str]
) -> None:
    (root / "pyproject.toml").write_text("[project\n")
    readier = Readier(root, root / ".triage", environ, Provision.AUTO, lambda _: None)
    assert [one.path for one in readier.ready([]).interpreters] == [sys.executable]
    readier = Readier(root, root / ".triage", environ, Provision.ALWAYS, lambda _: None)
    with pytest.raises(UnrunnableError, match=r"`pyproject\.toml` cannot be read"):
        readier.ready([])


def test_an_environment_without_pytest_that_is_passed_over_is_named(root: Path, environ: dict[str, str]) -> None:
    stand_in = next(Path(environ["PYENV_ROOT"]).glob("versions/3.99.1/bin/python"))
    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "bin" / "python").write_text(stand_in.read_text())
    (root / ".venv" / "bin" / "python").chmod(0o755)
    seen: list[Event] = []
    (used,) = Readier(root, root / ".triage", environ, Provision.NEVER, seen.append).ready([]).interpreters
    assert used.path == sys.executable
    assert [event.text for event in seen if isinstance(event, Noted)] == [
        f"the environment `.venv` has no pytest, so `{sys.executable}` ({used.origin}) is used"
    ]


def test_a_version_is_that_of_an_interpreter_that_is_ready_before_one_that_could_be_made_so(
    root: Path, environ: dict[str, str], tmp_path: Path
) -> None:
    """Also where the first of that version has no pytest and an environment could be made with it."""
    bare = Path(environ["PYENV_ROOT"], "versions", "3.99.1", "bin", "python")
    complete = Path(environ["PYENV_ROOT"], "versions", "3.99.0", "bin", "python")
    complete.parent.mkdir(parents=True)
    complete.write_text(bare.read_text().replace('"packages": {}', '"packages": {"pytest": "9.0.0"}'))
    complete.chmod(0o755)
    (root / "pyproject.toml").write_text('[project]\nname = "x"\n')
    found = find("3.99", root, environ, read(root))
    assert (found.answer.path, found.ready) == (str(complete), True)
