"""Whose code a frame belongs to: the product, the test, a dependency or the interpreter.

Only what is certain gets the role `product` or `test`. A module that could be either (`fakes.py` beside the tests, a
`testing` folder that ships with the product) is `unclear`, and a rule that meets it abstains.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path, PurePosixPath

from triage.model.signature import STANDARD_LIBRARY, project_path
from triage.model.trial import Frame

INSTALLED = ("site-packages", "dist-packages", "__pypackages__", ".eggs")
INSTRUMENT = ("triage_probe", "triage_levels")
SOURCES = ("", "src", "lib", "python")
"""Folders below the root in which the source of an installed copy of the product is looked for."""
TEST_WORDS = re.compile(r"(?:^|_)(?:tests?|testing|testutils?|fixtures?|mocks?|fakes?|stubs?|doubles?)(?:_|$)")
HELPER_WORDS = re.compile(r"(?:^|_)(?:helpers?|utils?|support|common|factor(?:y|ies)|base|data|setup)(?:_|$)")
"""Names that a helper of the tests often has, and a module of the product too; they count only beside tests."""


class Role(StrEnum):
    """Whose code it is."""

    PRODUCT = "product"
    TEST = "test"
    DEPENDENCY = "dependency"
    INTERPRETER = "interpreter"
    """The standard library, generated code, and what `triage` adds; never blamed, and looked through."""
    UNCLEAR = "unclear"


class Roles:
    """Tells roles for one project."""

    def __init__(self, root: str, collected: Iterable[str] = ()) -> None:
        """`root` is the absolute path of the root folder; `collected` the files of collected tests, relative to it."""
        self.root = root
        self.collected = frozenset(collected)
        self.folders = frozenset(PurePosixPath(file).parent for file in self.collected)
        """Folders in which collected tests lie themselves."""
        self.above = frozenset(parent for file in self.collected for parent in PurePosixPath(file).parents)
        """Folders in which, at any depth, collected tests lie."""

    def role(self, file: str) -> Role:
        """Return whose code a file, named as the interpreter names it, holds."""
        if file.startswith("<doctest"):
            return Role.TEST
        if not file or file.startswith("<"):
            return Role.INTERPRETER
        place = self.place(file)
        if place is not None:
            return self._own(PurePosixPath(place))
        return self._foreign(file)

    def of(self, frame: Frame) -> Role:
        """Return whose code a frame runs."""
        return self.role(frame.file)

    def place(self, file: str) -> str | None:
        """Return where in the project a file lies, relative to the root; None if it is not of the project.

        An installed copy of a module whose source lies in the project is that module: a product that was installed
        before it was tested does not turn into a dependency.
        """
        return project_path(file, self.root) or self._source_of(file)

    def shown(self, file: str) -> str:
        """Return a name of `file` without this machine's folders: below the root, below `site-packages`, or the last part."""
        return self.place(file) or installed_path(file) or re.split(r"[\\/]", file)[-1]

    def _source_of(self, file: str) -> str | None:
        tail = installed_path(file)
        if tail is None:
            return None
        for folder in SOURCES:
            candidate = PurePosixPath(folder, tail)
            if Path(self.root, candidate).is_file() and project_path(str(candidate), self.root) is not None:
                return candidate.as_posix()
        return None

    @staticmethod
    def _foreign(file: str) -> Role:
        parts = re.split(r"[\\/]", file)
        if any(name in parts for name in INSTALLED) and not any(name in parts for name in INSTRUMENT):
            return Role.DEPENDENCY
        if any(name in parts for name in INSTRUMENT) or STANDARD_LIBRARY.search(f"/{file}"):
            return Role.INTERPRETER
        return Role.UNCLEAR

    def _own(self, path: PurePosixPath) -> Role:
        if path.as_posix() in self.collected or path.name == "conftest.py" or "tests" in path.parts[:-1]:
            return Role.TEST
        doubtful = [parent for parent in path.parents if parent.name in {"test", "testing"}]
        if doubtful:
            return Role.TEST if any(folder in self.above for folder in doubtful) else Role.UNCLEAR
        beside = path.parent in self.folders
        if path.name.startswith("test_") or path.name.endswith("_test.py"):
            return Role.TEST if beside else Role.UNCLEAR
        if TEST_WORDS.search(path.stem) or any(TEST_WORDS.search(name) for name in path.parts[:-1]):
            return Role.UNCLEAR
        if beside and HELPER_WORDS.search(path.stem):
            return Role.UNCLEAR
        return Role.PRODUCT


def installed_path(file: str) -> str | None:
    """Return the part of the path below the folder of installed packages, with forward slashes; None without one."""
    parts = re.split(r"[\\/]", file)
    at = max((index for index, name in enumerate(parts) if name in INSTALLED), default=None)
    return "/".join(parts[at + 1 :]) or None if at is not None else None
