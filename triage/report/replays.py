"""The page of `triage replay`."""

from __future__ import annotations

from triage.model.replay import Replay
from triage.report.escape import command, prose
from triage.report.layout import wrap, wrap_command
from triage.report.words import outcome, percent


def render(replay: Replay, width: int) -> str:
    """Return what was run again and what came of it, without a newline at the end."""
    blocks = [
        [f"{replay.what} of experiment {replay.experiment}: {prose(replay.target)}"],
        [f"  {line}" for line in wrap_command(command(replay.command), width - 2)],
        _indented(f"run in {prose(replay.root)}; left to chance: {', '.join(replay.not_held)}", width),
        *[_indented(text, width, "") for text in _results(replay)],
    ]
    return "\n".join(line for block in blocks for line in block)


def _results(replay: Replay) -> list[str]:
    cut = (
        f", of {replay.planned} planned"
        if replay.interrupted or replay.trials + replay.left_out < replay.planned
        else ""
    )
    if not replay.trials:
        return [f"nothing is known: none of the trials counts ({replay.left_out} left out{cut})"]
    found = [f"now {outcome(replay.failed, replay.trials, replay.low, replay.high)}{cut}"]
    if replay.left_out:
        found.append(f"{replay.left_out} more say nothing and are left out")
    found.append(_beside(replay))
    for seen in replay.failures:
        kind = "the recorded failure" if seen.same else "another failure"
        found.append(f"{kind}, {seen.times} of {replay.failed}: {prose(seen.failure)}")
    if replay.changed:
        found.append("something has changed since (see above), so this tells of the project as it is now")
    return found


def _beside(replay: Replay) -> str:
    if replay.recorded_failed is None or replay.recorded_trials is None:
        return "no fresh process had run this before, so there is nothing to compare with"
    then = f"then {replay.recorded_failed} of {replay.recorded_trials} failed"
    if replay.differs:
        return f"{then}: more of a difference than chance makes"
    if replay.detectable is None:
        return f"{then}: no difference is seen, but so few trials could hardly show one"
    return f"{then}: no difference is seen; one of {percent(replay.detectable)} or more would have been, with 80% probability"


def _indented(text: str, width: int, indent: str = "  ") -> list[str]:
    return [f"{indent}{line}" for line in wrap(text, width - len(indent))]
