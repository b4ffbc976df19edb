"""Puts the probe and the levels plugin where a target can import them, writing nothing else into the project."""

from __future__ import annotations

import contextlib
import importlib.resources
import os
from importlib.resources.abc import Traversable
from pathlib import Path

from msgspec import Struct

from triage.model.invocation import LEVELS_PLUGIN, PLUGINS_FOLDER
from triage.runner.scratch import new_folder, remove

PROBE_PLUGIN = "triage_probe"
OWN_FOLDER = ".triage"
THIRD_PARTY = "site-packages"
"""The probe's folder bears this name for hypothesis, which draws from the constants of whatever is not third-party code."""


class Installation(Struct, frozen=True, kw_only=True):
    """Where the two packages lie."""

    probe: Path
    """On a probed trial's PYTHONPATH."""
    levels: Path
    """Holds the levels plugin for servers of forked trials; apart, as each of the two takes its own folder off `sys.path`."""
    plugins: Path
    """On the PYTHONPATH of a trial that applies levels."""
    bytecode: Path
    notes: tuple[str, ...] = ()
    """What the user should know about where things are."""
    borrowed: Path | None = None
    """A folder for temporary files that stands in for one that cannot be written, to be removed in the end."""


def install(root: Path, workdir: Path) -> Installation:
    """Install below `workdir` and below `.triage` of `root`; where that cannot be written, in a temporary folder."""
    own = root / OWN_FOLDER
    existed = own.exists()
    try:
        return install_below(workdir, root / PLUGINS_FOLDER)
    except OSError as error:
        if not existed:
            remove(own)
        borrowed = new_folder()
        placed = install_below(borrowed, borrowed / "plugins")
        note = (
            f"`{OWN_FOLDER}` cannot be written ({(error.strerror or str(error)).lower()}): nothing of this run is kept for "
            f"`triage show` and `triage replay`, and a printed command that needs `{PLUGINS_FOLDER}` works only where that can be "
            "written"
        )
        return Installation(
            probe=placed.probe,
            levels=placed.levels,
            plugins=placed.plugins,
            bytecode=placed.bytecode,
            notes=(note,),
            borrowed=borrowed,
        )


def install_below(workdir: Path, plugins: Path) -> Installation:
    """Install at exactly these places. Raises OSError."""
    source = importlib.resources.files("triage") / "probe"
    for folder in {workdir, plugins.parent}:
        folder.mkdir(parents=True, exist_ok=True)
        write(folder / ".gitignore", b"*\n")
    probe, levels = workdir / "probe" / THIRD_PARTY, workdir / "levels" / THIRD_PARTY
    copy(source / PROBE_PLUGIN, probe / PROBE_PLUGIN)
    copy(source / LEVELS_PLUGIN, levels / LEVELS_PLUGIN)
    copy(source / LEVELS_PLUGIN, plugins / LEVELS_PLUGIN)
    bytecode = workdir / "bytecode"
    bytecode.mkdir(exist_ok=True)
    return Installation(probe=probe, levels=levels, plugins=plugins, bytecode=bytecode)


def copy(source: Traversable, target: Path) -> None:
    """Make a folder's modules equal to those of a package, and write only what differs."""
    target.mkdir(parents=True, exist_ok=True)
    wanted = {entry.name: entry for entry in source.iterdir() if entry.is_file()}
    for name, entry in wanted.items():
        write(target / name, entry.read_bytes())
    for path in target.iterdir():
        if path.is_file() and path.name not in wanted and path.suffix in {".py", ".pyi"}:
            path.unlink(missing_ok=True)
    for entry in source.iterdir():
        if entry.is_dir() and entry.name != "__pycache__":
            copy(entry, target / entry.name)


def write(path: Path, content: bytes) -> None:
    """Write a file at once or not at all, for another `triage` may be reading it; leave an equal one alone."""
    try:
        if path.read_bytes() == content:
            return
    except FileNotFoundError:
        pass
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
