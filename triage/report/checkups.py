"""The page of `triage doctor`."""

from __future__ import annotations

from collections.abc import Iterator

from triage.model.checkup import Checkup, Control, PythonFound
from triage.report.escape import prose, visible
from triage.report.layout import wrap
from triage.report.words import plural

LABEL = 14
MOST_ERRORS, MOST_LINES = 3, 20
MEBIBYTE = 1 << 20
LITTLE_SPACE = 200
"""Mebibytes."""


def render(checkup: Checkup, width: int) -> str:
    """Return the page, without a newline at the end."""
    lines: list[str] = []
    for label, text in _fields(checkup):
        if not text:
            continue
        for number, line in enumerate(text.splitlines() or [""]):
            name = label if number == 0 else ""
            wrapped = wrap(line, width - LABEL - 2) if not line.startswith(" ") else [line]
            for position, part in enumerate(wrapped or [""]):
                lines.append(f"{name if position == 0 else '':>{LABEL}}  {part}".rstrip())
    return "\n".join(lines)


def _fields(checkup: Checkup) -> Iterator[tuple[str, str]]:
    yield ("triage", "fit: trials can be run and believed here" if checkup.fit else "NOT FIT")
    if checkup.advice:
        yield ("what to do", prose(checkup.advice))
    yield ("project", prose(checkup.root))
    own = [one for one in checkup.interpreters if one.use]
    for number, one in enumerate(own):
        yield ("interpreter" if not number else "compared with", _python(one))
    for number, one in enumerate(one for one in checkup.interpreters if not one.use):
        yield ("also here" if not number else "", _python(one))
    tests = checkup.tests
    if tests is not None:
        bad = f"; {plural(len(tests.errors), 'error')} of collection, as pytest shows them:" if tests.errors else ""
        yield ("tests", f"pytest collects {plural(tests.collected, 'test')}{bad}")
        for error in tests.errors[:MOST_ERRORS]:
            yield ("", _quoted(error))
        if len(tests.errors) > MOST_ERRORS:
            yield ("", f"and {len(tests.errors) - MOST_ERRORS} more")
        for number, taken in enumerate(tests.takeovers):
            yield ("taken over" if not number else "", prose(taken))
    yield ("controls", _controls(checkup, "cold", "fresh processes"))
    yield ("", _missed(checkup, "cold"))
    yield (
        "forking",
        f"no: {prose(checkup.unforkable)}" if checkup.unforkable else _controls(checkup, "forked", "forked trials"),
    )
    yield ("", _missed(checkup, "forked"))
    if checkup.start_seconds is not None:
        yield ("a cold trial", f"takes {checkup.start_seconds:.1f} s here, without what the project itself imports")
    yield ("core files", prose(checkup.cores.statement))
    yield from _store(checkup)
    yield ("versions", f"triage {checkup.triage}; {prose(checkup.platform)}")


def _python(one: PythonFound) -> str:
    place = f"{prose(one.path)} ({prose(one.origin)})"
    if one.unfit:
        return f"{one.version}, not usable, {prose(one.unfit.replace(f' in `{one.path}`', ''))}: {place}"
    xdist = f"xdist {one.xdist}" if one.xdist else "no xdist"
    return f"{one.version}, pytest {one.pytest}, {xdist}: {place}"


def _controls(checkup: Checkup, depth: str, where: str) -> str:
    mine = _of(checkup, depth)
    if not mine:
        return "not run: there is no interpreter to run them with" if depth == "cold" else "not tried"
    names = sorted({one.name for one in mine})
    right = len(names) - len({one.name for one in mine if one.missed})
    return f"{right} of {plural(len(names), 'control')} came out as they must in {where}"


def _missed(checkup: Checkup, depth: str) -> str:
    return "\n".join(
        f"{one.name} came out as {prose(one.seen)}, not {one.expected}" for one in _of(checkup, depth) if one.missed
    )


def _of(checkup: Checkup, depth: str) -> list[Control]:
    return [one for one in checkup.controls if one.depth == depth]


def _store(checkup: Checkup) -> Iterator[tuple[str, str]]:
    store = checkup.store
    free = "" if store.free_bytes is None else f", {store.free_bytes // MEBIBYTE:,} MiB free"
    little = store.free_bytes is not None and store.free_bytes < LITTLE_SPACE * MEBIBYTE
    low = ": little, trials keep temporary folders on disk" if little else ""
    can = "can be written" if store.writable else "cannot be written: records and printed commands need it"
    yield ("folder", f"{prose(store.folder)} {can}{free}{low}")
    if not store.exists:
        yield ("history", "none yet; `triage run NODEID` makes one")
    elif store.problem:
        yield ("history", prose(store.problem))
    else:
        yield ("history", f"{plural(store.experiments or 0, 'experiment')}, format {store.version}, undamaged")


def _quoted(text: str) -> str:
    lines = text.strip("\n").splitlines()
    shown = lines if len(lines) <= MOST_LINES else [*lines[:5], "[...]", *lines[5 - MOST_LINES :]]
    return "\n".join(f"  {visible(line)}" for line in shown)
