"""Environments are made from a project's metadata: whole or not at all, once, and nothing lands in the project."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from conftest import BASE, write_project

from triage.environments import provision as module
from triage.environments.provision import RECORD, Provisioned, provision
from triage.errors import UnrunnableError
from triage.model.events import Event, Noted
from triage.session.interpreting import Readier
from triage.session.options import Provision
from triage.targets.inspection import ask
from triage.targets.requirements import read


def listing(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*") if ".triage" not in path.parts}


def made(root: Path, environ: dict[str, str]) -> Provisioned:
    return provision(
        ask(BASE, environ),
        "a test",
        root=root,
        state=root / ".triage",
        needs=read(root),
        environ=environ,
        say=lambda _: None,
    )


def says(python: str, script: str, environ: dict[str, str]) -> str:
    return subprocess.check_output([python, "-c", script], cwd="/", env=environ, text=True, timeout=60).strip()


def two_at_once_make_one(two: list[Provisioned], project: Path) -> None:
    assert sorted(one.fresh for one in two) == [False, True]
    assert two[0].interpreter == two[1].interpreter
    assert two[0].interpreter.origin == "a test, provisioned"
    assert len(list((project / ".triage" / "envs").glob(f"*/{RECORD}"))) == 1


def what_went_into_it_is_recorded(two: list[Provisioned]) -> None:
    record = two[0].record
    assert record.built.sources == ("extra `test`",)
    assert record.built.installer.startswith("pip ")
    assert record.built.state is None
    assert {"helper": "2.0", "shop": "1.0", "pytest": pytest.__version__}.items() <= record.packages.items()


def nothing_lands_in_the_project(project: Path) -> None:
    assert listing(project) == {
        "backend.py",
        "pyproject.toml",
        "src",
        "src/shop",
        "src/shop/__init__.py",
        "tests",
        "tests/test_shop.py",
    }


def no_password_is_kept(project: Path) -> None:
    kept = [
        path
        for path in (project / ".triage" / "envs").rglob("*")
        if path.is_file() and "site-packages" not in path.parts
    ]
    assert kept
    for path in kept:
        assert b"secret-word" not in path.read_bytes(), path


def the_sources_are_what_is_imported(python: str, project: Path, offline: dict[str, str]) -> None:
    source = project / "src" / "shop" / "__init__.py"
    before = source.read_text()
    assert says(python, "import shop; print(shop.__file__)", offline) == str(source)
    try:
        source.write_text("price = 'changed'\n")
        assert says(python, "import shop; print(shop.price)", offline) == "changed"
    finally:
        source.write_text(before)
    told = "import importlib.metadata as m; print(m.distribution('shop').read_text('direct_url.json'))"
    assert json.loads(says(python, told, offline))["url"] == project.as_uri()


def one_without_its_record_is_no_environment(python: str, offline: dict[str, str], tmp_path: Path) -> None:
    place = Path(python).parents[1]
    assert module._whole(place, offline) is not None
    half = tmp_path / place.name
    shutil.copytree(place, half, symlinks=True)
    (half / RECORD).unlink()
    assert module._whole(half, offline) is None


def other_metadata_make_another(project: Path, offline: dict[str, str]) -> None:
    base, text = ask(BASE, offline), (project / "pyproject.toml").read_text()
    tools = module.installers(offline)
    before = module._digest(base, read(project), tools)
    try:
        (project / "pyproject.toml").write_text(text + '[dependency-groups]\ntest = ["pluggy"]\n')
        assert module._digest(base, read(project), tools) != before
    finally:
        (project / "pyproject.toml").write_text(text)


UV = """\
#!/bin/sh
case "$1$2" in
--version) echo "uv 0.13.9 (made up)" ;;
venv*) for last; do :; done; mkdir -p "$last/bin" ;;
*) echo "error: No solution found"; echo "  cause: no-such-distribution was not found at https://me:secret-word@index/simple"
   exit 1 ;;
esac
"""


def test_what_cannot_be_installed_is_said_and_leaves_nothing_half_made(tmp_path: Path, offline: dict[str, str]) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    (root / "requirements-test.txt").write_text("no-such-distribution\n")
    (tmp_path / "uv").write_text(UV)
    (tmp_path / "uv").chmod(0o755)
    seen: list[Event] = []
    environ = {**offline, "PATH": f"{tmp_path}:/usr/bin:/bin"}
    readier = Readier(root, root / ".triage", environ, Provision.ALWAYS, seen.append)
    with pytest.raises(UnrunnableError) as caught:
        readier.ready([BASE])
    assert caught.value.message.startswith("the project cannot be installed for Python ")
    assert caught.value.message.endswith(": no-such-distribution was not found at https://***@index/simple")
    (log,) = (root / ".triage" / "envs").glob("*.log")
    assert str(log) in (caught.value.hint or "")
    assert "no-such-distribution" in log.read_text()
    assert "secret-word" not in log.read_text()
    assert not [path for path in (root / ".triage" / "envs").iterdir() if path.is_dir()]
    assert any(isinstance(event, Noted) and "making an environment" in event.text for event in seen)


def test_generated_code_is_taken_as_it_was_built(tmp_path: Path, offline: dict[str, str]) -> None:
    root = write_project(tmp_path / "shop")
    (root / "generates").touch()
    first = made(root, offline)
    assert first.record.built.state is not None
    script = "import shop._version; print(shop.__file__)"
    assert "site-packages" in says(first.interpreter.path, script, offline)
    assert not (root / "src" / "shop" / "_version.py").exists()
    again = made(root, offline)
    assert (again.fresh, again.interpreter) == (False, first.interpreter)
    (root / "src" / "shop" / "__init__.py").write_text("price = 'another'\n")
    with module._found_or_locked(
        root / ".triage" / "envs", Path(first.interpreter.path).parts[-3], root, offline
    ) as found:
        place, record = found
    assert place != Path(first.interpreter.path).parents[1]
    assert record is None


def test_a_version_that_the_project_does_not_allow(tmp_path: Path, offline: dict[str, str]) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\nversion = "1"\nrequires-python = "<3"\n')
    with pytest.raises(UnrunnableError, match=r"the project does not allow Python .* \(requires-python `<3`\)"):
        made(tmp_path, offline)


def triage_run_with_it(project: Path, offline: dict[str, str]) -> None:
    words = ["tests/test_shop.py", "--python", BASE, "--provision", "always", "--trials", "2", "--format", "json"]
    done = subprocess.run(
        [sys.executable, "-m", "triage", "run", *words],
        cwd=project,
        env=offline,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (used,) = json.loads(done.stdout)["environment"]["interpreters"]
    assert used["origin"].endswith(", provisioned")
    assert used["pytest"] == pytest.__version__


def test_an_environment_is_made_and_used(tmp_path: Path, offline: dict[str, str]) -> None:
    """One test for all: making an environment takes seconds, and each worker of a parallel run would make one of its own."""
    project = write_project(tmp_path / "with ' quote" / "shop")
    two: list[Provisioned] = []
    threads = [threading.Thread(target=lambda: two.append(made(project, offline))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    two_at_once_make_one(two, project)
    what_went_into_it_is_recorded(two)
    nothing_lands_in_the_project(project)
    no_password_is_kept(project)
    python = two[0].interpreter.path
    the_sources_are_what_is_imported(python, project, offline)
    one_without_its_record_is_no_environment(python, offline, tmp_path)
    other_metadata_make_another(project, offline)
    triage_run_with_it(project, offline)
