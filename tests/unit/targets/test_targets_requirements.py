"""What a project says that its tests need, in each of the places where that is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from triage.errors import UnrunnableError
from triage.targets import requirement_files
from triage.targets.requirements import extras, read

BUILD = '[build-system]\nrequires = ["flit_core"]\nbuild-backend = "flit_core.buildapi"\n'


def write(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / name.replace("__", "/").replace("_txt", ".txt").replace("_toml", ".toml").replace("_ini", ".ini")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def chosen(root: Path) -> dict[str, tuple[str, ...]]:
    return {source.label: source.requirements for source in read(root).tests()}


class TestRead:
    def test_nothing_is_said(self, tmp_path: Path) -> None:
        needs = read(tmp_path)
        assert (needs.name, needs.installable, needs.sources, needs.files) == (None, False, (), ())
        assert needs.allows("3.8.1")
        assert needs.missing("3.12.1", {}) == ()

    def test_groups_with_what_they_include(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            pyproject_toml=BUILD + '[project]\nname = "Shop.Api"\nversion = "1"\nrequires-python = ">=3.9"\n'
            'dependencies = ["attrs"]\n[dependency-groups]\nbase = ["pluggy>1"]\n'
            'Tests = ["pytest", {include-group = "base"}]\nlint = ["ruff"]\ndev = ["mypy"]\n',
        )
        needs = read(tmp_path)
        assert chosen(tmp_path) == {"group `Tests` of pyproject.toml": ("pytest", "pluggy>1")}
        assert (needs.installable, needs.dependencies, needs.name) == (True, ("attrs",), "Shop.Api")
        assert needs.allows("3.9.0")
        assert not needs.allows("3.8.18")
        assert needs.files == (str(tmp_path / "pyproject.toml"),)

    def test_what_is_for_development_counts_where_nothing_is_for_tests(self, tmp_path: Path) -> None:
        write(tmp_path, pyproject_toml='[dependency-groups]\ndev = ["pytest", "mypy"]\n')
        assert chosen(tmp_path) == {"group `dev` of pyproject.toml": ("pytest", "mypy")}

    def test_extras_of_the_built_project_decide_too(self, tmp_path: Path) -> None:
        write(tmp_path, setup_py="", pyproject_toml='[dependency-groups]\ndev = ["mypy"]\n')
        (tmp_path / "setup.py").touch()
        needs = read(tmp_path)
        assert needs.installable
        assert [source.extras for source in needs.tests(extras(["docs", "test"]))] == [("test",)]

    def test_a_group_that_cannot_be_read_is_said(self, tmp_path: Path) -> None:
        write(tmp_path, pyproject_toml='[dependency-groups]\ntest = [{include-group = "gone"}]\n')
        with pytest.raises(UnrunnableError, match=r"group `test` of `pyproject\.toml` cannot be read"):
            read(tmp_path)

    def test_a_file_that_cannot_be_read_is_said(self, tmp_path: Path) -> None:
        write(tmp_path, pyproject_toml="[project\n")
        with pytest.raises(UnrunnableError, match=r"`pyproject\.toml` cannot be read"):
            read(tmp_path)

    @pytest.mark.parametrize(
        "name",
        [
            "requirements-test.txt",
            "requirements_test.txt",
            "test-requirements.txt",
            "requirements/test.txt",
            "requirements/tests.txt",
            "tests/requirements.txt",
        ],
    )
    def test_names_of_requirement_files(self, tmp_path: Path, name: str) -> None:
        write(tmp_path, **{name: "pytest\n", "requirements-dev.txt": "mypy\n", "notes.txt": "test\n"})
        assert list(chosen(tmp_path)) == [name]

    def test_plain_requirements_belong_to_what_cannot_be_installed(self, tmp_path: Path) -> None:
        write(tmp_path, requirements_txt="attrs\n")
        assert list(chosen(tmp_path)) == ["requirements.txt"]
        write(tmp_path, pyproject_toml=BUILD)
        assert chosen(tmp_path) == {}

    def test_tox_is_read_where_nothing_else_is_named_after_tests(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            tox_ini="[testenv]\ndeps =\n pytest>=8\n    -r{toxinidir}/more.txt\n    py38: mock\n    {[x]deps}\nextras = fast\n",
            more_txt="pluggy\n",
            pyproject_toml='[dependency-groups]\ndev = ["mypy"]\n',
        )
        (source,) = read(tmp_path).tests()
        assert (source.requirements, source.files, source.extras) == (
            ("pytest>=8",),
            (str(tmp_path / "more.txt"),),
            ("fast",),
        )
        write(tmp_path, pyproject_toml='[dependency-groups]\ntest = ["pytest"]\n')
        assert list(chosen(tmp_path)) == ["group `test` of pyproject.toml"]

    def test_other_tools(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            pyproject_toml='[tool.hatch.envs.hatch-test]\nextra-dependencies = ["trio"]\n'
            '[tool.pdm.dev-dependencies]\ntest = ["pluggy", "-e file:///x"]\n'
            '[tool.poetry]\nname = "x"\n[tool.poetry.group.test.dependencies]\npytest = "^8"\n',
            Pipfile='[packages]\nattrs = "*"\n[dev-packages]\npytest = {version = ">=8", extras = ["dev"]}\nown = {path = "."}\n',
        )
        needs = read(tmp_path)
        assert chosen(tmp_path) == {
            "poetry group `test`": (),
            "hatch environment `hatch-test`": ("trio",),
            "pdm group `test`": ("pluggy",),
            "Pipfile": ("attrs", "pytest[dev]>=8"),
        }
        assert [source.poetry_group for source in needs.sources if source.poetry_group] == ["test"]

    def test_a_project_that_is_no_package(self, tmp_path: Path) -> None:
        write(tmp_path, pyproject_toml=BUILD + "[tool.poetry]\npackage-mode = false\n")
        assert not read(tmp_path).installable


class TestMissing:
    def test_by_version_marker_and_layout(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            pyproject_toml=BUILD
            + '[project]\nname = "shop"\nversion = "1"\ndependencies = ["attrs>=22", "Flit_Core"]\n'
            '[dependency-groups]\ntest = ["tomli; python_version < \'3.11\'", "pluggy"]\ndev = ["mypy"]\n',
            src__shop__init__py="",
        )
        needs = read(tmp_path)
        assert needs.missing("3.12.1", {"attrs": "21.1", "pluggy": "1.0"}) == ("shop", "attrs>=22", "Flit_Core")
        whole = {"attrs": "23.1", "pluggy": "1.0", "flit-core": "3", "shop": "1"}
        assert needs.missing("3.12.1", whole) == ()
        assert needs.missing("3.10.2", whole) == ('tomli; python_version < "3.11"',)

    def test_a_configured_search_path_needs_no_installation(self, tmp_path: Path) -> None:
        write(
            tmp_path,
            pyproject_toml=BUILD + '[project]\nname = "shop"\n[tool.pytest.ini_options]\npythonpath = ["src"]\n',
            src__shop_py="",
        )
        assert read(tmp_path).missing("3.12.1", {}) == ()


class TestFiles:
    def test_local_projects_are_built_in_the_copy(self, tmp_path: Path) -> None:
        root, copy = tmp_path / "root", tmp_path / "copy"
        write(
            root,
            lib__setup_py="",
            more_txt="# a comment\nattrs >= 22 \\\n  ; python_version > '3'  # why\n",
            bounds_txt="pluggy<2\n",
            dev_txt="-r more.txt\n-c bounds.txt\n-e .[fast, slow]\n-e ./lib[x]\n--index-url https://index/simple\n",
        )
        (root / "lib").mkdir(exist_ok=True)
        found = requirement_files.flat(root / "dev.txt", root, copy)
        assert found.lines == (
            "attrs >= 22    ; python_version > '3'",
            f"--constraint {root / 'bounds.txt'}",
            f"-e {copy}/lib[x]",
            "--index-url https://index/simple",
        )
        assert (found.own_extras, found.hashed) == (("fast", "slow"), False)
        assert requirement_files.nested(root / "dev.txt") == tuple(
            root / f"{name}.txt" for name in ("dev", "more", "bounds")
        )
        assert next(iter(requirement_files.plain(root / "dev.txt"))).startswith("attrs")

    def test_hashes(self, tmp_path: Path) -> None:
        write(tmp_path, pinned_txt="attrs==22.1 \\\n    --hash=sha256:00\n")
        assert requirement_files.flat(tmp_path / "pinned.txt", tmp_path, tmp_path / "copy").hashed
        assert list(requirement_files.plain(tmp_path / "pinned.txt")) == ["attrs==22.1"]

    def test_a_project_outside_is_not_built(self, tmp_path: Path) -> None:
        (tmp_path / "root").mkdir()
        (tmp_path / "other").mkdir()
        write(tmp_path / "root", dev_txt="-e ../other\n")
        with pytest.raises(UnrunnableError, match=r"names the project `\.\./other`, which lies outside"):
            requirement_files.flat(tmp_path / "root" / "dev.txt", tmp_path / "root", tmp_path / "copy")

    def test_a_file_that_includes_itself(self, tmp_path: Path) -> None:
        write(tmp_path, dev_txt="-r dev.txt\nattrs\n")
        assert requirement_files.nested(tmp_path / "dev.txt") == (tmp_path / "dev.txt",)
