"""Run again what an experiment recorded: its reproduction, its counterfactual, one trial, or the sequence of an xdist worker.

The printed command itself is parsed and run, in fresh processes, one at a time; nothing is written to the history.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from triage.errors import UnrunnableError, UsageError
from triage.factors.order import ORDERS, naming
from triage.model.arm import BASELINE, Arm, Depth, Level
from triage.model.events import EventSink, Noted, Preparing, TrialFinished, TrialStarted
from triage.model.invocation import Invocation, parse
from triage.model.outcome import Outcome
from triage.model.replay import Replay, Seen
from triage.model.signature import signature_of
from triage.model.surface import Surface, differences, listed
from triage.model.trial import Stage, Trial
from triage.model.verdict import Report, Reproduction
from triage.runner.cold import ColdRunner, Finished, Request
from triage.runner.installation import OWN_FOLDER
from triage.session.limits import Limits
from triage.session.past import history_of
from triage.session.reaching import refusal
from triage.stats.exact import detectable_difference, fisher_two_sided
from triage.stats.intervals import clopper_pearson
from triage.targets import surface
from triage.targets.environment import inherited, recorded
from triage.targets.inspection import ask

TIMES = 20
"""Trials where the report names no number."""
MOST_TIMES = 100
"""More than that only if it is asked for."""
MOST_BROKEN = 3
ALPHA, POWER = 0.05, 0.8
COLLECT_LIMIT = 120.0


class ReplayOptions(Struct, frozen=True, kw_only=True):
    """What a user may ask of `triage replay`."""

    experiment: str = "latest"
    trial: int | None = None
    counterfactual: bool = False
    in_one_process: bool = False
    """The sequence that the trial really ran up to the target, in one process."""
    times: int | None = None
    allow_side_effects: bool = False


class Subject(Struct, frozen=True, kw_only=True):
    """What is to be run, and what is known of it."""

    what: str
    arm: Arm
    invocation: Invocation
    recorded: tuple[int, int] | None = None
    """Failures and trials."""
    failure: str | None = None
    """The recorded failure, as the report names it."""
    notes: tuple[str, ...] = ()


def replay(options: ReplayOptions, sink: EventSink, cwd: Path, environ: Mapping[str, str]) -> Replay:
    """Run what `options` name again and count.

    Raises `UsageError` for an experiment or trial that is not there or has no such command, `UnrunnableError` if it cannot be run
    here. After KeyboardInterrupt what is known is returned.
    """
    with history_of(cwd) as history:
        identity = history.resolve(options.experiment)
        report, trials = history.load(identity)
        before = history.surface(identity)
        root = Path(report.root or history.path.parent.parent)
        short = history.short(identity)
    subject = chosen(options, short, report, trials, root)
    if not Path(subject.invocation.python).exists():
        raise UnrunnableError(
            f"the interpreter of this command is gone: `{subject.invocation.python}`",
            "`triage run` makes a new experiment with another one",
        )
    if missing := _missing_order(subject.invocation, root):
        raise UnrunnableError(f"the order of this command is gone: `{missing}`", "`triage run` makes a new experiment")
    for text in subject.notes:
        sink(Noted(text))
    with ColdRunner(root, inherited(environ).variables) as runner:
        sink(Preparing("looking for changes"))
        changed = _changed(before, subject, report.target, runner, root)
        if changed:
            sink(Noted(f"since the experiment this has changed: {listed(changed)}"))
        elif changed is None:
            sink(Noted("whether anything has changed since the experiment is not known"))
        times = options.times or min(MOST_TIMES, subject.recorded[1] if subject.recorded else 0) or TIMES
        return _run(options, subject, report, trials, runner, sink, changed, times)


def chosen(options: ReplayOptions, short: str, report: Report, trials: Sequence[Trial], root: Path) -> Subject:
    """Return what is to be run. Raises `UsageError` if there is none of that kind."""
    if options.trial is not None:
        return _of_trial(options, short, report, trials, root)
    if options.in_one_process:
        raise UsageError(
            "`--in-one-process` needs a trial", f"`triage show {short} --trials` lists them; add `--trial N`"
        )
    kind = "counterfactual" if options.counterfactual else "reproduction"
    found: Reproduction | None = getattr(report, kind)
    if found is None:
        failing = [str(trial.number) for trial in trials if trial.is_failure and trial.arm.depth is Depth.COLD][:3]
        some = f" (failing ones: {', '.join(failing)})" if failing else ""
        raise UsageError(
            f"experiment {short} has no confirmed {kind}",
            f"`triage replay {short} --trial N` runs one trial again{some}",
        )
    arm = next((t.arm for t in trials if t.command == found.command and t.arm.depth is Depth.COLD), BASELINE)
    return Subject(
        what=kind,
        arm=arm,
        invocation=_parsed(found.command, root),
        recorded=(found.failed, found.trials),
        failure=report.signature,
    )


def _of_trial(options: ReplayOptions, short: str, report: Report, trials: Sequence[Trial], root: Path) -> Subject:
    trial = next((trial for trial in trials if trial.number == options.trial), None)
    if trial is None or not trial.command:
        last = max((trial.number for trial in trials), default=0)
        raise UsageError(
            f"experiment {short} has no trial {options.trial}",
            f"its trials go from 1 to {last}; see `triage show {short} --trials`",
        )
    signature = signature_of(trial, str(root))
    notes = []
    if trial.arm.depth is Depth.FORKED:
        notes.append(
            f"trial {trial.number} was forked from a process that had collected; what that one drew at its start is not "
            "replayed, the same command runs in fresh processes"
        )
    invocation, arm, what = _parsed(trial.command, root), Arm(trial.arm.levels), f"trial {trial.number}"
    if options.in_one_process:
        invocation, arm = _sequence(trial, report.target, trials, root)
        what = f"sequence of {what}"
    elif trial.workers:
        notes.append("which worker runs what is decided anew by pytest-xdist; --in-one-process runs what this one ran")
    same = [t for t in trials if t.arm == arm and t.is_evidence and t.stage is not Stage.PLAIN]
    return Subject(
        what=what,
        arm=arm,
        invocation=invocation,
        recorded=(sum(t.is_failure for t in same), len(same)) if same else None,
        failure=signature.text if signature else None,
        notes=tuple(notes),
    )


def _sequence(trial: Trial, target: str, trials: Sequence[Trial], root: Path) -> tuple[Invocation, Arm]:
    """Return how to run, in one process, what the process of a trial ran up to the target."""
    alone = next((t for t in trials if t.arm == BASELINE and t.command), None)
    if target not in trial.sequence or alone is None:
        raise UsageError(
            f"what trial {trial.number} ran before the target is not recorded", "leave out --in-one-process"
        )
    before = trial.sequence[: trial.sequence.index(target)]
    base = _parsed(alone.command, root)
    options = base.options[:-1] if base.options[-1:] == (target,) else base.options
    ids = (*before, target)
    arm = Arm((Level(factor="order", value=f"as trial {trial.number} ran", ids=before),)) if before else BASELINE
    return naming(ids, replace(base, options=options), str(Path(OWN_FOLDER, ORDERS))), arm


def _parsed(command: str, root: Path) -> Invocation:
    try:
        return parse(command, str(root))
    except ValueError as error:
        raise UsageError(f"the recorded command cannot be read: {error}") from error


def _missing_order(invocation: Invocation, root: Path) -> str | None:
    files = [word.partition("=")[2] for word in invocation.levels if word.startswith("order=")]
    return next((file for file in files if not (root / file).exists()), None)


def _changed(
    before: Surface | None, subject: Subject, target: str, runner: ColdRunner, root: Path
) -> tuple[str, ...] | None:
    """Return what has changed since the experiment; None if it is not known on what that was made."""
    if before is None:
        return None
    found = []
    for path in before.interpreters:
        try:
            found.append(ask(path, runner.base).interpreter(""))
        except UnrunnableError:
            continue
    python = next(iter(before.interpreters), subject.invocation.python)
    collect = Request(
        invocation=Invocation(
            root=str(root), python=python, node_ids=(target.split("::", 1)[0],), options=("--collect-only", "-q")
        ),
        target=None,
        arm=BASELINE,
        stage=Stage.CONTROL,
        limit=COLLECT_LIMIT,
        collect=True,
    )
    wire = runner.run(collect).wire
    now = Surface(
        files=surface.files(root),
        packages=dict(wire.packages) if wire and wire.packages else before.packages,
        interpreters=surface.interpreters(tuple(found)),
        tests=before.tests,
        options=before.options,
        environment=recorded(runner.base),
        tool=surface.tool(),
    )
    return differences(before, now)


def _run(
    options: ReplayOptions,
    subject: Subject,
    report: Report,
    trials: Sequence[Trial],
    runner: ColdRunner,
    sink: EventSink,
    changed: tuple[str, ...] | None,
    times: int,
) -> Replay:
    limits = Limits()
    for trial in trials:
        limits.learn(trial)
    done: list[Trial] = []
    interrupted = False
    try:
        for number in range(1, times + 1):
            sink(TrialStarted(subject.arm, Stage.CONFIRM, f"{subject.what}, {number} of {times}"))
            finished = _one(subject, report.target, runner, limits)
            wire = finished.wire if not options.allow_side_effects else None
            if wire and (refused := refusal(wire, report.target)):
                raise UnrunnableError(*refused)
            done.append(replace(finished.trial, number=number))
            limits.learn(finished.trial)
            if [trial.outcome for trial in done[-MOST_BROKEN:]] == [Outcome.BROKEN] * MOST_BROKEN:
                raise UnrunnableError(
                    f"{MOST_BROKEN} trials in a row could not be run: {finished.trial.reason}", "see `triage doctor`"
                )
            sink(TrialFinished(done[-1], (), sum(trial.wall_seconds for trial in done), len(done)))
    except KeyboardInterrupt:
        interrupted = True
    return counted(subject, report, runner.base, done, changed, times, interrupted=interrupted)


def _one(subject: Subject, target: str, runner: ColdRunner, limits: Limits) -> Finished:
    repeat = subject.arm.level("repeat")
    return runner.run(
        Request(
            invocation=subject.invocation,
            target=target,
            arm=subject.arm,
            stage=Stage.CONFIRM,
            limit=limits.of(subject.arm),
            reach=True,
            repeat=int(repeat.value) if repeat else 1,
        )
    )


def counted(
    subject: Subject,
    report: Report,
    base: Mapping[str, str],
    done: Sequence[Trial],
    changed: tuple[str, ...] | None,
    times: int,
    *,
    interrupted: bool,
) -> Replay:
    """Count what was seen, beside what was recorded."""
    root = subject.invocation.root
    evidence = [trial for trial in done if trial.is_evidence]
    signatures = Counter(found.text for trial in evidence if (found := signature_of(trial, root)))
    failed, total = sum(trial.is_failure for trial in evidence), len(evidence)
    low, high = clopper_pearson(failed, total) if total else (0.0, 1.0)
    differs = detectable = None
    if subject.recorded and total:
        then_failed, then = subject.recorded
        differs = fisher_two_sided(failed, total, then_failed, then) < ALPHA
        detectable = None if differs else _detectable(then_failed / then, then, total)
    return Replay(
        experiment=report.experiment,
        target=report.target,
        what=subject.what,
        command=subject.invocation.command(dict(base)),
        root=root,
        recorded_failed=subject.recorded[0] if subject.recorded else None,
        recorded_trials=subject.recorded[1] if subject.recorded else None,
        failed=failed,
        trials=total,
        low=low,
        high=high,
        left_out=len(done) - total,
        planned=times,
        failures=tuple(
            Seen(failure=text, times=count, same=text == subject.failure) for text, count in signatures.most_common()
        ),
        differs=differs,
        detectable=detectable,
        changed=changed,
        not_held=_not_held(subject.arm, base),
        interrupted=interrupted,
    )


def _detectable(rate: float, then: int, now: int) -> float | None:
    """Return the difference from `rate`, towards one half, that would have been seen with `POWER`."""
    return detectable_difference(min(rate, 1 - rate), now, ALPHA / 2, POWER, b_trials=then)


def _not_held(arm: Arm, base: Mapping[str, str]) -> tuple[str, ...]:
    found = []
    if arm.level("hash_seed") is None and base.get("PYTHONHASHSEED", "random") == "random":
        found.append("the hash seed")
    if arm.level("rng_seed") is None:
        found.append("random numbers, unless the test seeds them")
    return (*found, "timing")
