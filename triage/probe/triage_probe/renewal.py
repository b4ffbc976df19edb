"""What a forked child has of its own besides its memory: standard output, the files of pytest's capture, hypothesis' seed.

Folders need no renewal: a server runs one child at a time, in the server's own TMPDIR and cache, put back after each; so what a
module derived from them at import stays true. Nor are pytest's capture and its streams made anew: a module may have kept
them (a log handler, a default argument). They stay the same objects, and their files are emptied.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Callable

from .imports import follow

if TYPE_CHECKING:
    import pytest


def release_output(config: pytest.Config) -> None:
    """Leave standard output to us, and write what is buffered, which every child would write once more."""
    manager: Any = config.pluginmanager.get_plugin("capturemanager")
    if manager is not None:
        manager.suspend_global_capture()
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        with suppress(Exception):  # the target may have put anything there
            stream.flush()  # type: ignore[union-attr]


def redirect(now: dict[int, Any], replacements: dict[Any, int]) -> None:
    """Replace what descriptors refer to, wherever there is a copy of them (pytest and the probe keep some).

    `now` has what each descriptor refers to; `replacements` go from what a descriptor refers to, to another.
    """
    for number, what in now.items():
        if what in replacements:
            os.dup2(replacements[what], number, inheritable=os.get_inheritable(number))


def capture_files(config: pytest.Config) -> list[int]:
    """Return the descriptors of the files that pytest captures to, which children share."""
    manager: Any = config.pluginmanager.get_plugin("capturemanager")
    captures: Any = getattr(manager, "_global_capturing", None)
    found = []
    for name in ("out", "err"):
        capture: Any = getattr(captures, name, None)
        with suppress(AttributeError, OSError, ValueError):  # none, or in memory
            found.append(capture.tmpfile.fileno())
    return found


def empty(files: list[int]) -> None:
    """Empty the files of pytest's capture of what a child that died has left in them."""
    for fd in files:
        if os.fstat(fd).st_size or os.lseek(fd, 0, os.SEEK_CUR):
            os.ftruncate(fd, 0)
            os.lseek(fd, 0, os.SEEK_SET)


def unfit(config: pytest.Config) -> list[str]:
    """Say what of pytest's own state, made before the fork, children would share."""
    factory: Any = getattr(config, "_tmp_path_factory", None)
    if factory is not None and factory._basetemp is not None:  # noqa: SLF001 - there is no public way
        return ["collection made pytest's base temporary folder"]
    return []


def seed_hypothesis(seed: object, report: Callable[[BaseException], None]) -> None:
    """Do what `--hypothesis-seed` does, if and when hypothesis is imported: that takes longer than most tests."""
    follow("hypothesis.core", lambda core: setattr(core, "global_force_seed", seed), report)
