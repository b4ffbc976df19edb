"""Real processes for the tests of the engine, and a pipe that tells when the last of them has ended."""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from triage.runner.process import ProcessEnd, run_supervised

PATIENCE = 60
"""Seconds after which something that must happen is said not to."""


class Witness:
    """A named pipe: processes open it for writing, and it ends when the last of them is gone, however it went."""

    def __init__(self, path: Path) -> None:
        self.path = path
        os.mkfifo(path)
        self.fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)

    def lines(self, count: int = 1) -> list[str]:
        """Wait for as many lines as processes write."""
        data = b""
        while data.count(b"\n") < count:
            data += self._read()
        return data.decode().splitlines()

    def wait_for_end(self) -> None:
        """Wait until no process holds the pipe; one must have opened it before."""
        while self._read():
            pass

    def _read(self) -> bytes:
        assert select.select([self.fd], [], [], PATIENCE)[0], "a process is still alive"
        return os.read(self.fd, 4096)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A short-named folder that also stands for the system's folder for temporary files."""
    path = Path(tempfile.mkdtemp(prefix="t"))
    (path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(path / "tmp"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def witness(folder: Path) -> Iterator[Witness]:
    pipe = Witness(folder / "witness")
    yield pipe
    os.close(pipe.fd)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """SIGINT as in a terminal; workers of xdist ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def supervise(folder: Path) -> Callable[..., ProcessEnd]:
    """Run a piece of Python under a supervisor; `w` is the path of the witness in it."""

    def run(
        code: str,
        *,
        limit: float = PATIENCE,
        grace: float = 1.0,
        linger: float = 0.0,
        env: dict[str, str] | None = None,
        argv: Sequence[str] | None = None,
        cwd: Path | None = None,
        cancelled: int | None = None,
    ) -> ProcessEnd:
        script = folder / "target.py"
        script.write_text(f"w = {str(folder / 'witness')!r}\n{code}")
        return run_supervised(
            argv or [sys.executable, "-I", "-S", str(script)],
            cwd=cwd or folder,
            environment={"PATH": os.environ["PATH"]} if env is None else env,
            limit=limit,
            log_file=folder / "log",
            cancelled=cancelled,
            grace=grace,
            linger=linger,
        )

    return run
