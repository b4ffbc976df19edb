"""Interpreters are found by starting them: real ones, virtual environments, shims, and things that only look like one."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

from triage.errors import ExitCode, UnrunnableError, UsageError
from triage.targets.inspection import NoPytestError, ask
from triage.targets.interpreters import (
    all_interpreters,
    every_version,
    find,
    find_own,
    matches,
    own_interpreter,
    resolve,
)
from triage.targets.requirements import Needs

REPOSITORY = Path(__file__).resolve().parents[3]
BASE = str(Path(sys.base_prefix, "bin", "python3"))
VERSION = ".".join(str(part) for part in sys.version_info[:3])
SHORT = ".".join(str(part) for part in sys.version_info[:2])


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """Nothing of this machine: an empty home and a `PATH` with only what a shell script needs."""
    (tmp_path / "home").mkdir()
    return {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "home"), "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def make_environment(folder: Path, pytest_version: str | None = "8.0.0") -> str:
    """Make a real virtual environment, with a distribution that is pytest as far as metadata and import system tell."""
    subprocess.run([BASE, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120)
    if pytest_version is not None:
        site = folder / "lib" / f"python{SHORT}" / "site-packages"
        (site / f"pytest-{pytest_version}.dist-info").mkdir()
        (site / f"pytest-{pytest_version}.dist-info" / "METADATA").write_text(
            f"Name: pytest\nVersion: {pytest_version}\n"
        )
        (site / "pytest.py").touch()
    return str(folder / "bin" / "python")


def script(path: Path, body: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def triage_without_pytest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """`triage` runs in an environment that has no pytest, as it does when it was installed as a tool."""
    python = make_environment(tmp_path / "tool", None)
    monkeypatch.setattr(sys, "executable", python)
    return python


class TestOwn:
    def test_the_active_environment_comes_first(self, root: Path, tmp_path: Path, environ: dict[str, str]) -> None:
        make_environment(root / ".venv")
        active = make_environment(tmp_path / "active", "7.4.4")
        found = own_interpreter(root, {**environ, "VIRTUAL_ENV": str(tmp_path / "active")})
        assert (found.path, found.pytest, found.origin) == (active, "7.4.4", "active virtual environment")
        assert (found.version, found.short, found.free_threaded) == (VERSION, SHORT, False)

    def test_then_that_of_the_project(self, root: Path, environ: dict[str, str]) -> None:
        venv = make_environment(root / "venv")
        assert own_interpreter(root, environ).path == venv
        hidden = make_environment(root / ".venv")
        assert own_interpreter(root, environ).path == hidden

    def test_an_active_environment_without_pytest_is_passed_over(
        self, root: Path, tmp_path: Path, environ: dict[str, str]
    ) -> None:
        make_environment(tmp_path / "active", None)
        mine = make_environment(root / ".venv")
        assert own_interpreter(root, {**environ, "VIRTUAL_ENV": str(tmp_path / "active")}).path == mine

    def test_then_that_of_triage(self, root: Path, environ: dict[str, str]) -> None:
        assert own_interpreter(root, environ).path == sys.executable

    def test_before_that_the_first_that_was_named(self, root: Path, tmp_path: Path, environ: dict[str, str]) -> None:
        first, second = make_environment(tmp_path / "first"), make_environment(tmp_path / "second")
        assert own_interpreter(root, environ, [first, second]).path == first

    @pytest.mark.usefixtures("triage_without_pytest")
    def test_then_path_without_what_does_not_run(self, root: Path, tmp_path: Path, environ: dict[str, str]) -> None:
        shim = script(tmp_path / "shims" / "python3", 'echo "pyenv: python3: command not found" >&2\nexit 127')
        script(tmp_path / "odd" / "python3", "echo hello")
        real = make_environment(tmp_path / "real").removesuffix("python") + "python3"
        folders = [str(Path(path).parent) for path in (shim, str(tmp_path / "odd" / "python3"), real)]
        found = own_interpreter(root, {**environ, "PATH": os.pathsep.join([*folders, "/usr/bin", "/bin"])})
        assert (found.path, found.origin) == (real, "`python3` on PATH")

    @pytest.mark.usefixtures("triage_without_pytest")
    def test_none_at_all(self, root: Path, tmp_path: Path, environ: dict[str, str]) -> None:
        (tmp_path / "empty").mkdir()
        with pytest.raises(UnrunnableError) as caught:
            own_interpreter(root, {**environ, "PATH": str(tmp_path / "empty")})
        assert caught.value.message == "no Python with pytest was found"
        make_environment(root / ".venv", None)
        with pytest.raises(NoPytestError) as missing:
            own_interpreter(root, {**environ, "PATH": str(tmp_path / "empty")})
        python = root / ".venv" / "bin" / "python"
        assert missing.value.message == f"no pytest in `{python}`"
        assert missing.value.hint == (
            f'install it with "{python} -m pip install pytest" or name another interpreter with --python'
        )
        assert missing.value.exit_code is ExitCode.UNRUNNABLE

    def test_a_broken_environment_of_the_project_is_said(self, root: Path, environ: dict[str, str]) -> None:
        (root / ".venv" / "bin").mkdir(parents=True)
        python = root / ".venv" / "bin" / "python"
        python.symlink_to(root / "gone")
        with pytest.raises(UnrunnableError) as caught:
            own_interpreter(root, environ)
        assert caught.value.message == (
            f"`{python}` is not a working interpreter: it cannot be started (no such file or directory)"
        )

    def test_an_old_pytest_in_the_project_is_said(self, root: Path, environ: dict[str, str]) -> None:
        make_environment(root / ".venv", "6.2.5")
        with pytest.raises(UnrunnableError, match=r"pytest 6\.2\.5 in .* is too old"):
            own_interpreter(root, environ)


class TestPath:
    def test_a_python_or_its_environment(
        self, root: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        python = make_environment(root / "mine")
        monkeypatch.chdir(root)
        for spec in (python, str(root / "mine"), "mine", "mine/bin/python"):
            found = resolve(spec, root, environ)
            assert (found.path, found.origin) == (python, f"--python {spec}")

    def test_a_bare_name_is_looked_up(self, root: Path, environ: dict[str, str]) -> None:
        python = make_environment(root / "mine")
        assert resolve("python3", root, {**environ, "PATH": str(Path(python).parent)}).path == f"{python}3"

    @pytest.mark.parametrize("spec", ["nowhere/python", "no-such-python", "{root}", "3.x", ""])
    def test_what_means_nothing_is_wrong_usage(self, root: Path, environ: dict[str, str], spec: str) -> None:
        with pytest.raises(UsageError):
            resolve(spec.format(root=root), root, environ)

    def test_a_shim_for_a_version_that_is_not_there(self, tmp_path: Path, root: Path, environ: dict[str, str]) -> None:
        shim = script(tmp_path / "shims" / "python3.12", 'echo "pyenv: python3.12: command not found" >&2\nexit 127')
        with pytest.raises(UnrunnableError) as caught:
            resolve(shim, root, environ)
        assert caught.value.message == (
            f"`{shim}` is not a working interpreter: it ended with status 127: pyenv: python3.12: command not found"
        )

    def test_a_shim_is_replaced_by_what_is_behind_it(self, tmp_path: Path, root: Path, environ: dict[str, str]) -> None:
        python = make_environment(tmp_path / "real")
        shim = script(tmp_path / "shims" / "python3", f'exec "{python}" "$@"')
        assert resolve(shim, root, environ).path == python

    @pytest.mark.parametrize(
        "body",
        ["echo hello", "echo 'triage-interpreter:[1]'", "echo 'triage-interpreter:{}'", "head -c 3000 /dev/urandom"],
    )
    def test_garbage_is_no_answer(self, tmp_path: Path, root: Path, environ: dict[str, str], body: str) -> None:
        with pytest.raises(UnrunnableError, match="is not a working interpreter: it did not answer as a Python does"):
            resolve(script(tmp_path / "python", body), root, environ)

    def test_a_file_that_is_no_program(self, tmp_path: Path, root: Path, environ: dict[str, str]) -> None:
        (tmp_path / "python").write_text("text")
        with pytest.raises(UnrunnableError, match=r"it cannot be started \(permission denied\)"):
            resolve(str(tmp_path / "python"), root, environ)


class TestVersion:
    def test_an_environment_of_the_project_goes_before_the_bare_interpreter(
        self, root: Path, environ: dict[str, str]
    ) -> None:
        make_environment(root / ".tox" / "lint", None)
        python = make_environment(root / ".tox" / "py")
        for spec in (SHORT, VERSION):
            assert resolve(spec, root, environ).path == python

    @pytest.mark.parametrize("folder", [".venv-2", "venv2", ".envs/a", ".nox/tests"])
    def test_where_environments_are_looked_for(self, root: Path, environ: dict[str, str], folder: str) -> None:
        (root / folder).parent.mkdir(exist_ok=True)
        python = make_environment(root / folder)
        assert resolve(SHORT, root, environ).path == python

    def test_an_environment_that_lies_about_its_version_is_asked(self, root: Path, environ: dict[str, str]) -> None:
        make_environment(root / ".venv")
        configuration = root / ".venv" / "pyvenv.cfg"
        configuration.write_text(configuration.read_text().replace(VERSION, "3.99.0"))
        with pytest.raises(UnrunnableError, match=r"no Python 3\.99 was found"):
            resolve("3.99", root, environ)

    def test_a_version_of_pyenv_that_no_shim_leads_to(
        self, root: Path, tmp_path: Path, environ: dict[str, str]
    ) -> None:
        pyenv = tmp_path / "pyenv"
        shim = script(pyenv / "shims" / "python3.99", 'echo "pyenv: python3.99: command not found" >&2\nexit 127')
        for version in ("3.98.0", "3.99.9", "3.99.10", "3.99.11"):
            packages = {} if version == "3.99.11" else {"pytest": "9.0.0"}
            answer = {
                "version": version,
                "executable": "python",
                "prefix": version,
                "implementation": "cpython",
                "free_threaded": False,
                "packages": packages,
            }
            script(pyenv / "versions" / version / "bin" / "python", f"echo 'triage-interpreter:{json.dumps(answer)}'")
        path = os.pathsep.join([str(Path(shim).parent), environ["PATH"]])
        found = resolve("3.99", root, {**environ, "PYENV_ROOT": str(pyenv), "PATH": path})
        assert found.path == str(pyenv / "versions" / "3.99.10" / "bin" / "python")
        with pytest.raises(NoPytestError):
            resolve("3.99.11", root, {**environ, "PYENV_ROOT": str(pyenv), "PATH": path})

    def test_a_version_that_is_not_there(self, root: Path, environ: dict[str, str]) -> None:
        with pytest.raises(UnrunnableError) as caught:
            resolve("3.99", root, environ)
        assert caught.value.message == "no Python 3.99 was found"

    def test_a_free_threaded_build_is_asked_for(self, root: Path, environ: dict[str, str]) -> None:
        make_environment(root / ".venv")
        if ask(sys.executable, environ).free_threaded:
            pytest.skip("this interpreter is free-threaded")
        with pytest.raises(UnrunnableError, match=f"no Python {VERSION}t was found"):
            resolve(f"{VERSION}t", root, environ)

    @pytest.mark.parametrize(
        ("spec", "version", "free_threaded", "expected"),
        [
            ("3.13", "3.13.0", False, True),
            ("3.13", "3.13.0", True, False),
            ("3.13t", "3.13.0", True, True),
            ("3.13.0", "3.13.0", False, True),
            ("3.13.1", "3.13.10", False, False),
            ("3.1", "3.13.0", False, False),
            ("3", "3.13.0", False, True),
        ],
    )
    def test_matches(self, spec: str, version: str, free_threaded: bool, expected: bool) -> None:
        assert matches(spec, version, free_threaded=free_threaded) is expected


class TestAll:
    def test_two_specs_for_one_interpreter_are_one(self, root: Path, tmp_path: Path, environ: dict[str, str]) -> None:
        own = make_environment(root / ".venv")
        other = make_environment(tmp_path / "other")
        specs = [SHORT, str(root / ".venv"), f"{own}3", VERSION, other, str(tmp_path / "other")]
        assert [found.path for found in all_interpreters(root, environ, specs)] == [own, other]


class TestAsk:
    def test_modules_of_the_current_folder_are_not_the_interpreters(
        self, tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "json.py").write_text("raise SystemExit(9)")
        (tmp_path / "pytest.py").touch()
        monkeypatch.chdir(tmp_path)
        python = make_environment(tmp_path / "plain", None)
        assert ask(python, environ).pytest is None

    def test_the_search_path_of_the_user_counts(self, tmp_path: Path, environ: dict[str, str]) -> None:
        make_environment(tmp_path / "with")
        python = make_environment(tmp_path / "plain", None)
        site = tmp_path / "with" / "lib" / f"python{SHORT}" / "site-packages"
        assert ask(python, {**environ, "PYTHONPATH": str(site)}).pytest == "8.0.0"

    def test_chatter_of_the_interpreter_is_passed_over(self, tmp_path: Path, environ: dict[str, str]) -> None:
        python = make_environment(tmp_path / "loud")
        site = tmp_path / "loud" / "lib" / f"python{SHORT}" / "site-packages"
        (site / "sitecustomize.py").write_text("print('good morning', end='')")
        assert ask(python, environ).pytest == "8.0.0"

    def test_metadata_without_the_package_is_no_pytest(self, tmp_path: Path, environ: dict[str, str]) -> None:
        python = make_environment(tmp_path / "half")
        (tmp_path / "half" / "lib" / f"python{SHORT}" / "site-packages" / "pytest.py").unlink()
        assert ask(python, environ).pytest is None

    def test_packages_that_matter(self) -> None:
        answer = ask(sys.executable, os.environ)
        assert answer.pytest == pytest.__version__
        assert {"pytest", "pytest-xdist", "hypothesis"} <= set(answer.packages)

    def test_a_traceback_is_told_by_its_last_line(self, tmp_path: Path, environ: dict[str, str]) -> None:
        python = make_environment(tmp_path / "bad", None)
        (tmp_path / "bad" / "pyvenv.cfg").write_text("home = /nowhere\n")
        loud = script(tmp_path / "python", f"exec {python} -c 'raise ValueError(1)'")
        with pytest.raises(UnrunnableError) as caught:
            ask(loud, environ)
        assert caught.value.message.endswith("ended with status 1: ValueError: 1")

    def test_one_that_hangs_is_ended_with_its_children(self, tmp_path: Path, environ: dict[str, str]) -> None:
        hanging = script(tmp_path / "python", f"sleep 600 &\necho $$ $! > {tmp_path}/pids\nwait")
        with pytest.raises(UnrunnableError, match="did not answer within 3 s"):
            ask(hanging, environ, time_limit=3)
        shell, child = (int(pid) for pid in (tmp_path / "pids").read_text().split())
        assert ended(shell)
        assert ended(child)

    def test_a_child_that_keeps_the_output_open_does_not_hold_us_up(
        self, tmp_path: Path, environ: dict[str, str]
    ) -> None:
        python = make_environment(tmp_path / "real")
        leaky = script(tmp_path / "python", f'sleep 600 &\necho $! > {tmp_path}/pid\nexec {python} "$@"')
        try:
            assert ask(leaky, environ).pytest == "8.0.0"
        finally:
            os.kill(int((tmp_path / "pid").read_text()), 9)

    @pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.12", "3.13"])
    def test_every_supported_version_answers(self, version: str) -> None:
        found = sorted(REPOSITORY.glob(f".envs/py{version}-pytest*/bin/python"))
        if not found:
            assert not os.environ.get("CI"), "run `make envs`"
            pytest.skip(f"no environment of Python {version}: run `make envs`")
        interpreter = resolve(version, REPOSITORY, os.environ)
        assert interpreter.short == version
        assert interpreter.pytest is not None


def ended(pid: int) -> bool:
    """Wait for the end of a process that has been killed; False if it lives on."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    with os.fdopen(descriptor):
        return bool(select.select([descriptor], [], [], 30)[0])


def answering(path: Path, version: str, packages: dict[str, str] | None = None) -> str:
    """Make something that answers as a Python of this version."""
    answer = {
        "version": version,
        "executable": str(path),
        "prefix": str(path.parent.parent),
        "base_prefix": str(path.parent.parent),
        "implementation": "cpython",
        "free_threaded": False,
        "packages": packages or {},
    }
    return script(path, f"echo 'triage-interpreter:{json.dumps(answer)}'")


@pytest.fixture
def pyenv(tmp_path: Path, environ: dict[str, str]) -> dict[str, str]:
    """A pyenv with two versions, no shim of which works here."""
    top = tmp_path / "pyenv"
    for name in ("python", "python3", "python3.99"):
        script(top / "shims" / name, f'echo "pyenv: {name}: command not found" >&2\nexit 127')
    for version in ("3.98.2", "3.99.1"):
        answering(top / "versions" / version / "bin" / "python", version)
    return {**environ, "PYENV_ROOT": str(top), "PATH": f"{top}/shims:/usr/bin:/bin"}


class TestFound:
    """What an environment can be made with, where nothing is complete."""

    @pytest.mark.parametrize("spec", ["3.99", "python3.99", "3.99.1"])
    def test_behind_a_dead_shim(self, root: Path, pyenv: dict[str, str], spec: str) -> None:
        found = find(spec, root, pyenv, Needs())
        assert (found.answer.version, found.origin, found.ready) == ("3.99.1", f"--python {spec}", False)
        assert isinstance(found.problem, NoPytestError)

    @pytest.mark.usefixtures("triage_without_pytest")
    def test_own_where_python3_is_a_dead_shim(self, root: Path, tmp_path: Path, pyenv: dict[str, str]) -> None:
        found = find_own(root, {**pyenv, "PATH": str(tmp_path / "pyenv" / "shims")}, (), Needs())
        assert (found.answer.version, found.ready) == ("3.99.1", False)

    @pytest.mark.usefixtures("triage_without_pytest")
    def test_own_is_one_that_the_project_allows(self, root: Path, tmp_path: Path, pyenv: dict[str, str]) -> None:
        needs = Needs(requires_python="<3.99")
        found = find_own(root, {**pyenv, "PATH": str(tmp_path / "pyenv" / "shims")}, (), needs)
        assert found.answer.version == "3.98.2"

    def test_own_with_an_environment_that_has_no_pytest(self, root: Path, environ: dict[str, str]) -> None:
        python = make_environment(root / ".venv", None)
        needs = Needs(dependencies=("no-such-distribution",))
        found = find_own(root, environ, (), needs)
        assert (found.answer.path, found.origin, found.ready) == (python, ".venv", False)

    @pytest.mark.usefixtures("triage_without_pytest")
    def test_a_bare_interpreter_is_asked_for_the_requirements(
        self, root: Path, tmp_path: Path, environ: dict[str, str]
    ) -> None:
        python = make_environment(tmp_path / "bare")
        path = {**environ, "PATH": f"{Path(python).parent}:/usr/bin:/bin"}
        wanted = Needs(dependencies=("pytest>=7", "no-such-distribution"))
        assert find_own(root, path, (), wanted).lacks == ("no-such-distribution",)
        assert find_own(root, path, (), Needs(dependencies=("pytest>=7",))).ready

    @pytest.mark.usefixtures("triage_without_pytest")
    def test_an_environment_of_a_tool_of_the_project(self, root: Path, environ: dict[str, str]) -> None:
        (root / ".tox").mkdir()
        python = make_environment(root / ".tox" / "py")
        make_environment(root / ".tox" / "lint", None)
        (root / "tox.ini").write_text("[tox]\n")
        found = find_own(root, environ, (), Needs(dependencies=("no-such-distribution",)))
        assert (found.answer.path, found.origin, found.ready) == (python, "tox environment `py`", True)

    def test_every_version_that_the_project_allows(self, root: Path, pyenv: dict[str, str]) -> None:
        top = Path(pyenv["PYENV_ROOT"])
        answering(top / "versions" / "3.98.10" / "bin" / "python", "3.98.10")
        answering(top / "versions" / "3.7.1" / "bin" / "python", "3.7.1")
        path = {**pyenv, "PATH": str(top / "shims")}
        assert every_version(root, path, Needs(requires_python=">=3.98")) == ("3.98.10", "3.99.1")
        assert "3.7.1" not in every_version(root, path, Needs(requires_python="<3.8"))

    def test_a_shim_is_asked_in_the_project(self, root: Path, tmp_path: Path, environ: dict[str, str]) -> None:
        python = make_environment(tmp_path / "real")
        script(tmp_path / "shims" / "python3", f'test -e .python-version || exit 127\nexec "{python}" "$@"')
        (root / ".python-version").touch()
        assert find("python3", root, {**environ, "PATH": f"{tmp_path}/shims:/usr/bin:/bin"}).answer.path == python
