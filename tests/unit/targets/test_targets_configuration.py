"""Where pytest's configuration lies and which options it adds."""

from __future__ import annotations

from pathlib import Path

import pytest

from triage.targets.configuration import Configured, configured, find_root, is_configuration

CONFIGURATIONS = {
    "pytest.toml": "",
    ".pytest.ini": "",
    "pytest.ini": "",
    "pyproject.toml": "[tool.pytest.ini_options]\n",
    "tox.ini": "[pytest]\n",
    "setup.cfg": "[tool:pytest]\n",
}
NO_CONFIGURATIONS = {
    "pyproject.toml": "[project]\nname = 'x'\n",
    "tox.ini": "[tox]\nenvlist = py\n",
    "setup.cfg": "[metadata]\nname = x\n",
    "notes.ini": "[pytest]\n",
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_nearest_configuration_is_the_root(tmp_path: Path, name: str) -> None:
    (tmp_path / "pytest.ini").touch()
    inner = tmp_path / "inner"
    (inner / "tests" / "deep").mkdir(parents=True)
    (inner / name).write_text(CONFIGURATIONS[name])
    assert find_root(inner / "tests" / "deep") == inner


@pytest.mark.parametrize("name", NO_CONFIGURATIONS)
def test_a_file_without_a_section_is_passed_over(tmp_path: Path, name: str) -> None:
    (tmp_path / "pytest.ini").touch()
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / name).write_text(NO_CONFIGURATIONS[name])
    assert find_root(inner) == tmp_path


def test_without_any_section_the_pyproject_file_is_the_root(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "setup.py").touch()
    assert find_root(tmp_path / "a" / "b") == tmp_path


def test_an_unreadable_file_counts_so_that_pytest_can_complain(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.pytest")
    assert is_configuration(tmp_path / "pyproject.toml")
    assert configured(tmp_path / "pyproject.toml", {}, ("-q",)) == Configured(words=("-q",))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pytest.ini", "[pytest]\naddopts = -ra --cov=src\n  -k 'a or b'\n# comment\ntimeout = 5%\n"),
        ("tox.ini", "[pytest]\naddopts = -ra --cov=src -k 'a or b'\ntimeout = 5\n"),
        ("setup.cfg", "[tool:pytest]\naddopts = -ra --cov=src -k 'a or b'\ntimeout: 5\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-ra --cov=src -k 'a or b'\"\ntimeout = 5\n"),
        (
            "pyproject.toml",
            "[tool.pytest.ini_options]\naddopts = ['-ra', '--cov=src', '-k', 'a or b']\ntimeout = '5'\n",
        ),
        ("pyproject.toml", "[tool.pytest]\naddopts = ['-ra', '--cov=src', '-k', 'a or b']\ntimeout = 5\n"),
        ("pytest.toml", "[pytest]\naddopts = ['-ra', '--cov=src', '-k', 'a or b']\ntimeout = 5\n"),
    ],
)
def test_options_come_in_the_order_of_pytest(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    result = configured(tmp_path / name, {"PYTEST_ADDOPTS": "-x '--tb=short'"}, ("-q",))
    assert result.words == ("-ra", "--cov=src", "-k", "a or b", "-x", "--tb=short", "-q")
    assert set(result.settings) == {"addopts", "timeout"}


@pytest.mark.parametrize("words", [("-x",), ("-vx",), ("-xvs",), ("--tb", "short", "-x")])
def test_a_short_option_is_found(words: tuple[str, ...]) -> None:
    assert Configured(words=words).has_option("-x")


@pytest.mark.parametrize(
    "words", [("-k", "-x"), ("-kx",), ("-rxX",), ("--exitfirst",), ("-p", "no:x"), ("x",), ("--", "-")]
)
def test_what_only_looks_like_a_short_option_is_not(words: tuple[str, ...]) -> None:
    assert not Configured(words=words).has_option("-x")


@pytest.mark.parametrize("words", [("-n", "auto"), ("-n4",), ("-vn", "4")])
def test_a_short_option_with_a_value_is_found(words: tuple[str, ...]) -> None:
    assert Configured(words=words).has_option("-n")


def test_a_long_option_is_found_whole() -> None:
    configuration = Configured(words=("--cov=src", "--cov-report", "xml"))
    assert configuration.has_option("--cov")
    assert configuration.has_option("--cov-report")
    assert not configuration.has_option("--cov-fail-under", "--co")
