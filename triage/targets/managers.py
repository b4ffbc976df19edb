"""Where project tools keep the environment of a project: uv, poetry, hatch, pipenv, tox, nox.

Only tools that the project's own files name are considered. Their places are computed as they compute them (each rule was read in
the tool's source); only poetry is asked, where it is installed, because its place depends on configuration of its own. Nothing is
run that makes or changes anything.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from triage.targets.requirements import table

_PATIENCE = 20.0
"""Seconds that poetry may take to list its environments; it is slow to start."""


def environments(root: Path, environ: Mapping[str, str]) -> Iterator[tuple[Path, str]]:
    """Yield folders of virtual environments that may exist, each with the tool that would have made it."""
    pyproject = _read(root / "pyproject.toml")
    tools = table(pyproject, "tool")
    told = environ.get("UV_PROJECT_ENVIRONMENT")
    if told and ((root / "uv.lock").exists() or "uv" in tools):
        yield root / told, "uv's environment"
    if (root / "poetry.lock").exists() or "poetry" in tools:
        yield from ((folder, "poetry's environment") for folder in _poetry(root, pyproject, environ))
    if (root / "hatch.toml").exists() or table(tools, "hatch").get("envs"):
        yield from ((folder, "hatch's environment") for folder in _hatch(root, pyproject, environ))
    if (root / "Pipfile").exists():
        yield _pipenv(root, environ), "pipenv's environment"
    for tool, files in (("tox", ("tox.ini", "tox.toml")), ("nox", ("noxfile.py",))):
        if (
            any((root / file).exists() for file in files)
            or tool in tools
            or (tool == "tox" and _tox_in_setup_cfg(root))
        ):
            for folder in _versions_first((root / f".{tool}").glob("*/")):
                yield folder, f"{tool} environment `{folder.name}`"


def _poetry(root: Path, pyproject: dict[str, Any], environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield poetry's environments, the activated one first: as poetry says, or from its default folder."""
    if (poetry := shutil.which("poetry", path=environ.get("PATH"))) and (listed := _listed(poetry, root, environ)):
        lines = sorted(listed, key=lambda line: not line.endswith("(Activated)"))
        yield from (Path(line.removesuffix("(Activated)").strip()) for line in lines)
        return
    name = table(pyproject, "project").get("name") or table(pyproject, "tool", "poetry").get("name")
    if not isinstance(name, str):
        return
    # poetry/utils/env/env_manager.py, generate_env_name
    plain = re.sub(r'[ $`!*@"\\\r\n\t]', "_", canonicalize_name(name))[:42]
    prefix = f"{plain}-{_hash(os.path.normcase(os.path.realpath(root)))}-py"
    base = environ.get("POETRY_VIRTUALENVS_PATH")
    cache = environ.get("POETRY_CACHE_DIR") or str(_cache(environ) / "pypoetry")
    folder = Path(base or Path(cache, "virtualenvs")).expanduser()
    yield from sorted((path for path in folder.glob("*") if path.name.startswith(prefix)), key=_numbers, reverse=True)


def _listed(poetry: str, root: Path, environ: Mapping[str, str]) -> list[str]:
    try:
        done = subprocess.run(
            [poetry, "--no-ansi", "env", "list", "--full-path"],
            cwd=root,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    return (
        [line.strip() for line in done.stdout.splitlines() if line.startswith(os.sep)] if done.returncode == 0 else []
    )


def _hatch(root: Path, pyproject: dict[str, Any], environ: Mapping[str, str]) -> Iterator[Path]:
    """Yield hatch's environments that tests run in: hatch/env/virtual.py and hatch/utils/fs.py."""
    real = os.path.realpath(root)
    identity = _hash(real.casefold() if sys.platform == "darwin" else real)
    name = table(pyproject, "project").get("name")
    project = canonicalize_name(name) if isinstance(name, str) else f"{identity}-unmanaged"
    data = environ.get("HATCH_DATA_DIR") or str(_data(environ) / "hatch")
    folder = Path(data).expanduser() / "env" / "virtual" / project / identity
    yield from _versions_first(path for path in folder.glob("*/") if path.name.startswith(("hatch-test", "test")))
    yield folder / project  # the environment `default` bears the name of the project


def _pipenv(root: Path, environ: Mapping[str, str]) -> Path:
    """Return pipenv's environment: pipenv/utils/venv_locator.py."""
    home = environ.get("WORKON_HOME")
    folder = Path(os.path.expandvars(home)).expanduser() if home else _data(environ) / "virtualenvs"
    if custom := environ.get("PIPENV_CUSTOM_VENV_NAME"):
        return folder / custom
    plain = re.sub(r'[ &$`!*@"()\[\]\\\r\n\t]', "_", root.name)[:42]
    return folder / f"{plain}-{_hash(str(root / 'Pipfile'))}"


def _hash(text: str) -> str:
    """Return the first letters of the SHA-256, as all three tools do."""
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode()[:8]


def _cache(environ: Mapping[str, str]) -> Path:
    home = Path(environ.get("HOME", "~")).expanduser()
    if sys.platform == "darwin":
        return home / "Library" / "Caches"
    return Path(environ.get("XDG_CACHE_HOME") or home / ".cache")


def _data(environ: Mapping[str, str]) -> Path:
    home = Path(environ.get("HOME", "~")).expanduser()
    if sys.platform == "darwin":
        return home / "Library" / "Application Support"
    return Path(environ.get("XDG_DATA_HOME") or home / ".local" / "share")


def _versions_first(folders: Iterator[Path]) -> list[Path]:
    """Sort environments: those named after a version or after tests first, newest version first."""
    return sorted(folders, key=lambda path: (not re.match(r"py|test|hatch-test", path.name), _descending(path)))


def _descending(path: Path) -> list[int]:
    return [-number for number in _numbers(path)]


def _numbers(path: Path) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", path.name.rpartition("-py")[2])]


def _tox_in_setup_cfg(root: Path) -> bool:
    try:
        return "[tox:tox]" in (root / "setup.cfg").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}  # whoever needs it says so
