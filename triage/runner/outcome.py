"""Decides what a finished process says about its target: a pure function of the wire, the process' end and the crash text.

The order of the questions matters. First, did the instrument work? Then what pytest itself recorded of the target: the
first execution that is not a pass decides, and whatever happened to the process later is only noted. Only where pytest
recorded nothing does the end of the process speak: in the middle of the target, after it, or before it started.
"""

from __future__ import annotations

import signal

from msgspec import Struct

from triage.model.outcome import FAILURES, Outcome
from triage.model.trial import Failure, Worker
from triage.runner.execution import FAILED_WORDS, Execution, executions
from triage.runner.faulthandler_text import last_dump
from triage.runner.process import ProcessEnd
from triage.runner.wire import Phase, Start, Wire

FROM_OUTSIDE = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
"""Signals that programs do not raise by accident."""
TEXT_LIMIT = 100_000
"""Characters kept of a crash text."""
STDERR_LINES = 5
INTERRUPTED, INTERNAL_ERROR, USAGE_ERROR, NO_TESTS = 2, 3, 4, 5
"""pytest's exit statuses (`pytest.ExitCode`)."""


class Judgement(Struct, frozen=True, kw_only=True):
    """What one trial says; the fields are those of the trial."""

    outcome: Outcome
    index: int | None = None
    reason: str | None = None
    failure: Failure | None = None
    test_seconds: float | None = None
    sequence: tuple[str, ...] = ()
    reruns: int = 0
    signal: str | None = None
    workers: tuple[Worker, ...] = ()


class Death(Struct, frozen=True, kw_only=True):
    """An end of the process that is not pytest's own."""

    outcome: Outcome
    words: str
    """Continues "the process ..."."""
    exception: str | None = None


def judge(wire: Wire | None, end: ProcessEnd, *, target: str | None, repeat: int = 1, crash: str = "") -> Judgement:
    """Return what a trial says about `target`; without one, about the whole session.

    `wire` is None for a trial without the probe, which is judged by its exit status alone; `crash` is the text
    that `faulthandler` wrote.
    """
    died_by = signal_name(end.signal) if end.signal is not None else None
    if end.error is not None:
        return Judgement(outcome=Outcome.BROKEN, reason=end.error, signal=died_by)
    if wire is None:
        return with_signal(judge_status(end, crash or end.stderr), died_by)
    case = Case(wire, end, target, repeat, crash)
    verdict = case.judge()
    last = case.deciding(verdict)
    return Judgement(
        outcome=verdict.outcome,
        index=verdict.index,
        reason=verdict.reason,
        failure=verdict.failure,
        test_seconds=last.seconds if last else None,
        sequence=wire.sequence,
        reruns=sum(phase.outcome == "rerun" for run in case.runs for phase in run.phases),
        signal=died_by,
    )


def with_signal(verdict: Judgement, name: str | None) -> Judgement:
    """Return a judgement with the signal that ended the process."""
    return Judgement(outcome=verdict.outcome, reason=verdict.reason, failure=verdict.failure, signal=name)


def signal_name(number: int) -> str:
    """Return `SIGSEGV` and the like."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def death_of(end: ProcessEnd) -> Death | None:
    """Return how the process died, if it was not by leaving."""
    if end.stopped == "signal":
        return Death(outcome=Outcome.KILLED, words="was ended with its supervisor, by whom is not known")
    if end.limit_hit:
        return Death(outcome=Outcome.HUNG, words="reached the time limit")
    if end.signal is None:
        return None
    name = signal_name(end.signal)
    if end.signal in FROM_OUTSIDE:
        why = "was killed by the kernel: out of memory" if end.oom else f"was ended by {name}, by whom is not known"
        return Death(outcome=Outcome.KILLED, words=why)
    return Death(outcome=Outcome.CRASHED, words=f"died by {name}", exception=name)


def failure_of(death: Death, phase: str, crash: str) -> Failure:
    """Return a crash or hang with the stack of the thread that it stands for."""
    dump = last_dump(crash)
    thread = None if dump is None else dump.main if death.outcome is Outcome.HUNG else dump.current
    error = dump.error if dump is not None and death.outcome is Outcome.CRASHED else None
    return Failure(
        phase=phase,
        exception=death.exception,
        message=error or death.words,
        frames=thread.frames if thread else (),
        text=shorten(crash),
    )


def shorten(text: str) -> str:
    """Cut a long text in the middle."""
    if len(text) <= TEXT_LIMIT:
        return text
    half = TEXT_LIMIT // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def judge_status(end: ProcessEnd, crash: str) -> Judgement:
    """Judge a process by its end alone, reading none of pytest's output."""
    death = death_of(end)
    if death is None:
        status = end.exit_status
        if status in PLAIN:
            outcome, reason = PLAIN[status]
            return Judgement(outcome=outcome, reason=reason)
        death = Death(outcome=Outcome.CRASHED, words=f"exited with status {status}, which is none of pytest's")
    failure = failure_of(death, "call", crash) if death.outcome in FAILURES else None
    return Judgement(outcome=death.outcome, reason=f"the process {death.words}", failure=failure)


PLAIN: dict[int | None, tuple[Outcome, str | None]] = {
    0: (Outcome.PASSED, None),
    1: (Outcome.FAILED, None),
    INTERRUPTED: (Outcome.NOT_COLLECTED, "pytest was interrupted or could not collect (status 2)"),
    INTERNAL_ERROR: (Outcome.BROKEN, "pytest or a plugin failed (status 3)"),
    USAGE_ERROR: (Outcome.BROKEN, "pytest refused its arguments or configuration (status 4)"),
    NO_TESTS: (Outcome.NOT_COLLECTED, "no test was selected (status 5)"),
}


class Case:
    """One probed trial, with what its judgement is made from."""

    def __init__(
        self, wire: Wire, end: ProcessEnd, target: str | None, repeat: int, crash: str, subject: str = "the process"
    ) -> None:
        """`subject` is what reasons call the process."""
        self.wire = wire
        self.end = end
        self.target = target
        self.repeat = repeat
        self.crash = crash
        self.subject = subject
        self.death = death_of(end)
        self.runs = executions(wire.tests, target) if target is not None else ()

    def judge(self) -> Judgement:
        """Ask the questions in their order."""
        decided = next((run for run in self.runs if run.outcome not in {None, Outcome.PASSED}), None)
        if decided is not None and decided.outcome in FAILURES:
            return self.then(recorded(decided))
        if self.death is not None and self.death.outcome is Outcome.KILLED:
            return self.by_death(self.death, "call")
        if self.wire.hello is None:
            return Judgement(outcome=Outcome.BROKEN, reason=f"the probe did not load{self.last_words()}")
        if decided is not None and decided.outcome is Outcome.SKIPPED:
            return self.then(recorded(decided))
        return self.session() if self.target is None else self.by_progress(decided)

    def by_progress(self, decided: Execution | None) -> Judgement:
        """Judge by how far the target had come; `decided` is an expected failure or an unexpected pass."""
        if not self.runs:
            return self.not_started()
        if not self.runs[-1].done:
            return self.in_the_middle(self.runs[-1])
        base = recorded(decided) if decided is not None else Judgement(outcome=Outcome.PASSED)
        if self.death is None and self.wire.session_status is not None:
            return self.after_session(base)
        return self.after_death(base)

    def deciding(self, verdict: Judgement) -> Execution | None:
        """Return the execution that the judgement is about: the first that ended so, else the last."""
        if not self.runs:
            return None
        return next((run for run in self.runs if run.outcome is verdict.outcome), self.runs[-1])

    def then(self, verdict: Judgement) -> Judgement:
        """Return a judgement that notes the end of the process that came later."""
        return verdict if self.death is None else noted(verdict, f"later {self.subject} {self.death.words}")

    def by_death(self, death: Death, phase: str, where: str = "") -> Judgement:
        """Return the process' end as the outcome."""
        return Judgement(
            outcome=death.outcome,
            index=self.runs[-1].index if self.runs else None,
            reason=f"{self.subject} {death.words}{where}",
            failure=failure_of(death, phase, self.crash) if death.outcome in FAILURES else None,
        )

    def session(self) -> Judgement:
        """Judge a trial that has no single target by how the session ended."""
        if self.wire.collect_errors and self.death is None:
            return Judgement(outcome=Outcome.NOT_COLLECTED, reason=self.collection_error())
        return judge_status(self.end, self.crash)

    def in_the_middle(self, run: Execution) -> Judgement:
        """The target was running when everything ended."""
        if self.death is not None:
            return self.by_death(self.death, run.phase, f" in the middle of the test ({run.phase})")
        if self.wire.internal_errors or self.wire.session_status == INTERNAL_ERROR:
            return self.internal_error()
        status = self.end.exit_status
        if self.wire.session_status is None:
            words = f"exited with status {status}"
        else:  # by KeyboardInterrupt or pytest.exit: our trials sit in a session that no terminal reaches
            words = f"was told to end the whole session (status {self.wire.session_status})"
        return self.by_death(Death(outcome=Outcome.CRASHED, words=words), run.phase, " in the middle of the test")

    def after_death(self, base: Judgement) -> Judgement:
        """The target had ended without a failure, and then the process did without ending the session, or at exit."""
        death = self.death
        if death is None:
            if self.wire.internal_errors:
                return self.internal_error()
            death = Death(outcome=Outcome.CRASHED, words=f"exited with status {self.end.exit_status}")
        others = self.started_after()
        if not others:
            moment = "after the session" if self.wire.session_status is not None else "before the session had ended"
            return self.by_death(death, "exit", f" after the test, {moment}")
        culprit = self.running() or others[-1]
        return noted(base, f"{self.subject} {death.words} in or after `{culprit}`, which ran after the target")

    def after_session(self, base: Judgement) -> Judgement:
        """The target had ended without a failure, and so did the process."""
        if self.wire.internal_errors or self.wire.session_status == INTERNAL_ERROR:
            return self.internal_error()
        count = len({run.index for run in self.runs})
        if count < self.repeat and base.outcome is Outcome.PASSED:
            return Judgement(outcome=Outcome.BROKEN, reason=f"the target ran {count} of {self.repeat} times")
        if self.end.exit_status and not self.failed_elsewhere():
            return self.red(base)
        return base

    def red(self, base: Judgement) -> Judgement:
        """No test had failed, and yet the process ended with a status that fails the user's own run."""
        status = self.end.exit_status
        if set(self.wire.sequence) != {self.target}:
            return noted(base, f"pytest ended with status {status} although no test had failed")
        if self.wire.session_status != status:
            death = Death(outcome=Outcome.CRASHED, words=f"exited with status {status}")
            return self.by_death(death, "exit", " after the test, after the session")
        words = f"pytest ended with status {status} although no test had failed"
        failure = Failure(phase="exit", message=words)
        return Judgement(outcome=Outcome.ERROR, index=self.runs[-1].index, reason=words, failure=failure)

    def not_started(self) -> Judgement:
        """The target never started."""
        running, sequence = self.running(), self.wire.sequence
        if self.death is not None and not sequence:
            return self.by_death(self.death, "collect", " before any test had started")
        if self.wire.session_status == INTERNAL_ERROR or self.wire.internal_errors:
            in_collection = self.wire.configured is not None and self.wire.collected is None
            return self.internal_error(Outcome.NOT_COLLECTED if in_collection else Outcome.BROKEN)
        if running is not None or (sequence and (self.death is not None or self.wire.session_status is None)):
            words = self.death.words if self.death else f"exited with status {self.end.exit_status}"
            where = f"in `{running}`" if running else f"after `{sequence[-1]}`"
            reason = f"{self.subject} {words} {where}, before the target had started"
        elif self.wire.collect_errors:
            reason = self.collection_error()
        else:
            return self.never_selected()
        return Judgement(outcome=Outcome.NOT_COLLECTED, reason=reason)

    def never_selected(self) -> Judgement:
        """No test ended the process and nothing could be seen to fail, yet the target did not run."""
        status, collected = self.wire.session_status, self.wire.collected
        outcome = Outcome.NOT_COLLECTED
        if collected is None or status == USAGE_ERROR:
            # A conftest that cannot be imported is a collection error, told as a usage error before the session.
            conftest = "while loading conftest" in self.end.stderr
            if self.wire.configured is None and not conftest:
                outcome = Outcome.BROKEN
            reason = f"pytest ended with status {self.end.exit_status} before it had collected{self.last_words()}"
        elif self.wire.sequence:
            reason = f"the session ended after `{self.wire.sequence[-1]}`, before the target had started"
        elif collected.selected < collected.count:
            reason = f"deselected: {collected.selected} of {collected.count} collected tests were kept"
        else:
            reason = f"not among the {collected.count} collected tests"
        return Judgement(outcome=outcome, reason=reason)

    def internal_error(self, outcome: Outcome = Outcome.BROKEN) -> Judgement:
        """Pytest or one of its plugins failed."""
        text = self.wire.internal_errors[0] if self.wire.internal_errors else ""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        why = f": {lines[-1]}" if lines else self.last_words()
        return Judgement(outcome=outcome, reason=f"pytest had an internal error{why}")

    def collection_error(self) -> str:
        """Return the line that says why the target's file, or else any, could not be collected."""
        errors = self.wire.collect_errors
        file = (self.target or "").partition("::")[0]
        error = next((error for error in errors if file and error.id.partition("::")[0] == file), errors[0])
        lines = [line.rstrip() for line in error.text.splitlines() if line.strip()]
        raised = next((line[1:].strip() for line in lines if line.startswith("E ")), None)
        return f"collection of `{error.id}` failed: {raised or (lines[0].strip() if lines else 'no reason given')}"

    def running(self) -> str | None:
        """Return the test that was in progress when the record ends."""
        started = [event.id for event in self.wire.tests if isinstance(event, Start)]
        return next((test for test in reversed(started) if not executions(self.wire.tests, test)[-1].done), None)

    def started_after(self) -> tuple[str, ...]:
        """Return the other tests that started after the last event of the target."""
        last = max(number for number, event in enumerate(self.wire.tests) if event.id == self.target)
        return tuple(event.id for event in self.wire.tests[last + 1 :] if isinstance(event, Start))

    def failed_elsewhere(self) -> bool:
        """Whether any other test failed, which explains a status of 1."""
        return any(isinstance(event, Phase) and event.outcome in FAILED_WORDS for event in self.wire.tests)

    def last_words(self) -> str:
        """Return the end of standard error, to be appended to a reason."""
        lines = [line.strip() for line in self.end.stderr.splitlines() if line.strip()]
        return f": {' | '.join(lines[-STDERR_LINES:])}" if lines else ""


def recorded(run: Execution) -> Judgement:
    """Return what pytest recorded of an execution that is not a pass."""
    assert run.outcome is not None
    return Judgement(outcome=run.outcome, index=run.index, reason=run.reason, failure=run.failure)


def noted(verdict: Judgement, note: str) -> Judgement:
    """Return a judgement with something more to its reason."""
    reason = "; ".join(filter(None, (verdict.reason, note)))
    return Judgement(outcome=verdict.outcome, index=verdict.index, reason=reason, failure=verdict.failure)
