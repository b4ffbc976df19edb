"""Whether trials can be run and believed here: interpreters, what pytest collects, controls, core files, the folder for records."""

from __future__ import annotations

import os
import platform
import resource
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from triage import __version__
from triage.errors import TriageError, UsageError
from triage.model.arm import BASELINE
from triage.model.checkup import Checkup, Control, Cores, PythonFound, Store, Tests
from triage.model.events import EventSink, Noted, Preparing
from triage.model.invocation import Invocation
from triage.model.project import Collection, Interpreter, Project
from triage.model.trial import Stage
from triage.runner.cold import ColdRunner, Finished, Request
from triage.runner.forks import supported
from triage.session import controls
from triage.session.past import FILE
from triage.store.health import examine
from triage.targets.assembly import assemble
from triage.targets.configuration import configured, find_configuration, find_root
from triage.targets.environment import inherited
from triage.targets.inspection import NoPytestError, ask
from triage.targets.interpreters import Found, distinct, installed, own_interpreter, resolve
from triage.targets.takeover import Taken, quiet, take_over

COLLECTION_LIMIT = 300.0
"""Seconds; a collection that takes longer is taken for a hang."""
CORE_PATTERN = Path("/proc/sys/kernel/core_pattern")
SHOWN_LINES = 40
"""Last lines of pytest's own words that are kept where it could not collect."""
NOTHING = Collection(root="", inifile=None, items=(), plugins=())


def examine_here(python: Sequence[str], sink: EventSink, cwd: Path, environ: Mapping[str, str]) -> Checkup:
    """Look at everything that a trial here depends on. Raises `UsageError` for a `python` that means nothing."""
    root = find_root(cwd) or cwd
    variables = inherited(environ).variables
    sink(Preparing("looking for interpreters"))
    chosen, advice = _chosen(root, variables, python, sink)
    found = _interpreters(root, variables, chosen)
    tests = None
    checked = None
    if chosen:
        with ColdRunner(root, variables) as runner:
            sink(Preparing("collecting"))
            tests, project, problem = _collect(runner, chosen, variables)
            sink(Preparing("running the controls"))
            try:
                checked = controls.run(project, runner)
            except (TriageError, OSError) as error:
                problem = f"the controls could not be run: {error}"
            advice = advice or problem or _of_controls(checked)
    return Checkup(
        fit=not advice,
        advice=advice,
        triage=__version__,
        platform=platform.platform(),
        root=str(root),
        interpreters=found,
        tests=tests,
        controls=_controls(checked),
        unforkable=checked.unforkable if checked else supported(),
        start_seconds=round(checked.seconds, 3) if checked else None,
        cores=cores(),
        store=store(root),
    )


def _chosen(
    root: Path, environ: Mapping[str, str], python: Sequence[str], sink: EventSink
) -> tuple[tuple[Interpreter, ...], str]:
    """Return the interpreters that trials would run in as things are, and what to do where there is none."""
    ready: dict[str, Interpreter] = {}
    try:
        for spec in python:
            try:
                ready[spec] = resolve(spec, root, environ)
            except NoPytestError as error:
                sink(Noted(f"{error.message}: `triage run` makes an environment for it"))
        return distinct([own_interpreter(root, environ, [*ready]), *ready.values()], environ), ""
    except UsageError:
        raise
    except TriageError as error:
        return (), _advice(error)


def _advice(error: TriageError) -> str:
    return f"{error.message}; {error.hint}" if error.hint else error.message


def _of_controls(checked: controls.Controls | None) -> str:
    missed = [one.control for one in checked.cold if one.missed] if checked else []
    if not missed:
        return ""
    return f"the controls missed ({', '.join(dict.fromkeys(missed))}): look for a plugin that changes outcomes, and switch it off"


def _controls(checked: controls.Controls | None) -> tuple[Control, ...]:
    if checked is None:
        return ()
    both = (("cold", checked.cold), ("forked", checked.forked))
    return tuple(
        Control(name=one.control, depth=depth, expected=one.expected, seen=one.seen, missed=one.missed)
        for depth, results in both
        for one in results
    )


def _interpreters(root: Path, environ: Mapping[str, str], chosen: Sequence[Interpreter]) -> tuple[PythonFound, ...]:
    """Return those that are used, then all others that work."""
    used = []
    for number, one in enumerate(chosen):
        answer = ask(one.path, environ, folder=root)
        found = Found(answer=answer, origin=one.origin, problem=answer.why_unfit())
        used.append((found, "comparison" if number else "baseline"))
    identities = {found.answer.identity for found, _ in used}
    others = [(found, None) for found in installed(root, environ) if found.answer.identity not in identities]
    return tuple(
        PythonFound(
            path=found.answer.path,
            version=found.answer.version,
            pytest=found.answer.pytest,
            xdist=found.answer.packages.get("pytest-xdist"),
            origin=found.origin,
            use=use,
            unfit=found.problem.message if found.problem else None,
        )
        for found, use in (*used, *others)
    )


def _collect(
    runner: ColdRunner, chosen: tuple[Interpreter, ...], environ: Mapping[str, str]
) -> tuple[Tests, Project, str]:
    """Return what pytest collects, the project as trials would get it, and why it cannot be run, if it cannot."""
    silent = quiet(configured(find_configuration(runner.root), environ))
    finished = runner.run(
        Request(
            invocation=Invocation(
                root=str(runner.root), python=chosen[0].path, node_ids=(), options=(*silent, "--collect-only", "-q")
            ),
            target=None,
            arm=BASELINE,
            stage=Stage.CONTROL,
            limit=COLLECTION_LIMIT,
            collect=True,
        )
    )
    wire = finished.wire
    collection = (wire.collection() if wire else None) or NOTHING
    taken, problem = Taken(), ""
    try:
        inifile = Path(collection.inifile) if collection.inifile else None
        taken = take_over(collection.plugins, configured(inifile, environ))
    except TriageError as error:
        problem = _advice(error)
    broken = collection is NOTHING or bool(wire and wire.internal_errors)
    errors = collection.errors or ((_said(finished),) if broken else ())
    if errors and not collection.items:
        problem = problem or f"pytest cannot collect this project: see `{finished.trial.command}`"
    tests = Tests(
        collected=len(collection.items),
        errors=errors,
        takeovers=tuple(f"{one.what}: {one.why}" for one in taken.takeovers),
    )
    project = assemble(interpreters=chosen, collection=collection, taken=taken)
    if project.root != str(runner.root):  # pytest may have taken another folder, or none
        project = Project(
            root=str(runner.root),
            interpreters=chosen,
            levels=taken.levels,
            collection=collection,
            options=taken.options,
        )
    return tests, project, problem


def _said(finished: Finished) -> str:
    """Return the end of what pytest printed."""
    trial = finished.trial
    lines = [line for text in (trial.stdout, trial.stderr) for line in text.splitlines()]
    return "\n".join(lines[-SHOWN_LINES:]) or trial.reason or "pytest said nothing"


def cores() -> Cores:
    """Say whether a crash leaves a core file; nothing is crashed to find out."""
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    try:
        pattern = CORE_PATTERN.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return Cores(possible=None, statement="not known on this system", soft_limit=soft, hard_limit=hard)
    if hard == 0:
        possible, said = False, "not possible: the hard limit is 0, and only its owner can raise it (`ulimit -Hc`)"
    elif pattern.startswith("|"):
        program = pattern[1:].split()[0] if pattern[1:].split() else ""
        possible = Path(program).exists()
        said = f"the kernel hands them to `{program}`" + ("" if possible else ", which is not here, so they are lost")
    elif not pattern:
        possible, said = False, "not possible: the kernel has no pattern for them"
    else:
        where = f"as `{pattern}`" if pattern.startswith("/") else f"as `{pattern}` in the folder where a process runs"
        possible, said = True, f"written {where}"
    if possible and soft == 0:
        said += "; off unless a process raises its limit (soft limit 0)"
    return Cores(possible=possible, statement=said, soft_limit=soft, hard_limit=hard, pattern=pattern)


def store(root: Path) -> Store:
    """Say whether records can be kept."""
    history = root / FILE
    folder = history.parent
    place = folder if folder.exists() else root
    try:
        free: int | None = shutil.disk_usage(place).free
    except OSError:
        free = None
    writable = os.access(place, os.W_OK | os.X_OK)
    if not history.exists():
        return Store(folder=str(folder), writable=writable, free_bytes=free, history=str(history), exists=False)
    health = examine(history)
    return Store(
        folder=str(folder),
        writable=writable,
        free_bytes=free,
        history=str(history),
        exists=True,
        version=health.version,
        experiments=health.experiments,
        problem=health.problem,
    )
