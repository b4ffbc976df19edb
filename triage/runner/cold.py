"""The cold engine: one trial is one pytest process tree of its own, from a fresh interpreter to its last process."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import time
import weakref
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from triage.model.arm import Arm
from triage.model.invocation import Invocation, join_path
from triage.model.outcome import Outcome
from triage.model.trial import Stage, Trial
from triage.runner.closing import Closing
from triage.runner.installation import OWN_FOLDER, PROBE_PLUGIN, install
from triage.runner.outcome import Judgement, judge
from triage.runner.process import ProcessEnd, run_supervised
from triage.runner.scratch import Scratch, check_room, end_strays, remove, scratch_folder, sweep
from triage.runner.wire import VERSION, Wire, WireError, read_wire
from triage.runner.workers import Recorded, judge_workers, numbered, ungrouped
from triage.targets.configuration import CONFIG_FILES

FIELD_LIMIT = 20_000
"""Longest text of one field on the wire, in characters."""
CRASH_BYTES = 1 << 20
"""Most that is read of a crash file: 100 threads with 100 frames each."""
NO_CACHE = "no:cacheprovider"
WARM = ("unicode_data", "constants")
"""Folders of hypothesis' storage that are pure caches: building them takes up to seconds within the first test."""


class Request(Struct, frozen=True, kw_only=True):
    """One trial to be run."""

    invocation: Invocation
    target: str | None
    """The node id that the outcome is about; None for a session as a whole (a collection)."""
    arm: Arm
    stage: Stage
    limit: float
    """Seconds."""
    probed: bool = True
    collect: bool = False
    facts: bool = False
    reach: bool = False
    """Record what reaches beyond this process, as `facts` does, and nothing else."""
    repeat: int = 1
    """How often the target executes in the process if every execution passes."""
    memory: int | None = None
    """Limit of the process' address space, in bytes; what a test does at it is tool-made and says nothing."""


class Finished(Struct, frozen=True, kw_only=True):
    """A trial with all that came with it."""

    trial: Trial
    wire: Wire | None = None
    """What the probe recorded; None without a probe, or if it cannot be read."""
    end: ProcessEnd
    """How its process ended, uninterpreted."""
    leftovers: tuple[str, ...] = ()
    """Names of the processes that the trial left behind, which were ended."""


class ColdRunner(Closing):
    """Runs trials of one project, each in a process tree of its own; may be used from several threads.

    `root` is the project's root folder, `base_environment` the environment as it was when `triage` started, `workdir`
    where the probe and bytecode are kept (`.triage` below the root). A context manager: `close` gives back what it holds.
    """

    def __init__(self, root: Path, base_environment: Mapping[str, str], workdir: Path | None = None) -> None:
        self.root = root.absolute()
        self.base = dict(base_environment)
        sweep()
        check_room()
        self.installation = install(self.root, (workdir or self.root / OWN_FOLDER).absolute())
        self.cancelled, self._cancel = os.pipe()
        os.set_blocking(self._cancel, False)
        self._close = weakref.finalize(self, release, self.cancelled, self._cancel, self.installation.borrowed)

    @property
    def state(self) -> Path:
        """The folder that `triage` owns: `.triage` below the root, or what stands in for it."""
        return self.installation.plugins.parent

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about how trials are run here."""
        return self.installation.notes

    def cancel(self) -> None:
        """End the running trials at once, and every later one: `run` raises CancelledError. For signal handlers."""
        with contextlib.suppress(OSError):
            os.write(self._cancel, b"x")

    def close(self) -> None:
        """Give back descriptors and borrowed folders; no trial may be running."""
        self._close()

    def run(self, request: Request) -> Finished:
        """Run one trial to the end of its last process.

        Raises CancelledError after `cancel`, and passes on KeyboardInterrupt; in both cases nothing is left running. What
        the system refuses (a full disk, no more processes) makes a broken trial.
        """
        started = time.time()
        try:
            return self._run(request, started)
        except OSError as error:
            end = ProcessEnd(error=f"no trial can be started: {refused(error)}")
            command = request.invocation.command(self.base)
            trial = make_trial(request, end, None, judge(None, end, target=None), started=started, command=command)
            return Finished(trial=trial, end=end)

    def _run(self, request: Request, started: float) -> Finished:
        with scratch_folder() as scratch:
            environment = self.environment(request, scratch)
            end = run_supervised(
                request.invocation.argv,
                cwd=Path(request.invocation.root),
                environment=environment,
                limit=request.limit,
                log_file=scratch.log,
                cancelled=self.cancelled,
                memory=request.memory,
                workers=scratch.wire,
            )
            strays = end_strays(scratch.temporary) if end.error is not None else ()
            wire, verdict = read(request, scratch, end)
        return Finished(
            trial=make_trial(
                request, end, wire, verdict, started=started, command=request.invocation.command(self.base)
            ),
            wire=wire,
            end=end,
            leftovers=end.leftovers + end.stuck + strays,
        )

    def environment(self, request: Request, scratch: Scratch, serve: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment of a trial; writes the plan that tells the probe what to put back, and where to serve."""
        invocation = request.invocation
        plugins = str(self.installation.plugins)
        result = invocation.environment(self.base)
        visible = self.base.get("PYTHONPATH") if invocation.levels else result.get("PYTHONPATH")
        if invocation.levels:
            result["PYTHONPATH"] = join_path(plugins, visible)
        result["TMPDIR"] = str(scratch.temporary)
        if "PYTHONDONTWRITEBYTECODE" not in result:  # with it, nothing would ever be found at the new place
            result.setdefault("PYTHONPYCACHEPREFIX", str(self.installation.bytecode))
        if not request.probed:
            self.move_caches(invocation, result, scratch)
            return result
        put_back = {"PYTHONPATH": visible, "PYTEST_PLUGINS": result.get("PYTEST_PLUGINS")}
        scratch.plan.write_text(json.dumps(plan(request, scratch, put_back, serve)), encoding="ascii")
        result["TRIAGE_PROBE"] = str(scratch.plan)
        result["PYTEST_PLUGINS"] = ",".join(filter(None, (result.get("PYTEST_PLUGINS"), PROBE_PLUGIN)))
        result["PYTHONPATH"] = join_path(str(self.installation.probe), result.get("PYTHONPATH"))
        return result

    def move_caches(self, invocation: Invocation, environment: dict[str, str], scratch: Scratch) -> None:
        """Without a probe: keep pytest's cache and hypothesis' database per trial and out of the project."""
        given = environment.get("PYTEST_ADDOPTS", "")
        if not (NO_CACHE in " ".join((given, *invocation.options)) or self.cache_is_configured_off()):
            option = f"-o cache_dir={shlex.quote(str(scratch.cache / 'pytest'))}"
            environment["PYTEST_ADDOPTS"] = f"{given} {option}".lstrip()
        if "HYPOTHESIS_STORAGE_DIRECTORY" not in environment:
            home = scratch.cache / "hypothesis"
            for name in WARM:
                with contextlib.suppress(OSError):
                    shutil.copytree(Path(invocation.root, ".hypothesis", name), home / name)
            environment["HYPOTHESIS_STORAGE_DIRECTORY"] = str(home)

    def cache_is_configured_off(self) -> bool:
        """Whether a configuration file of the root turns pytest's cache off; its option is then unknown to pytest."""
        for name in CONFIG_FILES:
            with contextlib.suppress(OSError):
                if NO_CACHE in self.root.joinpath(name).read_text(encoding="utf-8", errors="replace"):
                    return True
        return False


def refused(error: OSError) -> str:
    """Say what the system refused, and where."""
    why = (error.strerror or str(error)).lower()
    return f"{why}: `{error.filename}`" if error.filename else why


def release(cancelled: int, cancel: int, borrowed: Path | None) -> None:
    """Give back what a runner holds."""
    os.close(cancelled)
    os.close(cancel)
    if borrowed is not None:
        remove(borrowed)


def plan(
    request: Request, scratch: Scratch, put_back: dict[str, str | None], serve: Mapping[str, str] | None
) -> dict[str, object]:
    """Return what the probe is told (docs/wire.md)."""
    return {
        "v": VERSION,
        "wire": str(scratch.wire),
        "crash": str(scratch.crash),
        "env": put_back,
        "cache": str(scratch.cache),
        "collect": request.collect,
        "facts": request.facts,
        "reach": request.reach,
        "text_limit": FIELD_LIMIT,
        **({"serve": dict(serve)} if serve else {}),
    }


def read(request: Request, scratch: Scratch, end: ProcessEnd) -> tuple[Wire | None, Judgement]:
    """Read what a trial left in its folder and judge it."""
    marks = [scratch.lost, *scratch.folder.glob(f"{scratch.lost.name}.*")]
    reason = next(filter(None, map(read_lost, marks)), None)
    return interpret(request, end, read_all(scratch.wire), read_crash(scratch.crash), scratch, lost=reason)


def interpret(
    request: Request,
    end: ProcessEnd,
    recorded: bytes,
    crash: str,
    scratch: Scratch | None = None,
    *,
    lost: str | None = None,
) -> tuple[Wire | None, Judgement]:
    """Judge a trial by its end, by what the probe `recorded`, and by what `faulthandler` wrote.

    `scratch` is where workers of xdist, if there are any, have left their own records; `lost` is why the probe could not write
    all that it saw.
    """
    wire = None
    if not request.probed:
        verdict = judge(None, end, target=request.target)
    else:
        try:
            wire = read_wire(recorded)
            grouped = "loadgroup" in request.invocation.options
            workers = read_workers(scratch, wire, grouped=grouped) if scratch is not None else ()
        except WireError as error:
            reason = str(error) if lost is None else unwritten(lost)
            return None, Judgement(outcome=Outcome.BROKEN, reason=reason)
        reached = (event for worker in workers for event in worker.wire.reached)
        wire = replace(wire, reached=(*wire.reached, *reached))
        if workers and end.error is None:
            verdict = judge_workers(wire, end, workers, target=request.target, crash=crash)
        else:
            verdict = judge(wire, end, target=request.target, repeat=request.repeat, crash=crash)
        if lost is not None:
            verdict = incomplete(verdict, lost)
    return wire, verdict if request.memory is None else tool_made(verdict, request.memory)


def read_lost(path: Path) -> str | None:
    """Return what the mark of a record with a gap says; None if there is no gap."""
    try:
        return str(path.readlink())
    except OSError:
        return None


def incomplete(verdict: Judgement, why: str) -> Judgement:
    """Take back what was concluded from the silence of a probe that could not write; what it did write stands."""
    by_signal = verdict.outcome is Outcome.CRASHED and verdict.signal is not None
    if by_signal or verdict.outcome in {Outcome.FAILED, Outcome.ERROR, Outcome.HUNG, Outcome.KILLED, Outcome.BROKEN}:
        return verdict
    return Judgement(outcome=Outcome.BROKEN, reason=unwritten(why), signal=verdict.signal, sequence=verdict.sequence)


def unwritten(why: str) -> str:
    """Say that a record has a gap."""
    return f"the probe could not write all that it saw: {why[:1].lower()}{why[1:]}"


def read_crash(path: Path) -> str:
    """Return what `faulthandler` wrote, its end if that is long."""
    return read_end(path, CRASH_BYTES).decode("utf-8", "replace")


def read_workers(scratch: Scratch, controller: Wire, *, grouped: bool = False) -> tuple[Recorded, ...]:
    """Read what each worker of xdist left, in their order; those that never loaded the probe have left nothing.

    `grouped` says that xdist has put the tests' groups into their node ids.
    """
    ends = {end.id: end for end in controller.workers}
    found = []
    for path in sorted(scratch.folder.glob(f"{scratch.wire.name}.*"), key=numbered):
        wire = read_wire(read_all(path))
        wire = ungrouped(wire) if grouped else wire
        if wire.hello is not None and wire.hello.worker is not None:
            crash = read_crash(scratch.crash.with_suffix(path.suffix))
            found.append(Recorded(id=wire.hello.worker, wire=wire, crash=crash, end=ends.get(wire.hello.worker)))
    return tuple(found)


def read_all(path: Path) -> bytes:
    """Read a file that may be missing."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def read_end(path: Path, count: int) -> bytes:
    """Read at most the last `count` bytes of a file that may be missing."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - count))
            return file.read(count)
    except OSError:
        return b""


def tool_made(verdict: Judgement, limit: int) -> Judgement:
    """Take a failure for want of memory, under a limit of ours, for what it is: made by the instrument."""
    kind = (verdict.failure.exception or "") if verdict.failure else ""
    if not (verdict.outcome in {Outcome.CRASHED, Outcome.KILLED} or kind.rpartition(".")[2] == "MemoryError"):
        return verdict
    reason = f"tool-made: it ended under our own memory limit of {limit >> 20} MiB ({verdict.reason or kind})"
    return Judgement(outcome=Outcome.BROKEN, reason=reason, signal=verdict.signal, sequence=verdict.sequence)


def make_trial(
    request: Request, end: ProcessEnd, wire: Wire | None, verdict: Judgement, *, started: float, command: str
) -> Trial:
    """Put everything together that is kept of a trial."""
    return Trial(
        arm=request.arm,
        stage=request.stage,
        outcome=verdict.outcome,
        index=verdict.index,
        reason=verdict.reason,
        failure=verdict.failure,
        exit_status=end.exit_status,
        signal=verdict.signal,
        wall_seconds=end.wall,
        cpu_seconds=end.cpu,
        test_seconds=verdict.test_seconds,
        max_rss_kib=end.max_rss_kib,
        sequence=verdict.sequence,
        workers=verdict.workers,
        leftovers=len(end.leftovers) + len(end.stuck),
        stdout=end.stdout,
        stderr=end.stderr,
        command=command,
        python=wire.hello.python if wire is not None and wire.hello is not None else "",
        probed=request.probed,
        started=started,
        reruns=verdict.reruns,
    )
