"""Where pytest's configuration of a project lies, and which options it adds to every command line.

pytest finds these things out by itself and its collection is what counts; they are needed before it runs (to start it in
the right folder) and once more after it (to know which options a plugin was switched on with).
Source of the rules: pytest's reference, "Initialization: determining rootdir and configfile".
"""

from __future__ import annotations

import configparser
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

_SECTIONS = {"pytest.ini": "pytest", ".pytest.ini": "pytest", "tox.ini": "pytest", "setup.cfg": "tool:pytest"}
CONFIG_FILES = ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")
"""In pytest's own order of precedence."""
_ALWAYS = frozenset({"pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"})
"""Files that configure pytest even when they are empty."""
_VALUE_LETTERS = frozenset("kmpcornW")
"""Short options that take a value (pytest's own, and xdist's `-n`)."""


class Configured(Struct, frozen=True, kw_only=True):
    """What switches plugins on: every option word that pytest sees, and the settings of its configuration file."""

    words: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    """Names only."""

    def has_option(self, *options: str) -> bool:
        """Whether one of `options` (`--cov`, `-x`) is among the words, alone, with `=value` or in a cluster (`-xvs`)."""
        return any(
            word.split("=", 1)[0] in options if word.startswith("--") else not short_options(word).isdisjoint(options)
            for word in option_words(self.words)
        )


def find_root(folder: Path) -> Path | None:
    """Return the nearest folder, from `folder` upwards, that pytest would take as root, or None.

    That is the first with a pytest configuration; without any, the first with a `pyproject.toml`, then a `setup.py`.
    """
    upwards = (folder, *folder.parents)
    for candidate in upwards:
        if any(is_configuration(candidate / name) for name in CONFIG_FILES):
            return candidate
    for marker in ("pyproject.toml", "setup.py"):
        for candidate in upwards:
            if (candidate / marker).is_file():
                return candidate
    return None


def find_configuration(root: Path) -> Path | None:
    """Return the file in `root` that pytest would take its configuration from, or None."""
    return next((root / name for name in CONFIG_FILES if is_configuration(root / name)), None)


def is_configuration(file: Path) -> bool:
    """Whether pytest would take its configuration from `file`; an unreadable one counts, so that pytest can complain."""
    if not file.is_file():
        return False
    try:
        return file.name in _ALWAYS or _settings(file) is not None
    except (OSError, ValueError, configparser.Error):
        return True


def configured(inifile: Path | None, environ: Mapping[str, str], options: Sequence[str] = ()) -> Configured:
    """Return what pytest is told by its configuration file, `PYTEST_ADDOPTS` and the user's own `options`, in its order.

    A file that cannot be read says nothing here: pytest itself reports it when it collects.
    """
    try:
        settings = (_settings(inifile) if inifile is not None else None) or {}
        words = [*_words(settings.get("addopts", "")), *shlex.split(environ.get("PYTEST_ADDOPTS", "")), *options]
    except (OSError, ValueError, configparser.Error):
        return Configured(words=tuple(options))
    return Configured(words=tuple(words), settings=tuple(settings))


def option_words(words: Sequence[str]) -> list[str]:
    """Return the words that are options, without those that are the value of a short option before them."""
    result: list[str] = []
    expects_value = False
    for word in words:
        if expects_value:
            expects_value = False
        elif word.startswith("-") and word not in {"-", "--"}:
            result.append(word)
            expects_value = not word.startswith("--") and word[-1] in _VALUE_LETTERS and _value_at(word) == len(word)
    return result


def short_options(word: str) -> set[str]:
    """Return the short options of a word such as `-xvs` or `-n4`, each with its dash."""
    if not word.startswith("-") or word.startswith("--"):
        return set()
    return {f"-{letter}" for letter in word[1 : _value_at(word)]}


def _value_at(word: str) -> int:
    """Return where the value of the first short option that takes one begins; the length of the word if none does."""
    return next((at + 1 for at, letter in enumerate(word) if letter in _VALUE_LETTERS), len(word))


def _settings(file: Path) -> dict[str, Any] | None:
    """Return pytest's settings in `file`, or None if it has none."""
    if file.suffix == ".toml":
        document = tomllib.loads(file.read_text(encoding="utf-8"))
        if file.name in _ALWAYS:
            return _table(document, "pytest")
        tool = _table(_table(document, "tool") or {}, "pytest")
        if tool is None:
            return None
        old_style = _table(tool, "ini_options")
        return old_style if old_style is not None else (tool or None)
    # pytest takes values literally and lets a name stand alone
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    parser.read_string(file.read_text(encoding="utf-8"))
    section = _SECTIONS.get(file.name, "pytest")
    if not parser.has_section(section):
        return {} if file.name in _ALWAYS else None
    return {name: value or "" for name, value in parser.items(section)}


def _table(document: dict[str, Any], name: str) -> dict[str, Any] | None:
    value = document.get(name)
    return value if isinstance(value, dict) else None


def _words(addopts: object) -> list[str]:
    """Split the setting `addopts`, a string or (in TOML) a list of words."""
    if isinstance(addopts, list):
        return [str(word) for word in addopts]
    return shlex.split(str(addopts))
