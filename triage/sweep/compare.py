"""A sweep beside the one before it: what is new, gone, changed, and which rates an exact test tells apart."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from triage.model.sweep import Change, Compared, Comparison, Difference, Gone, Result, Since, Start, State, Sweep
from triage.model.verdict import Environment
from triage.stats.exact import fisher_two_sided

LEVEL = 0.05
"""Split over all pairs of rates: so often, at most, any difference is shown where there is none."""


def before(start: Start, earlier: Sequence[Sweep]) -> Sweep | None:
    """Return the sweep to compare with: the latest complete one with the same selection, else the latest with any result.

    `earlier` are sweeps, latest first. One of all shards covers each of them.
    """
    same = [
        sweep
        for sweep in earlier
        if sweep.results
        and sweep.start.sweep != start.sweep
        and sweep.start.root == start.root
        and sweep.start.selection.covers(start.selection)
    ]
    return next((sweep for sweep in same if sweep.complete), same[0] if same else None)


def compare(sweep: Sweep, earlier: Sweep, collected: Collection[str]) -> Comparison:
    """Compare every test of this sweep's shard with the sweep before; `collected` are all node ids that pytest knows of."""
    shard = sweep.start.selection.shard
    then = {target: result for target, result in earlier.by_target.items() if shard is None or shard.has(target)}
    selected_then = [target for target in earlier.start.selected if shard is None or shard.has(target)]
    now = sweep.everything
    pairs = [result for result in now if _comparable(result, then.get(result.target))]
    level = LEVEL / max(1, len(pairs))
    wanted = {result.target for result in now}
    return Comparison(
        sweep=earlier.start.sweep,
        started=earlier.start.started,
        complete=earlier.complete,
        tests=tuple(
            _compared(result, then.get(result.target), result.target in selected_then, level) for result in now
        ),
        gone=tuple(
            Gone(target=target, why=_gone(target, sweep.start, collected), before=then.get(target))
            for target in selected_then
            if target not in wanted
        ),
        level=level,
        environment=_changed(earlier.start.environment, sweep.start.environment),
    )


def since(sweep: Sweep, earlier: Sequence[Sweep]) -> tuple[Since, ...]:
    """Return for each test with a verdict the first of the latest sweeps in a row, this one included, that say the same.

    `earlier` are sweeps, latest first. Sweeps that say nothing of a test break no row.
    """
    past = [one for one in earlier if one.start.sweep != sweep.start.sweep and one.start.root == sweep.start.root]
    known = [(one.start, one.by_target) for one in past]
    found = []
    for result in sweep.results:
        if result.state is not State.EXAMINED:
            continue
        first = sweep.start
        for start, results in known:
            then = results.get(result.target)
            if then is None or then.state is not State.EXAMINED:
                continue
            if (then.verdict, then.cause) != (result.verdict, result.cause):
                break
            first = start
        found.append(Since(target=result.target, sweep=first.sweep, started=first.started))
    return tuple(found)


def _compared(result: Result, then: Result | None, selected_then: bool, level: float) -> Compared:  # noqa: FBT001
    if not selected_then:
        return Compared(target=result.target, change=Change.NEW)
    found = Compared(target=result.target, change=Change.NOT_COMPARED, before=then)
    if then is None or State.EXAMINED is not result.state or then.state is not State.EXAMINED:
        return found
    same = (then.verdict, then.cause) == (result.verdict, result.cause)
    found = replace(found, change=Change.STILL if same else Change.CHANGED)
    if result.rate is None or then.rate is None or not _comparable(result, then):
        return found
    now, old = result.rate, then.rate
    p_value = fisher_two_sided(now.failed, now.trials, old.failed, old.trials)
    difference = Difference.NOT_SHOWN
    if p_value <= level:
        higher = now.failed / now.trials > old.failed / old.trials
        difference = Difference.HIGHER if higher else Difference.LOWER
    return replace(found, difference=difference, p_value=p_value)


def _comparable(result: Result, then: Result | None) -> bool:
    """Whether both sweeps have a verdict of a test and trials of the user's own command in fresh processes."""
    both = [one for one in (result, then) if one and one.state is State.EXAMINED and one.rate and one.rate.trials]
    return len(both) == 2


def _gone(target: str, start: Start, collected: Collection[str]) -> str:
    if target in collected:
        return "no longer marked" if start.selection.expression is None else "no longer selected by the expression"
    file = target.partition("::")[0]
    broken = [error.partition("::")[0] for error in start.errors]
    if any(file == error or file.startswith(f"{error}/") for error in broken):
        return "its file cannot be collected now"
    return "no longer collected: removed, renamed or moved"


def _changed(then: Environment, now: Environment) -> tuple[str, ...]:
    pairs = (
        ("Python", ", ".join(then.python), ", ".join(now.python)),
        ("pytest", then.pytest or "unknown", now.pytest or "unknown"),
        ("platform", then.platform, now.platform),
    )
    return tuple(f"{name} {old}, now {new}" for name, old, new in pairs if old != new)
