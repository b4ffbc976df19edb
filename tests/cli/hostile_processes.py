"""What the tests of hostile input share: processes that bear a mark, an ordinary user, a disk that is small."""

import ctypes
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

MARK = "TRIAGE_HOSTILE_TEST"
GONE_WITHIN = 2.0
"""Seconds after which nothing of a trial may be alive."""
NOBODY = 65534
ORDINARY = """
import ctypes, os, struct, sys
NOBODY, READ_ALL, KEEP, AMBIENT, RAISE = 65534, 2, 8, 47, 2
libc = ctypes.CDLL(None, use_errno=True)
def must(result):
    if result != 0:
        sys.exit(99)
os.setgroups([])
must(libc.prctl(KEEP, 1, 0, 0, 0))
os.setresgid(NOBODY, NOBODY, NOBODY)
os.setresuid(NOBODY, NOBODY, NOBODY)
bit = 1 << READ_ALL
must(libc.capset(struct.pack("Ii", 0x20080522, 0), struct.pack("6I", bit, bit, bit, 0, 0, 0)))
must(libc.prctl(AMBIENT, RAISE, READ_ALL, 0, 0))
os.execv(sys.argv[1], sys.argv[1:])
"""
"""Becomes a user who may write nothing of ours, and may read the interpreter wherever it lies."""


def marked(mark):
    """Return the processes that have inherited a mark, with their command lines."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes().split(b"\0"):
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
    return found


def left_after(mark, seconds=GONE_WITHIN):
    """Return what is alive of a mark's processes when none should be; waits for their end, at most so long."""
    deadline = time.monotonic() + seconds
    while (found := marked(mark)) and time.monotonic() < deadline:
        pid = next(iter(found))
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            import select

            select.select([fd], [], [], max(0.0, deadline - time.monotonic()))
        finally:
            os.close(fd)
    return found


def as_ordinary_user(words):
    """Return a command that runs another one as an ordinary user."""
    return words if os.getuid() else [sys.executable, "-I", "-S", "-c", ORDINARY, *words]


class SmallDisk:
    """A file system of its own with little room."""

    def __init__(self, path):
        self.path = path

    def fill(self, leave=0):
        """Leave so many bytes free."""
        free = os.statvfs(self.path)
        (self.path / "filler").write_bytes(b"\0" * max(0, free.f_bavail * free.f_frsize - leave))

    def clear(self):
        """Make room."""
        (self.path / "filler").unlink(missing_ok=True)


@pytest.fixture
def small_disk(tmp_path):
    """A tmpfs of 3 MB; a visible skip where this user may not mount one."""
    path = tmp_path / "disk"
    path.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"tmpfs", os.fsencode(path), b"tmpfs", 0, b"size=3m") != 0:
        pytest.skip(f"no small disk can be mounted here: {os.strerror(ctypes.get_errno())}")
    yield SmallDisk(path)
    assert libc.umount2(os.fsencode(path), 2) == 0


def run(words, **options):
    """Run a command and return it with its output."""
    return subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False, **options
    )
