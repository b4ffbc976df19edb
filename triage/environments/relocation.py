"""Installed from a copy, imported from the sources.

What an editable installation of the copy left in the environment is made to lead to the project itself, so that the files that the
user edits are the ones that the tests import.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from packaging.utils import canonicalize_name

from triage.targets.inspection import speak

_SCRIPT = """
import os
from importlib.metadata import distributions
copy = %r
found = []
for one in distributions():
    text = one.read_text("direct_url.json")
    if not text:
        continue
    told = json.loads(text)
    url = told.get("url", "")
    if not url.startswith("file://" + copy):
        continue
    files = []
    for file in one.files or ():
        path = str(one.locate_file(file))
        try:
            if os.path.getsize(path) < 1 << 20:
                with open(path, encoding="utf-8") as stream:
                    if copy in stream.read():
                        files.append(os.path.abspath(path))
        except (OSError, ValueError):
            pass
    found.append({
        "name": one.metadata["Name"], "extras": one.metadata.get_all("Provides-Extra") or [],
        "folder": url[len("file://"):], "editable": bool(told.get("dir_info", {}).get("editable")), "files": files,
    })
answer = {"found": found}
"""


class Local(Struct, frozen=True, kw_only=True):
    """A distribution that was installed from a folder of the copy."""

    name: str
    extras: tuple[str, ...]
    folder: str
    editable: bool
    files: tuple[str, ...]
    """Installed text files that hold the path of the copy."""

    @property
    def leads_to_sources(self) -> bool:
        """Whether its modules are found by a path of the copy, which can be replaced."""
        return self.editable and any(Path(file).suffix in {".pth", ".py"} for file in self.files)


def installed_from(copy: Path, python: str, environ: Mapping[str, str]) -> tuple[Local, ...]:
    """Return what was installed from folders of the copy. Raises `UnrunnableError` if the interpreter does not answer."""
    answer = speak(python, environ, 60.0, _SCRIPT % (str(copy),))
    return tuple(
        Local(
            name=canonicalize_name(one["name"]),
            extras=tuple(one["extras"]),
            folder=one["folder"],
            editable=one["editable"],
            files=tuple(one["files"]),
        )
        for one in answer["found"]
    )


def relocate(local: Local, copy: Path, root: Path) -> None:
    """Make an installed distribution lead to `root` in place of the copy."""
    for name in local.files:
        file = Path(name)
        text = file.read_text(encoding="utf-8")
        if file.name == "direct_url.json":
            told = json.loads(text)
            told["url"] = Path(root, os.path.relpath(local.folder, copy)).resolve().as_uri()
            text = json.dumps(told)
        else:
            path = str(root)
            if file.suffix == ".py":  # within a literal
                path = path.replace("\\", "\\\\").replace("'", "\\'").replace('"', '\\"')
            text = text.replace(str(copy), path)
        file.write_text(text, encoding="utf-8")
