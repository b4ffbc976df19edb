"""A folder for each trial, short-named (sockets' paths are limited to 108 bytes), gone when the trial is.

Its name carries the id and start time of the `triage` process that made it, and that process holds a lock on it; so a
later one can tell which folders were left by a process that was killed, also where process ids mean something
else (a container that shares the folder for temporary files).
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import re
import shutil
import signal
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from triage.errors import UnrunnableError

NAME = re.compile(r"^tri-(?P<pid>[0-9a-f]+)-(?P<start>[0-9a-f]+)-[0-9a-f]+$")
LOST = "lost-"
LEAST_ROOM = 1 << 20
"""Bytes that must be free for temporary files: a trial's own are some ten thousand."""
PROC = Path("/proc")
numbers = itertools.count(1)


class Scratch(Struct, frozen=True):
    """The places of one trial."""

    folder: Path

    @property
    def temporary(self) -> Path:
        """TMPDIR of the trial."""
        return self.folder / "t"

    @property
    def cache(self) -> Path:
        """For pytest's cache and hypothesis' database."""
        return self.folder / "cache"

    @property
    def plan(self) -> Path:
        """What the probe is told."""
        return self.folder / "plan.json"

    @property
    def wire(self) -> Path:
        """What the probe tells."""
        return self.folder / "wire"

    @property
    def lost(self) -> Path:
        """A link that the probe makes where it could not write all that it saw; it leads to the reason."""
        return self.folder / f"{LOST}{self.wire.name}"

    @property
    def crash(self) -> Path:
        """What `faulthandler` writes."""
        return self.folder / "crash"

    @property
    def log(self) -> Path:
        """Standard error of the supervisor."""
        return self.folder / "log"


@contextlib.contextmanager
def scratch_folder(parent: Path | None = None) -> Iterator[Scratch]:
    """Make a trial's folder below `parent` (the system's folder for temporary files), and remove it afterwards."""
    folder = new_folder(parent)
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        scratch = Scratch(folder)
        scratch.temporary.mkdir()
        scratch.cache.mkdir()
        yield scratch
    finally:
        os.close(lock)
        remove(folder)


def new_folder(parent: Path | None = None) -> Path:
    """Make a folder that only this user can enter and that bears this process' name."""
    base = parent or Path(tempfile.gettempdir())
    pid = os.getpid()
    while True:
        folder = base / f"tri-{pid:x}-{start_time(pid) or 0:x}-{next(numbers):x}"
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            continue
        return folder


def check_room() -> None:
    """Raise `UnrunnableError` where temporary files have no place."""
    hint = "free space there, or set TMPDIR to a folder that has some"
    try:
        folder = tempfile.gettempdir()
    except FileNotFoundError:
        raise UnrunnableError("no folder for temporary files can be written", hint=hint) from None
    named = {os.environ.get(name) for name in ("TMPDIR", "TEMP", "TMP")}
    if folder == str(Path.cwd()) and folder not in named:  # Python's last resort, which is the user's
        raise UnrunnableError("no folder for temporary files can be written", hint=hint)
    system = os.statvfs(folder)
    free = system.f_bavail * system.f_frsize
    if system.f_blocks and free < LEAST_ROOM:
        raise UnrunnableError(f"no room for trials: only {free >> 10} KiB are free in `{folder}`", hint=hint)


def start_time(pid: int) -> int | None:
    """Return when a process started, in the kernel's clock ticks since boot; None if there is no such process.

    Without /proc, 0 stands for any living process.
    """
    if not PROC.joinpath("self").exists():
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return None
        except PermissionError:
            pass
        return 0
    try:
        return int(PROC.joinpath(str(pid), "stat").read_bytes().rpartition(b")")[2].split()[19])
    except OSError:
        return None


def remove(folder: Path) -> None:
    """Remove a folder, also where a test took away its own permissions; what resists stays for the next sweep."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        for path, _folders, _files in os.walk(folder):
            with contextlib.suppress(OSError):
                for entry in os.scandir(path):
                    if entry.is_dir(follow_symlinks=False):
                        Path(entry.path).chmod(stat.S_IRWXU)
        shutil.rmtree(folder, ignore_errors=True)


def sweep(parent: Path | None = None) -> int:
    """Remove the folders that dead `triage` processes left, with any process that still uses one; returns how many."""
    base = parent or Path(tempfile.gettempdir())
    stale = [entry for entry in base.glob("tri-*") if is_stale(entry)]
    for folder in stale:
        end_strays(Scratch(folder).temporary)
        remove(folder)
    return len(stale)


def is_stale(folder: Path) -> bool:
    """Whether a folder is one of ours, its process is dead, and nobody holds its lock."""
    match = NAME.match(folder.name)
    if match is None or start_time(int(match["pid"], 16)) == int(match["start"], 16):
        return False
    try:
        if folder.is_symlink() or folder.stat().st_uid != os.getuid():
            return False
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    finally:
        os.close(lock)
    return True


def end_strays(temporary: Path) -> tuple[str, ...]:
    """Kill every process that has a trial's TMPDIR in its environment; returns their names.

    For trials whose supervisor was itself killed; Linux only.
    """
    mark = b"TMPDIR=" + os.fsencode(temporary)
    ended: dict[int, str] = {}
    for _ in range(100):
        found = {pid: name for pid, name in marked(mark) if pid not in ended}
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        ended.update(found)
        if not found:
            break
    return tuple(ended[pid] for pid in sorted(ended))


def marked(mark: bytes) -> Iterator[tuple[int, str]]:
    """Find the processes whose environment has a setting, as far as we may look."""
    for entry in PROC.glob("[0-9]*"):
        try:
            if mark in entry.joinpath("environ").read_bytes().split(b"\0") and int(entry.name) != os.getpid():
                yield int(entry.name), entry.joinpath("comm").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue
