"""Counts, levels and places as words: the same everywhere, and never more than was counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from triage.model.arm import Arm
from triage.model.claim import ArmCount, Claim
from triage.model.outcome import Outcome
from triage.model.signature import Signature
from triage.model.trial import Trial
from triage.stats.clusters import rate_interval
from triage.stats.intervals import upper_bound

HOMES = {"order": "isolated", "repeat": "1", "workers": "none"}
"""The level at which the baseline holds a factor, where it holds it still."""
SMALLEST = 0.001
"""Per cent below which, and as much below 100, a rate is no longer written out."""
UNPINNED = "as in the user's own command"
PHRASES = {
    "python": "on Python {}",
    "hash_seed": "with hash seed {}",
    "rng_seed": "with random seed {}",
    "timezone": "in time zone {}",
    "locale": "in locale {}",
    "clock": "at {}",
}


def of(count: ArmCount) -> str:
    """`7 of 100`."""
    return f"{count.failed} of {count.trials}"


def percent(rate: float) -> str:
    """`3.0 %`; two significant digits for small rates, so that nothing that was not excluded reads as zero."""
    value = 100 * rate
    if 0 < min(value, 100 - value) < SMALLEST:
        return f"<{SMALLEST} %" if value < 50 else f">{100 - SMALLEST} %"
    return f"{value:.0f} %" if value >= 10 else f"{value:.2g} %"


def bound(count: ArmCount) -> str:
    """`at most 3.0 %`: the 95% upper bound."""
    return f"at most {percent(upper_bound(count.failed, count.trials))}"


def interval(count: ArmCount) -> str:
    """`2.1 %, 95 % interval 1.4 to 3.0 %`; forked trials count for what their clusters are worth."""
    low, high = bounds(count)
    return f"{percent(count.rate)}, 95 % interval {percent(low).removesuffix(' %')} to {percent(high)}"


def bounds(count: ArmCount) -> tuple[float, float]:
    """Return the two-sided 95% interval of a rate."""
    return rate_interval(count.failed, count.trials, count.clusters)


def counted(number: int, noun: str) -> str:
    """`1 trial`, `3 trials`, `2 processes`."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number} {noun if number == 1 else plural}"


def level_of(factor: str, arm: Arm, trials: Iterable[Trial] = ()) -> str:
    """Return the level at which an arm has a factor; for the baseline the one that it is held at, if any."""
    level = arm.level(factor)
    if level is not None:
        return level.value
    if factor == "python":
        versions = sorted({trial.python for trial in trials if trial.arm == arm and trial.python})
        return ".".join(versions[0].split(".")[:2]) if len(versions) == 1 else UNPINNED
    return HOMES.get(factor, UNPINNED)


def at_level(factor: str, value: str) -> str:
    """Return a phrase such as `on Python 3.13` or `after tests/test_a.py::test_b`."""
    if value == UNPINNED:
        return f"with {factor} {UNPINNED}"
    if factor in SPOKEN:
        return SPOKEN[factor](value)
    return PHRASES.get(factor, f"with {factor} {{}}").format(value)


def _order(value: str) -> str:
    if value == HOMES["order"]:
        return "alone"
    return value if value.startswith("after ") else f"in the order `{value}`"


def _repeat(value: str) -> str:
    return "at its first execution" if value == HOMES["repeat"] else f"at execution {value} in one process"


def _workers(value: str) -> str:
    if value == HOMES["workers"]:
        return "alone in one process without xdist"
    count, _, mode = value.partition(" ")
    return f"on {count} xdist worker{'' if count == '1' else 's'} (`--dist {mode}`)"


SPOKEN: dict[str, Callable[[str], str]] = {"order": _order, "repeat": _repeat, "workers": _workers}
"""Factors whose levels take more than a phrase with a gap."""


def contrast(claim: Claim, trials: Iterable[Trial]) -> str:
    """`on Python 3.13 (7 of 100) and not on Python 3.11 (0 of 100)`."""
    trials = tuple(trials)
    first = at_level(claim.factor, level_of(claim.factor, claim.trigger.arm, trials))
    second = at_level(claim.factor, level_of(claim.factor, claim.counter.arm, trials))
    if claim.counter.failed:
        return f"{first} ({of(claim.trigger)}) more often than {second} ({of(claim.counter)})"
    return f"{first} ({of(claim.trigger)}) and not {second} ({of(claim.counter)})"


def happening(signature: Signature, subject: str = "") -> str:
    """Return the failure as a clause: `fails with AssertionError at shop/cart.py:12 in total`."""
    exception = (signature.exception or "").rpartition(".")[2]
    where = f" at {signature.place} in `{signature.function}`" if signature.file else ""
    if subject:
        where = ""
    match signature.outcome:
        case Outcome.CRASHED:
            phase = " after the last test" if signature.phase == "exit" else ""
            how = f"dies by {exception}" if exception else "ends the process"
            verb = f"{how}{where}{phase}" + (f" ({signature.message})" if signature.message else "")
        case Outcome.HUNG:
            verb = f"hangs{where}" + (" after the last test" if signature.phase == "exit" else "")
        case Outcome.ERROR:
            verb = f"raises {exception or 'an error'} in {signature.phase or 'setup or teardown'}{where}"
        case _:
            verb = f"fails with {exception}{where}" if exception else f"fails{where}"
    return f"{subject} {verb}" if subject else verb


def sentence(text: str) -> str:
    """Return `text` with its first letter raised; one that begins with code or a name in backticks stays as it is."""
    return text[:1].upper() + text[1:]
