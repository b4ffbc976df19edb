"""`crash`: the process dies by a signal. The one cause that this version decides, from whose call it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from triage.classify.case import Case
from triage.classify.cause import FALLBACK, KIND, Cause, Proposal, Suspicion
from triage.classify.roles import Role, installed_path
from triage.classify.source import deadly_call
from triage.classify.wording import counted
from triage.model.outcome import Outcome
from triage.model.signature import MOST_FRAMES
from triage.model.trial import Frame, Trial
from triage.model.verdict import Culprit, Evidence, Hypothesis, Strength, Verdict

CAUSE = Cause(
    name="crash",
    verdicts=(Verdict.REAL_BUG, Verdict.WRONG_TEST),
    meaning="""The process dies by a signal (SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL) in the middle of a test. Python code alone
        cannot do that: a native module, `ctypes`, a stack that overflows, or an explicit `os.abort()` did. Whose call it was
        decides: the product's (also when it goes through a dependency or the standard library), or the test's own.""",
    evidence=(
        "the signal, and the Python frames of the thread that died, from `faulthandler`",
        "the deepest frame that is not the standard library's, the same in every failure: product, dependency or test",
        "for `established`: a level at which it dies and one at which it does not, confirmed on fresh trials",
        "for `wrong_test`: the test function itself makes a call that ends the process whatever the product does",
    ),
    refuted_by=(
        "the same product call in a bare script, with the same arguments and interpreter, never dies",
        "the memory was corrupted earlier, by other code; the place of death is then only where it was noticed",
        "the kernel killed the process for want of memory (the outcome is then `killed`)",
    ),
    fixes=(
        "check arguments and lifetimes at the boundary to native code; raise an exception instead",
        "keep a reference to a buffer or callback as long as native code may use it",
        "update or pin the dependency or interpreter in which the native code fails",
        "in a test that needs a dying process: run it in a child process",
    ),
    example="""
        def read(self):
            # the library freed the buffer when the handle was closed
            return ctypes.string_at(self._buffer, self._length)
    """,
)

CORRUPTION = (
    "free(): ", "malloc(): ", "realloc(): ", "munmap_chunk(): ", "double free", "corrupted size", "corrupted double-linked",
    "malloc_consolidate(): ", "heap-use-after-free", "invalid pointer", "unaligned tcache", "stack smashing detected",
    "debug memory block", "bad leading pad byte", "bad trailing pad byte",
)  # fmt: skip
"""What the C library and Python's debug allocator say when they find memory that somebody else has damaged."""
COLLECTING = "garbage-collecting"
"""`faulthandler` says so where the collector ran: the code on the stack is whatever happened to allocate."""
STAND_INS = ("unittest/mock.py", "/mock/", "pytest_mock/", "flexmock", "/mockito/")
RUNNERS = ("_pytest", "pytest", "pluggy", "xdist", "execnet", "hypothesis", "pytest_asyncio", "anyio")
"""Dependencies that call tests; where one of them is deepest it is not known for whom."""
NATIVE_HYPOTHESES = (
    Hypothesis(
        verdict=Verdict.REAL_BUG,
        cause="crash",
        missing="read the native stack (a core file, or `gdb`): is the code that died the product's or called by it?",
    ),
    Hypothesis(
        verdict=Verdict.WRONG_TEST,
        cause="crash",
        missing="make the test's last call in a bare script without the product: does the process die too?",
    ),
)


class Blame(Struct, frozen=True):
    """What one stack says; equal for all failures of a signature, or nothing is decided."""

    role: Role
    """Whose call it was; `unclear` if the stack does not tell."""
    reason: str
    """Why it is not clear, or what was seen."""
    file: str | None = None
    line: int = 0
    function: str = ""
    through: str | None = None
    """The dependency in which the product's call died."""


def judge(case: Case) -> Proposal | None:  # noqa: PLR0911 - a way out for each side
    """Decide by whose call the process died; abstain for every other outcome."""
    if case.outcome is not Outcome.CRASHED:
        return None
    seen = [trial for trial in case.failures if trial.failure and trial.failure.frames]
    reason = _unreadable(case, seen)
    if reason:
        return _undecided(case, reason, seen)
    blames = {blame(case, trial) for trial in seen}
    if len({(found.role, found.through) for found in blames}) > 1:
        return _undecided(case, "the failures do not agree on whose call it was", seen)
    found = min(blames, key=lambda each: (each.file or "", each.line))
    match found.role:
        case Role.PRODUCT:
            return _product(case, found, seen)
        case Role.TEST if case.passed:
            why = f"the test's own line ran without dying in {counted(case.passed, 'trial')}, so something else decides"
            return _undecided(case, why, seen)
        case Role.TEST:
            return _test(case, found, seen)
        case _:
            return _undecided(case, found.reason, seen)


def suspect(case: Case) -> Iterator[Suspicion]:
    """Rank both sides where `judge` found no ground: the product first."""
    if case.outcome is Outcome.CRASHED:
        product, test = NATIVE_HYPOTHESES
        yield Suspicion(Verdict.REAL_BUG, KIND, product.missing)
        yield Suspicion(Verdict.WRONG_TEST, KIND - 5 if case.raised_by is Role.TEST else FALLBACK + 10, test.missing)


def blame(case: Case, trial: Trial) -> Blame:
    """Say whose call it was, from the frames of the thread that died."""
    frames = trial.failure.frames if trial.failure else ()
    roles = [case.roles.of(frame) for frame in frames]
    own = [at for at, role in enumerate(roles) if role is not Role.INTERPRETER]
    if not own:
        return Blame(Role.UNCLEAR, "only frames of the standard library were seen")
    deepest = own[-1]
    if any(mark in frame.file.replace("\\", "/") for frame in frames[deepest:] for mark in STAND_INS):
        return Blame(Role.UNCLEAR, "a stand-in (a mock) was called last, and what it was told to do is not known")
    if roles[deepest] is Role.PRODUCT:
        return _blamed(case, frames[deepest], "the product made the last call that was seen")
    if roles[deepest] is Role.DEPENDENCY:
        return _through_dependency(case, frames, roles, deepest)
    if roles[deepest] is Role.TEST:
        return _in_test(case, trial, roles, deepest)
    return Blame(
        Role.UNCLEAR, f"whether `{case.roles.shown(frames[deepest].file)}` is the product's or the test's is not clear"
    )


def _through_dependency(case: Case, frames: tuple[Frame, ...], roles: list[Role], deepest: int) -> Blame:
    package = _package(frames[deepest])
    callers = [at for at in range(deepest) if roles[at] not in {Role.INTERPRETER, Role.DEPENDENCY}]
    between = frames[callers[-1] + 1 : deepest + 1] if callers else frames
    if package in RUNNERS or any(_package(frame) in RUNNERS for frame in between):
        return Blame(
            Role.UNCLEAR, f"the process died inside `{package}`, with no call of the product or the test below it"
        )
    if any(mark in frame.file.replace("\\", "/") for frame in between for mark in STAND_INS):
        return Blame(Role.UNCLEAR, "a stand-in (a mock) was called last, and what it was told to do is not known")
    if callers and roles[callers[-1]] is Role.PRODUCT:
        return _blamed(case, frames[callers[-1]], f"the product called into `{package}`", through=package)
    who = "the test" if callers and roles[callers[-1]] is Role.TEST else "code that could be either's"
    return Blame(Role.UNCLEAR, f"{who} called `{package}`, which may be a native part of the product or not")


def _in_test(case: Case, trial: Trial, roles: list[Role], deepest: int) -> Blame:
    assert trial.failure is not None
    frames = trial.failure.frames
    frame = frames[deepest]
    if Role.PRODUCT in roles[:deepest] or Role.UNCLEAR in roles[:deepest]:
        return Blame(
            Role.UNCLEAR, "the product called back into test code, and which of the two asked for it is not known"
        )
    unclear = Blame(
        Role.UNCLEAR, "the test made the last call that was seen, perhaps into a native part of the product"
    )
    alone = roles.count(Role.TEST) == 1 and len(frames) < MOST_FRAMES
    name = case.target.split("[", 1)[0].rpartition("::")[2]
    if not alone or frame.function != name or trial.failure.phase != "call":
        return unclear
    place = case.roles.place(frame.file)
    call = deadly_call(_text(case, place), name, frame.line, trial.signal or trial.failure.exception) if place else None
    if call is None or place is None:
        return unclear
    return Blame(Role.TEST, f"the test itself calls `{call}`", place, frame.line, frame.function)


def _blamed(case: Case, frame: Frame, reason: str, *, through: str | None = None) -> Blame:
    signature = case.signature
    if signature.file == case.roles.place(frame.file) and signature.line:
        # The signature's frame is the steadier one where a recursion ran out of stack.
        return Blame(
            Role.PRODUCT, reason, signature.file, signature.line, signature.function or frame.function, through
        )
    return Blame(Role.PRODUCT, reason, case.roles.place(frame.file), frame.line, frame.function, through)


def _unreadable(case: Case, seen: list[Trial]) -> str:
    """Return why the stacks, if there are any, do not tell whose call it was; empty if they may."""
    if not seen:
        return "no Python frame of the thread that died was seen"
    if case.signature.phase == "exit":
        return "the process died after the last test, when threads and modules of all parties are taken down together"
    output = "\n".join(f"{trial.stderr}\n{trial.failure.text if trial.failure else ''}" for trial in seen).lower()
    if any(mark in output for mark in CORRUPTION):
        return "memory had been damaged before: the place of death is only where it was noticed"
    if COLLECTING in output:
        return "it died while the garbage collector ran, whose caller is whoever happened to allocate"
    return ""


def _product(case: Case, found: Blame, seen: list[Trial]) -> Proposal:
    place = f"{found.file}:{found.line}"
    within = f" in `{found.through}`" if found.through else ""
    culprits = [
        Culprit(
            role="product", file=found.file, lines=(found.line,), what=f"call in `{found.function}` that dies{within}"
        )
    ]
    if found.through:
        what = f"`{found.through}` (its version was not recorded), called by the product"
        culprits.insert(0, Culprit(role="dependency", file=_dependency_file(seen), what=what))
    return Proposal(
        verdict=Verdict.REAL_BUG,
        cause="crash",
        strength=Strength.SUPPORTED,
        subject=f"`{found.function}` in {place}",
        culprits=tuple(culprits),
        evidence=(_traceback(case, seen, found.reason),),
        not_established=(
            "the native frame and the address that was touched: only Python frames were seen",
            "whether the same call dies in a bare script, without the test, and that what the test passed to it was allowed",
        ),
        next=f"look at the native call that `{found.function}` makes at {place}: the lifetime and bounds of what it is given",
    )


def _test(case: Case, found: Blame, seen: list[Trial]) -> Proposal:
    place = f"{found.file}:{found.line}"
    return Proposal(
        verdict=Verdict.WRONG_TEST,
        cause="crash",
        strength=Strength.SUPPORTED,
        subject=f"`{found.function}` in {place}",
        culprits=(
            Culprit(role="test", file=found.file, lines=(found.line,), what="call that ends the process by itself"),
        ),
        evidence=(_traceback(case, seen, f"{found.reason}, under no condition that the product decides"),),
        next=f"take the call at {place} out of the test's process: run it in a child process",
    )


def _undecided(case: Case, reason: str, seen: list[Trial]) -> Proposal:
    """Say that the stack gives no ground; the place that was seen is shown as evidence, not as a culprit."""
    return Proposal(
        verdict=Verdict.UNDETERMINED,
        reason=reason,
        evidence=(_traceback(case, seen, reason),) if seen else (),
        not_established=(f"whose call it was: {reason}",),
        hypotheses=NATIVE_HYPOTHESES,
        next="record the native stack: allow core files (`ulimit -c unlimited`), run it again and read the core with `gdb`",
    )


def _traceback(case: Case, seen: list[Trial], statement: str) -> Evidence:
    trial = seen[0]
    frames = trial.failure.frames if trial.failure else ()
    shown = [f"{case.roles.shown(frame.file)}:{frame.line} in {frame.function}" for frame in frames[-12:]]
    data = {"signal": trial.signal or case.signature.exception, "frames": shown, "trials": len(seen)}
    return Evidence(kind="traceback", statement=statement, data=data)


def _package(frame: Frame) -> str:
    return (installed_path(frame.file) or "").partition("/")[0].removesuffix(".py")


def _dependency_file(seen: list[Trial]) -> str | None:
    files = [installed_path(frame.file) for trial in seen if trial.failure for frame in trial.failure.frames]
    return next((file for file in reversed(files) if file), None)


def _text(case: Case, place: str) -> str:
    try:
        return Path(case.roles.root, place).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
