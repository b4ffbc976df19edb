"""A project with a build backend of its own, and a folder of wheels to install from: no registry is needed."""

from __future__ import annotations

import importlib.metadata
import os
import sys
import zipfile
from pathlib import Path

import pytest

BASE = str(Path(sys.base_prefix, "bin", "python3"))
BACKEND = '''\
"""Builds wheels with the standard library, and leaves behind what setuptools leaves behind."""

import os
import zipfile
from pathlib import Path

INFO = "shop-1.0.dist-info"
METADATA = "Metadata-Version: 2.1\\nName: shop\\nVersion: 1.0\\nProvides-Extra: test\\nRequires-Dist: helper; extra == 'test'\\n"


def wheel(folder, files):
    Path("shop.egg-info").mkdir(exist_ok=True)
    Path("shop.egg-info", "PKG-INFO").write_text(METADATA)
    Path("build").mkdir(exist_ok=True)
    if Path("generates").exists():
        Path("src", "shop", "_version.py").write_text("version = 1\\n")
        files = {**files, "shop/_version.py": "version = 1\\n"}
    files = {
        **files,
        f"{INFO}/METADATA": METADATA,
        f"{INFO}/WHEEL": "Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n",
    }
    name = "shop-1.0-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder, name), "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
        archive.writestr(f"{INFO}/RECORD", "".join(f"{path},,\\n" for path in files) + f"{INFO}/RECORD,,\\n")
    return name


def build_wheel(folder, config_settings=None, metadata_directory=None):
    return wheel(folder, {"shop/__init__.py": Path("src", "shop", "__init__.py").read_text()})


def build_editable(folder, config_settings=None, metadata_directory=None):
    return wheel(folder, {"shop.pth": os.path.abspath("src") + "\\n"})
'''
PYPROJECT = """\
[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]

[project]
name = "shop"
version = "1.0"
requires-python = ">=3.8"

[project.optional-dependencies]
test = ["helper"]
"""
NEEDED = ("pytest", "pluggy", "iniconfig", "packaging", "pygments")
"""What pytest needs on the Python that runs this suite."""


def wheel_of(distribution: importlib.metadata.Distribution, folder: Path) -> None:
    """Make a wheel of what is installed."""
    name = distribution.metadata["Name"].replace("-", "_")
    with zipfile.ZipFile(folder / f"{name}-{distribution.version}-py3-none-any.whl", "w") as archive:
        for file in distribution.files or ():
            place = Path(str(distribution.locate_file(file)))
            wanted = ".." not in file.parts and "__pycache__" not in file.parts and place.is_file()
            if wanted and file.name not in {"INSTALLER", "REQUESTED", "direct_url.json"}:
                archive.write(place, str(file))


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    for name in NEEDED:
        wheel_of(importlib.metadata.distribution(name), folder)
    info = "helper-2.0.dist-info"
    with zipfile.ZipFile(folder / "helper-2.0-py3-none-any.whl", "w") as archive:
        archive.writestr("helper.py", "answer = 42\n")
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: helper\nVersion: 2.0\n")
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return folder


@pytest.fixture(scope="session")
def offline(wheels: Path) -> dict[str, str]:
    """The environment of an installer that knows these wheels only; the address of the index holds a password."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("PIP_", "UV_", "PYTEST", "VIRTUAL_ENV"))
    }
    return {
        **kept,
        "PATH": "/usr/bin:/bin",
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(wheels),
        "PIP_INDEX_URL": "https://me:secret-word@127.0.0.1:9/simple",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def write_project(root: Path) -> Path:
    """Write a project with a `src` layout."""
    (root / "src" / "shop").mkdir(parents=True)
    (root / "src" / "shop" / "__init__.py").write_text("price = 1\n")
    (root / "tests").mkdir()
    (root / "tests" / "test_shop.py").write_text(
        "import helper\nimport shop\n\n\ndef test_price():\n    assert shop.price\n"
    )
    (root / "backend.py").write_text(BACKEND)
    (root / "pyproject.toml").write_text(PYPROJECT)
    return root
