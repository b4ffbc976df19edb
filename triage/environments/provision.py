"""An environment for the project, made once and found again: `.triage/envs/py3.12-DIGEST`.

Its name is a digest of what it was made from. Its record is written last, so that a folder without one is a half-made one, and a
lock beside it keeps two processes from making it at once; whoever uses it holds the lock too, so that no other removes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from triage.environments.building import Built, fill
from triage.environments.copying import digest as digest_of_sources
from triage.environments.installer import Installer, InstallError, Job, installers
from triage.errors import UnrunnableError
from triage.model.project import Interpreter
from triage.runner.scratch import scratch_folder
from triage.targets.inspection import Answer, ask, distributions
from triage.targets.requirements import Needs

ENVIRONMENTS = "envs"
"""Below the folder that `triage` owns."""
RECORD = "triage-env.json"
RECIPE = 1
"""To be raised when environments are made in another way: those made before are then not used any more."""
TIME_LIMIT = 900.0
"""Seconds for one environment; compiling a project with its dependencies takes minutes."""
UNUSED = 30 * 86400.0
"""Seconds after which an environment that nobody used is removed when another is made."""

_held: list[int] = []
"""Locks of environments in use; they are given back when the process ends."""


class Record(Struct, kw_only=True):
    """What an environment is, as it is kept in it."""

    recipe: int
    python: str
    """Version."""
    base: str
    """The interpreter that it was made with."""
    built: Built
    packages: dict[str, str]
    """Normalised names and versions."""
    made: float
    """Seconds since 1970."""
    seconds: float
    """How long it took."""


class Provisioned(Struct, frozen=True, kw_only=True):
    """An environment that is ready."""

    interpreter: Interpreter
    record: Record
    fresh: bool
    """Whether it was made just now."""


def provision(
    base: Answer,
    origin: str,
    *,
    root: Path,
    state: Path,
    needs: Needs,
    environ: Mapping[str, str],
    say: Callable[[str], None],
    limit: float = TIME_LIMIT,
) -> Provisioned:
    """Return an environment for the project in `root`, made with the interpreter `base` unless it is there already.

    `state` is the folder that `triage` owns, `say` is told what is being done, `limit` is in seconds. Raises
    `UnrunnableError` that says why it cannot be had: the project does not allow this version, or the installer's reason.
    """
    if not needs.allows(base.version):
        raise UnrunnableError(
            f"the project does not allow Python {base.version} (requires-python `{needs.requires_python}`)",
            hint="name another version with --python",
        )
    folder = state / ENVIRONMENTS
    try:
        folder.mkdir(parents=True, exist_ok=True)
        tools = installers(environ)
        name = f"py{base.short}-{_digest(base, needs, tools)}"
        with _found_or_locked(folder, name, root, environ) as (place, there):
            fresh = there is None
            if fresh:
                say(f"making an environment for Python {base.short}")
            record = there or _made(place, base, root, needs, tools, environ, say, limit)
            interpreter = ask(str(place / "bin" / "python"), environ).interpreter(f"{origin}, provisioned")
        if fresh:
            _prune(folder)
    except OSError as error:
        raise UnrunnableError(
            f"no environment can be made for Python {base.version}: {error.strerror or error}",
            hint=f"see that `{folder}` can be written and has space",
        ) from error
    return Provisioned(interpreter=interpreter, record=record, fresh=fresh)


def _digest(base: Answer, needs: Needs, tools: list[Installer]) -> str:
    contents = [(name, hashlib.sha256(Path(name).read_bytes()).hexdigest()) for name in needs.files]
    what = [
        RECIPE,
        os.path.realpath(base.base_prefix or base.prefix),
        base.version,
        base.implementation,
        base.free_threaded,
        contents,
        [tool.name for tool in tools],
    ]
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:12]


@contextlib.contextmanager
def _found_or_locked(
    folder: Path, name: str, root: Path, environ: Mapping[str, str]
) -> Iterator[tuple[Path, Record | None]]:
    """Find a whole environment, or the place for one with the right to make it; either stays locked for this process.

    One that holds parts of the project as they were is not used for other sources: that is kept apart, not replaced, as
    another process may be using it.
    """
    for candidate in (name, f"{name}-{digest_of_sources(root)}"):
        place = folder / candidate
        lock = _lock(folder / f"{candidate}.lock", fcntl.LOCK_SH)
        record = _whole(place, environ)
        if record is None:
            _change(lock, fcntl.LOCK_EX)
            record = _whole(place, environ)  # another process may have made it meanwhile
        if record is None or record.built.state in {None, digest_of_sources(root)}:
            break
        os.close(lock)
    else:
        raise OSError(f"the sources of `{root}` change all the time")
    try:
        yield place, record
    except BaseException:
        os.close(lock)
        raise
    _change(lock, fcntl.LOCK_SH)
    _held.append(lock)


def _whole(place: Path, environ: Mapping[str, str]) -> Record | None:
    """Return the record of an environment that is whole and still works; None for any other."""
    try:
        record = msgspec.json.decode((place / RECORD).read_bytes(), type=Record)
        answer = ask(str(place / "bin" / "python"), environ)
    except (OSError, msgspec.MsgspecError, UnrunnableError):
        return None
    if record.recipe != RECIPE or answer.version != record.python or answer.why_unfit() is not None:
        return None
    with contextlib.suppress(OSError):
        os.utime(place / RECORD)
    return record


def _made(
    place: Path,
    base: Answer,
    root: Path,
    needs: Needs,
    tools: list[Installer],
    environ: Mapping[str, str],
    say: Callable[[str], None],
    limit: float,
) -> Record:
    """Make the environment, and write its record last."""
    began = time.monotonic()
    log = place.with_name(f"{place.name}.log")
    for number, installer in enumerate(tools, 1):
        shutil.rmtree(place, ignore_errors=True)
        with scratch_folder() as scratch:
            job = Job(root, environ, scratch, limit)
            try:
                built = fill(place, base, root, needs, installer, job, say)
                break
            except InstallError as error:
                shutil.rmtree(place, ignore_errors=True)
                if error.unreachable and number < len(tools):
                    continue  # pip may know of an index that uv does not
                raise UnrunnableError(
                    f"the project cannot be installed for Python {base.version}: {error.message}",
                    error.hint or f"`{log}` has all that the installer said; an environment of your own: --python PATH",
                ) from error
            except BaseException:
                shutil.rmtree(place, ignore_errors=True)
                raise
            finally:
                log.write_text(job.kept_log(), encoding="utf-8")
    python = str(place / "bin" / "python")
    answer = ask(python, environ)
    if problem := answer.why_unfit():
        raise problem
    record = Record(
        recipe=RECIPE,
        python=answer.version,
        base=base.path,
        built=built,
        packages=distributions(python, environ),
        made=time.time(),
        seconds=round(time.monotonic() - began, 1),
    )
    temporary = place / f"{RECORD}.{os.getpid()}"
    temporary.write_bytes(msgspec.json.format(msgspec.json.encode(record)))
    temporary.replace(place / RECORD)
    return record


def _prune(folder: Path) -> None:
    """Remove environments that nobody has used for long, and that nobody uses now."""
    for record in folder.glob(f"*/{RECORD}"):
        with contextlib.suppress(OSError):
            if time.time() - record.stat().st_mtime < UNUSED:
                continue
            lock = os.open(folder / f"{record.parent.name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                record.unlink()
                shutil.rmtree(record.parent, ignore_errors=True)
            finally:
                os.close(lock)


def _lock(path: Path, kind: int) -> int:
    """Open a file and take a lock on it, waiting for whoever has it."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _change(lock, kind)
    except BaseException:
        os.close(lock)
        raise
    return lock


def _change(lock: int, kind: int) -> None:
    with contextlib.suppress(OSError):  # a file system without locks: then two processes may do the same work
        fcntl.flock(lock, kind)
