"""Folders that trials share one after the other: what each of them left there is taken back before the next."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from triage.runner.scratch import remove

Signature = tuple[int, int, int]


class Snapshot:
    """What a folder held at one moment, to be put back however a test left it. Held in memory."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._modes = {self._folder: folder.lstat().st_mode}
        self._files: dict[str, tuple[Signature, int, bytes]] = {}
        for path in folder.rglob("*"):  # a folder comes before what is in it
            status = path.lstat()
            if stat.S_ISDIR(status.st_mode):
                self._modes[str(path)] = status.st_mode
            elif stat.S_ISREG(status.st_mode):
                self._files[str(path)] = signature(status), status.st_mode, path.read_bytes()

    def put_back(self) -> None:
        """Remove what is new, and make anew what was changed or removed. Raises OSError if that cannot be done."""
        met = {self._folder}
        self._visit(self._folder, met)
        if len(met) == len(self._modes) + len(self._files):
            return
        for name, mode in self._modes.items():
            if name not in met:
                Path(name).mkdir()
                Path(name).chmod(stat.S_IMODE(mode))
        for name, (_, mode, content) in self._files.items():
            if name not in met:
                path = Path(name)
                path.write_bytes(content)
                path.chmod(stat.S_IMODE(mode))
                self._files[name] = signature(path.lstat()), mode, content

    def _visit(self, folder: str, met: set[str]) -> None:
        self._check(folder)
        with os.scandir(folder) as entries:
            for entry in entries:
                name = entry.path
                if name in self._modes and entry.is_dir(follow_symlinks=False):
                    met.add(name)
                    self._visit(name, met)
                elif name in self._files and signature(entry.stat(follow_symlinks=False)) == self._files[name][0]:
                    met.add(name)
                else:
                    discard(name)

    def _check(self, folder: str) -> None:
        """See to it that a folder is there, is one, and has its permissions."""
        path = Path(folder)
        try:
            mode = path.lstat().st_mode
        except FileNotFoundError:
            mode = 0
        if mode != self._modes[folder]:
            if not stat.S_ISDIR(mode):
                discard(folder)
                path.mkdir()
            path.chmod(stat.S_IMODE(self._modes[folder]))


def signature(status: os.stat_result) -> Signature:
    """Return what differs once a file was replaced, written to, or given other permissions."""
    return status.st_ino, status.st_ctime_ns, status.st_size


def discard(name: str) -> None:
    """Remove a file or a folder, whatever it is. Raises OSError."""
    path = Path(name)
    if path.is_dir() and not path.is_symlink():
        remove(path)
        if path.exists():
            raise OSError(f"{name} cannot be removed")
    else:
        path.unlink(missing_ok=True)
