"""What makes two failures the same: outcome, exception type, deepest project frame, message without its values."""

from __future__ import annotations

import hashlib
import os.path
import re
from collections import Counter
from functools import lru_cache
from pathlib import PurePath

from msgspec import Struct

from triage.model.outcome import Outcome
from triage.model.trial import Failure, Frame, Trial

FOREIGN_FOLDERS = frozenset(
    {
        "site-packages",
        "dist-packages",
        ".venv",
        ".tox",
        ".nox",
        ".triage",
        ".envs",
        ".eggs",
        "__pypackages__",
        "triage_probe",
        "triage_levels",
    }
)
"""Below the root folder but not of the project: environments, installed packages, and what `triage` brings itself."""
STANDARD_LIBRARY = re.compile(r"[\\/]lib(?:64)?[\\/](?:python|pypy)\d+\.\d+t?[\\/]|[\\/]python\d+t?\.zip[\\/]")
RECURSION = 10
"""A frame that is on the stack at least this often belongs to a recursion, whose depth differs from run to run."""
MOST_FRAMES = 100
"""As many as `faulthandler` writes of one thread; a stack that is longer has overflowed, whatever was on top."""
LONGEST_MESSAGE = 200

VALUES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"(?<!\w)[bru]{0,2}\"(?:\\.|[^\"\\])*\"(?!\w)"), "…"),
    (re.compile(r"(?<!\w)[bru]{0,2}'(?:\\.|[^'\\]|(?<=\w)'(?=\w))*'(?!\w)"), "…"),
    (re.compile(r"(?<!\w)['\"](?!\s).*$"), "…"),
    (re.compile(r"(?<![\w.])(?:[A-Za-z]:|~|\.{1,2})?(?:[\\/][^\s\\/:,;'\"()<>\[\]{}]+)+[\\/]?"), "…"),
)
"""Quoted strings (also one that the end of the message cuts) and paths; brackets and numbers come after them."""
BRACKETS = re.compile(r"\[[^\[\](){}<>]*\]|\([^\[\](){}<>]+\)|\{[^\[\](){}<>]*\}|<[^\[\](){}<>]+>")
"""The innermost ones, of those that nest; a call without arguments has no values."""
CUT_BRACKET = re.compile(r"(?<![-=])[\[({<](?![-=\s)]).*$")
"""A bracket that is never closed, because the message was cut."""
NUMBERS = re.compile(r"(?:(?<![\w)])[-+])?\b(?:\w*\d\w*(?:[.,:+/-]\w*\d\w*)*|nan|inf|None|True|False)\b")
"""Numbers, dates, times, uuids, hex addresses, and words with a digit in them; constants that are values."""
RUNS = re.compile(r"[#…](?:\s*[,;]\s*(?:and\s+|or\s+)?[#…])+")


class Signature(Struct, frozen=True, kw_only=True):
    """What two failures have in common if they are the same; equal signatures have equal keys and the reverse.

    `file` is relative to the root folder. `line` is None for a hang, which is caught anywhere in a loop. All three of
    the place are None if no frame lies in the project.
    """

    outcome: Outcome
    phase: str = ""
    """`setup`, `call`, `teardown` or `exit`; empty if unknown."""
    exception: str | None = None
    """Qualified name of the exception type; for a crash the signal's name."""
    file: str | None = None
    line: int | None = None
    function: str | None = None
    message: str = ""
    """With placeholders for values; empty where the place says enough, as for an assertion."""

    @property
    def key(self) -> str:
        """Twelve hexadecimal digits that stay the same over runs and machines."""
        parts = (self.outcome, self.phase, self.exception, self.file, self.line, self.function, self.message)
        return hashlib.sha256(repr(tuple(None if part is None else str(part) for part in parts)).encode()).hexdigest()[
            :12
        ]

    @property
    def place(self) -> str:
        """`shop/cart.py:12`, without the line if it is unknown; empty without a file."""
        if self.file is None:
            return ""
        return f"{self.file}:{self.line}" if self.line else self.file

    @property
    def text(self) -> str:
        """One line for people: `AssertionError at shop/cart.py:12 in total`."""
        what = (self.exception or "").rpartition(".")[2] or {Outcome.HUNG: "hang", Outcome.CRASHED: "death"}.get(
            self.outcome, self.outcome.value
        )
        where = f" at {self.place} in {self.function}" if self.file else ""
        when = f" in {self.phase}" if self.phase and self.phase != "call" and self.outcome is Outcome.ERROR else ""
        if not self.file and self.outcome in {Outcome.CRASHED, Outcome.HUNG}:
            when = f" at {self.phase}" if self.phase == "exit" else f" in {self.phase}" if self.phase else ""
        message = f": {self.message}" if self.message else ""
        return f"{what}{when}{where}{message}"


def signature_of(trial: Trial, root: str) -> Signature | None:
    """Return the signature of `trial`, or None if it is no failure.

    `root` is the absolute path of the project's root folder; it may be a symbolic link or reached through one.
    """
    if not trial.is_failure:
        return None
    failure = trial.failure or Failure(phase="", exception=trial.signal)
    exception = failure.exception or trial.signal
    frame = deciding_frame(failure.frames, root, exception)
    hung = trial.outcome is Outcome.HUNG
    file = project_path(frame.file, root) if frame else None
    return Signature(
        outcome=trial.outcome,
        phase=failure.phase,
        exception=None if hung else plain_name(exception),
        file=file,
        line=None if hung or not frame else frame.line or None,
        function=frame.function if frame else None,
        message=identifying_message(trial, failure, located=frame is not None),
    )


def plain_name(exception: str | None) -> str | None:
    """Return the qualified name without `builtins.`."""
    return exception.removeprefix("builtins.") if exception else None


def deciding_frame(frames: tuple[Frame, ...], root: str, exception: str | None) -> Frame | None:
    """Return the deepest frame in the project; of a recursion a frame that does not depend on its depth."""
    inside = [frame for frame in frames if project_path(frame.file, root) is not None]
    if not inside:
        return None
    counts = Counter(inside)
    recursing = [frame for frame, count in counts.items() if count >= RECURSION]
    overflowed = plain_name(exception) == "RecursionError" or (
        (exception or "").startswith("SIG") and (inside[-1] in recursing or len(frames) >= MOST_FRAMES)
    )
    if overflowed and recursing:
        return min(recursing, key=lambda frame: (frame.file, frame.line, frame.function))
    return inside[0] if plain_name(exception) == "RecursionError" else inside[-1]


def identifying_message(trial: Trial, failure: Failure, *, located: bool) -> str:
    """Return the part of the message that belongs to the signature.

    The values in an assertion's message vary freely and its place tells it apart; one that is raised by hand
    (`raise AssertionError(...)`) has a message of its own.
    """
    if trial.outcome is Outcome.HUNG:
        return ""
    if trial.outcome is Outcome.CRASHED:
        ended_itself = not (failure.exception or trial.signal) and trial.exit_status is not None
        return f"exit status {trial.exit_status}" if ended_itself else ""
    asserted = (plain_name(failure.exception) or "").rpartition(".")[2] == "AssertionError"
    if asserted and located and not failure.source.lstrip().startswith("raise"):
        return ""
    return template(failure.message)


def template(message: str) -> str:
    """Return the first line of `message` with placeholders for its values, at most 200 characters long."""
    text = next((line.strip() for line in message.splitlines() if line.strip()), "")
    for pattern, placeholder in VALUES:
        text = pattern.sub(placeholder, text)
    before = None
    while before != text:
        before, text = text, BRACKETS.sub("…", text)
    text = CUT_BRACKET.sub("…", text)
    text = NUMBERS.sub("#", text)
    text = RUNS.sub("#", text)
    return " ".join(text.split())[:LONGEST_MESSAGE]


@lru_cache(maxsize=2**14)
def project_path(file: str, root: str) -> str | None:
    """Return `file` relative to `root` with forward slashes, or None if it is not of the project.

    Not of the project are generated code (`<string>`), what lies elsewhere, and what lies below the root folder but
    belongs to an environment or an installation. Links are followed only where the path as given does not decide, and
    once for each path: thousands of trials have the same frames.
    """
    if not file or file.startswith("<"):
        return None
    path = os.path.join(root, file)  # noqa: PTH118 -- an absolute path stays as it is, and nothing is resolved
    for name, base in ((os.path.normpath(path), os.path.normpath(root)), (real(path), real(root))):
        if not PurePath(name).is_relative_to(base):
            continue
        relative = PurePath(name).relative_to(base)
        if not FOREIGN_FOLDERS.intersection(relative.parts) and not STANDARD_LIBRARY.search(f"/{relative.as_posix()}"):
            return relative.as_posix()
    return None


def real(path: str) -> str:
    """Return the path with all links followed; a file that does not exist is no error."""
    return os.path.realpath(path)
