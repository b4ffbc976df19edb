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
from typing import Any

import pytest

from triage.model.arm import BASELINE
from triage.model.invocation import Invocation
from triage.model.trial import Stage
from triage.runner.cold import ColdRunner, Finished, Request
from triage.runner.forks import ForkPool, ForkServer, UnforkableError
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


class Forks:
    """A project whose tests run in forked trials; they tell by `from seeing import see`."""

    def __init__(self, root: Path, pool: ForkPool, find: Callable[[str], Path]) -> None:
        self.root = root
        self.pool = pool
        self.find = find
        self.env = "py3.11-pytest9"
        self.options: tuple[str, ...] = ()
        self.write("pytest.ini", "[pytest]\n")
        self.write("seeing.py", "def see(*x):\n    with open('seen', 'a') as file: print(*x, file=file)\n")

    def write(self, name: str, code: str) -> None:
        (self.root / name).parent.mkdir(exist_ok=True)
        (self.root / name).write_text(code)

    def seen(self) -> list[str]:
        """Return what was told since the last call."""
        path = self.root / "seen"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines

    def request(
        self,
        target: str,
        *,
        ids: tuple[str, ...] = (),
        options: tuple[str, ...] = (),
        levels: tuple[str, ...] = (),
        env: tuple[tuple[str, str], ...] = (),
        limit: float = PATIENCE,
        **more: Any,
    ) -> Request:
        invocation = Invocation(
            root=str(self.root),
            python=str(self.find(self.env)),
            node_ids=ids or (target,),
            options=(*self.options, *options),
            levels=levels,
            env=env,
        )
        more = {"arm": BASELINE, "stage": Stage.SCREEN} | more
        return Request(invocation=invocation, target=target, limit=limit, **more)

    def run(self, target: str, *, around: tuple[str, ...] = (), generation: int = 0, **more: Any) -> Finished:
        return self.pool.run(self.request(target, **more), around, generation)[0]

    def cold(self, target: str, **more: Any) -> Finished:
        return self.pool.runner.run(self.request(target, **more))

    def refusal(self, target: str, **more: Any) -> str:
        """Return why a trial cannot be forked."""
        with pytest.raises(UnforkableError) as caught:
            self.run(target, **more)
        return caught.value.message

    @property
    def server(self) -> ForkServer:
        """The server that was used last."""
        return list(self.pool._servers.values())[-1]


@pytest.fixture(scope="session")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bytecode")


@pytest.fixture
def forks(folder: Path, bytecode: Path, env_python: Callable[[str], Path]) -> Iterator[Forks]:
    """Forked trials of a new project; pytest itself is compiled once and not for every test."""
    root = folder / "project"
    root.mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPYCACHEPREFIX": str(bytecode),
    }
    with ColdRunner(root, environment) as runner, ForkPool(runner) as pool:
        yield Forks(root, pool, env_python)


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
