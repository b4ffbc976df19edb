"""Before any experiment: the environment, the interpreters, what pytest collects, what is taken over, the scope."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from triage.errors import NothingSelectedError, UnrunnableError
from triage.model.arm import BASELINE
from triage.model.events import EventSink, Noted, Preparing
from triage.model.invocation import LEVELS_PLUGIN, Invocation
from triage.model.project import Collection, Interpreter, Item, Project
from triage.model.trial import Stage
from triage.runner.cold import ColdRunner, Request
from triage.runner.installation import PROBE_PLUGIN
from triage.session.interpreting import Readier
from triage.session.options import RunOptions
from triage.session.selection import arguments_of, despite, refuse_expression, selected
from triage.session.steadiness import Collect, Stopwatch, explained, look
from triage.targets import ci, nodeids
from triage.targets.assembly import assemble, targets
from triage.targets.configuration import configured, find_configuration
from triage.targets.environment import Inherited, inherited
from triage.targets.split import starts_of
from triage.targets.takeover import Taken, quiet, take_over

COLLECTION_LIMIT = 600.0
"""Seconds; a collection that takes longer is taken for a hang."""
EXCEPTION = re.compile(r"E\s+(\w*(?:Error|Exception|Warning|Exit|Interrupt|Failed)\b.*)")
REFUSED = re.compile(r".*error: (unrecognized arguments.*|argument .*)")
ERROR = re.compile(r"(?:ERROR|E)[:\s]\s*((?!usage:).+)")
COLLECT = ("--collect-only", "-q")


class Prepared(Struct, frozen=True, kw_only=True):
    """A project that is ready for trials."""

    project: Project
    targets: tuple[Item, ...]
    environment: Inherited
    installing: float = 0.0
    """Seconds that went into making environments, which no budget pays for."""


def prepare(options: RunOptions, cwd: Path, environ: Mapping[str, str], sink: EventSink) -> tuple[Prepared, ColdRunner]:
    """Find out what the arguments stand for and how it runs.

    Raises `UsageError`, `NothingSelectedError` or `UnrunnableError`.
    """
    environment = inherited(environ)
    request = nodeids.parse(options.node_ids, cwd)
    root = Path(request.root)
    _refuse_namesakes(root)
    sink(Preparing("looking for interpreters"))
    runner = ColdRunner(root, environment.variables)
    try:
        readied = Readier(root, runner.state, environment.variables, options.provision, sink).ready(options.python)
        interpreters = readied.interpreters
        collector = _Collector(runner, interpreters[0], options)
        sink(Preparing("collecting"))
        arguments = arguments_of(request, options.selection)
        files = tuple(dict.fromkeys(argument.file for argument in request.arguments))
        marked = options.selection.options if options.selection else ()
        expected = configured(find_configuration(root), environment.variables, options.pytest_args)
        collection = collector.collect(arguments, Taken(options=quiet(expected)), files, marked)
        inifile = Path(collection.inifile) if collection.inifile else None
        settings = configured(inifile, environment.variables, options.pytest_args)
        taken = take_over(collection.plugins, settings)
        if taken.recollect:
            collection = collector.collect(arguments, taken, files, marked)
        wanted = options.selection
        if wanted is None:
            ids = [argument.node_id for argument in request.arguments]
            try:
                chosen = targets(request, collection)
            except NothingSelectedError as error:
                raise explained(error, ids, collector.seeded(taken), lambda found: targets(request, found)) from error
        else:
            chosen = selected(wanted, request, collection)
        sink(Preparing("collecting the scope"))
        with Stopwatch() as watch:
            scope, scope_arguments = collector.scope(_scope_argument(options, cwd), taken, sink)
        changing = None
        if environment.hash_seed is None:  # else all runs of the user's have the same
            changing = look(scope or collection.items, collector.seeded(taken), watch.seconds, options.budget)
        seeds = ci.seeded(collection.plugins, settings)
        ordered = ci.starts(seeds, taken, lambda other: collector.collect(scope_arguments or (), other))
    except BaseException:
        runner.close()
        raise
    for one in changing or ():
        sink(Noted(f"not the same in every process: {one.statement}"))
    project = assemble(
        interpreters=interpreters,
        collection=collection,
        scope=scope,
        options=(*options.pytest_args, *despite(options.selection, settings)),
        taken=taken,
        notes=environment.takeovers,
    )
    starts = (*project.starts, *ordered, *starts_of(settings))
    project = replace(project, scope_arguments=scope_arguments, unsteady=changing or (), starts=starts)
    prepared = Prepared(project=project, targets=chosen, environment=environment, installing=readied.seconds)
    return prepared, runner


class _Collector:
    def __init__(self, runner: ColdRunner, interpreter: Interpreter, options: RunOptions) -> None:
        self.runner = runner
        self.interpreter = interpreter
        self.options = options

    def collect(
        self,
        node_ids: tuple[str, ...],
        taken: Taken,
        fallback: tuple[str, ...] = (),
        marked: tuple[str, ...] = (),
        hash_seed: str | None = None,
    ) -> Collection:
        """Let pytest collect `node_ids`; where it knows none of them, `fallback`, so that close names can be offered."""
        finished = self.runner.run(
            Request(
                invocation=Invocation(
                    root=str(self.runner.root),
                    python=self.interpreter.path,
                    node_ids=node_ids,
                    options=(*self.options.pytest_args, *taken.options, *marked, *COLLECT),
                    levels=taken.levels,
                    env=() if hash_seed is None else (("PYTHONHASHSEED", hash_seed),),
                ),
                target=None,
                arm=BASELINE,
                stage=Stage.CONTROL,
                limit=COLLECTION_LIMIT,
                collect=True,
            )
        )
        collection = finished.wire.collection() if finished.wire else None
        trial = finished.trial
        if collection is None or trial.signal or finished.wire is None or finished.wire.internal_errors:
            raise UnrunnableError(
                f"pytest could not collect: {_why(trial.reason, trial.stderr, trial.stdout)}", _hint(trial.command)
            )
        if trial.exit_status == 4 and marked:
            refuse_expression(trial.stderr)
        if trial.exit_status == 4 and not collection.items and not collection.errors and fallback != node_ids:
            return self.collect(fallback, taken, marked=marked) if fallback else collection
        if trial.exit_status == 4:  # also with items: a setting that `--strict-config` does not know
            raise UnrunnableError(
                f"pytest could not collect: {(why := _why(None, trial.stderr, trial.stdout))}",
                _hint(trial.command, why),
            )
        return collection

    def seeded(self, taken: Taken) -> Collect:
        """Return what collects under a hash seed."""
        return lambda node_ids, seed: self.collect(node_ids, taken, hash_seed=seed)

    def scope(
        self, argument: str | None, taken: Taken, sink: EventSink
    ) -> tuple[tuple[Item, ...], tuple[str, ...] | None]:
        """Return the tests that may run around a target, and the arguments that stand for them, if any do.

        None if the whole cannot be collected: then those of the target's own file are all there are.
        """
        try:
            found = self.collect((argument,) if argument else (), taken)
        except UnrunnableError as error:
            if argument:
                raise
            sink(
                Noted(
                    f"the whole project cannot be collected, so `order` is limited to the target's arguments ({error})"
                )
            )
            return (), None
        if found.errors:
            sink(
                Noted(
                    f"{len(found.errors)} of the scope's files cannot be collected; their tests are left out of `order`"
                )
            )
            return found.items, None
        return found.items, (argument,) if argument else ()


def _refuse_namesakes(root: Path) -> None:
    """Refuse a project whose modules would be imported in place of what `triage` puts beside them."""
    for name in (LEVELS_PLUGIN, PROBE_PLUGIN):
        if (root / name).is_dir() or (root / f"{name}.py").is_file():
            raise UnrunnableError(
                f"the project has a module `{name}` of its own, which hides the one that trials need",
                hint="rename it, or run `triage` on a copy without it",
            )


def _scope_argument(options: RunOptions, cwd: Path) -> str | None:
    if options.scope is None:
        return None
    return nodeids.parse([options.scope], cwd).arguments[0].node_id


def _why(reason: str | None, stderr: str, stdout: str) -> str:
    """Find the line that says what is wrong: the first of an exception, a refused argument, else the last of all."""
    lines = [line.strip() for text in (stderr, stdout) for line in text.splitlines() if line.strip()]
    for told in (EXCEPTION, REFUSED, ERROR):
        for line in lines:
            if found := told.match(line):
                return found[1][:300]
    return reason or (lines[-1][:300] if lines else "no reason given")


def _hint(command: str, why: str = "") -> str:
    lacking = "install the plugin that the option belongs to, or " if why.startswith("unrecognized arguments") else ""
    return f"{lacking}see it with `{command}`"
