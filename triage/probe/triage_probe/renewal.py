"""What a forked child has of its own besides its memory: standard output, the files of pytest's capture, hypothesis' seed.

Folders need no renewal: a server runs one child at a time, in the server's own TMPDIR and cache, emptied after each; so what a
module derived from them at import stays true.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest


def redirect(config: pytest.Config, out: int, err: int, *copies: int) -> None:
    """End pytest's capture and make two descriptors standard output and error; `copies` are descriptors that stand for standard error."""
    stop_capture(config)
    os.dup2(out, 1)
    os.dup2(err, 2)
    for fd in copies:
        os.dup2(err, fd, inheritable=False)
    try:
        from _pytest.faulthandler import fault_handler_stderr_fd_key as key  # noqa: PLC0415 - a file before pytest 7.4
    except ImportError:
        pass
    else:
        stash: Any = config.stash
        if key in stash:  # where pytest's timer writes the stacks of a test that takes long
            os.dup2(err, stash[key], inheritable=False)


def stop_capture(config: pytest.Config) -> None:
    """End pytest's capture, and write what is buffered, which every child would write once more."""
    manager: Any = config.pluginmanager.get_plugin("capturemanager")
    if manager is not None:
        manager.stop_global_capturing()
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()  # type: ignore[union-attr]
        except Exception:  # noqa: BLE001, S112 - the target may have put anything there
            continue


def start_capture(config: pytest.Config) -> None:
    """Capture anew, to files of its own; suspended, as it is between collection and the first test."""
    manager: Any = config.pluginmanager.get_plugin("capturemanager")
    if manager is not None:
        manager.start_global_capturing()
        manager.suspend_global_capture()


def capture_files(config: pytest.Config) -> list[int]:
    """Return the descriptors of the files that pytest captures to."""
    manager: Any = config.pluginmanager.get_plugin("capturemanager")
    captures: Any = getattr(manager, "_global_capturing", None)
    found = []
    for name in ("out", "err"):
        capture: Any = getattr(captures, name, None)
        try:
            found.append(capture.tmpfile.fileno())
        except (AttributeError, OSError, ValueError):  # none, or in memory
            continue
    return found


def are_fresh(files: list[int], *, stat: Any = os.fstat, seek: Any = os.lseek) -> bool:
    """Whether the files of pytest's capture, which the last child wrote to, are empty and at their beginning."""
    return not any(stat(fd).st_size or seek(fd, 0, os.SEEK_CUR) for fd in files)


def unfit(config: pytest.Config) -> list[str]:
    """Say what of pytest's own state, made before the fork, children would share."""
    factory: Any = getattr(config, "_tmp_path_factory", None)
    if factory is not None and factory._basetemp is not None:  # noqa: SLF001
        return ["collection made pytest's base temporary folder"]
    return []


def seed_hypothesis(seed: int) -> None:
    """Do what `--hypothesis-seed` does."""
    core: Any = sys.modules.get("hypothesis.core")
    if core is not None:
        core.global_force_seed = seed
