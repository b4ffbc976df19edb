"""What a cause's rule gets to see: one signature, its failures, the claims about it, and facts about the test."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from triage.classify.roles import Role, Roles
from triage.model.claim import Claim
from triage.model.outcome import Outcome
from triage.model.signature import Signature
from triage.model.trial import Trial
from triage.targets.side_effects import reach


class Facts(Struct, frozen=True, kw_only=True):
    """What one execution of the target did, counted by the probe (the largest numbers seen), and what is known of its setup."""

    threads: int = 0
    """Threads started."""
    processes: int = 0
    forks: int = 0
    sleeps: int = 0
    """Calls of `time.sleep`."""
    connects: tuple[str, ...] = ()
    """Addresses that sockets were connected to."""
    binds: tuple[str, ...] = ()
    lookups: tuple[str, ...] = ()
    """Host names that were resolved."""
    marks: tuple[str, ...] = ()
    """Names of the target's pytest marks."""
    asynchronous: bool = False
    """Whether the test is a coroutine."""
    collected: tuple[str, ...] = ()
    """Files of the collected tests of the whole scope, relative to the root folder."""
    reruns: str | None = None
    """What in the user's own setup can rerun failures, if trials had it switched off: a plugin, or better its option."""

    @property
    def concurrent(self) -> bool:
        """Whether anything ran beside the test's own thread of control."""
        return bool(self.threads or self.processes or self.forks or self.asynchronous)

    @property
    def remote(self) -> bool:
        """Whether the target reached for another machine."""
        return reach(self.connects, self.lookups) is not None


class Case:
    """One signature of one target. Rules read it and change nothing."""

    def __init__(
        self,
        *,
        target: str,
        signature: Signature,
        failures: tuple[Trial, ...],
        claims: tuple[Claim, ...] = (),
        facts: Facts,
        roles: Roles,
        passed: int = 0,
    ) -> None:
        """`failures` are the trials with this signature; `claims` those that stand, of the largest effect first.

        `passed` counts the trials of any arm that did not fail.
        """
        self.target = target
        self.signature = signature
        self.failures = failures
        self.claims = claims
        self.facts = facts
        self.roles = roles
        self.passed = passed

    @property
    def trigger(self) -> Claim | None:
        """The standing claim with the largest effect."""
        return self.claims[0] if self.claims else None

    @property
    def factor(self) -> str | None:
        """The factor that was shown to trigger the failure, or None."""
        return self.claims[0].factor if self.claims else None

    @property
    def fails_alone(self) -> bool:
        """Whether the failure goes away when other tests run before the target."""
        return self.factor == "order" and not (self.claims[0].trigger.arm.level("order") or NO_IDS).ids

    @property
    def exception(self) -> str:
        """Name of the exception type without its module; empty if there is none."""
        return (self.signature.exception or "").rpartition(".")[2]

    @property
    def asserts(self) -> bool:
        """Whether an assertion failed."""
        return self.exception == "AssertionError"

    @property
    def outcome(self) -> Outcome:
        """How these trials ended."""
        return self.signature.outcome

    @cached_property
    def raised_by(self) -> Role | None:
        """Whose code the deepest frame in the project is; None without one."""
        return self.roles.role(self.signature.file) if self.signature.file else None

    def says(self, *words: str) -> bool:
        """Whether the message or text of any of the failures contains one of `words`, in any case of letters."""
        texts = [f"{trial.failure.message}\n{trial.failure.text}".lower() for trial in self.failures if trial.failure]
        return any(word.lower() in text for text in texts for word in words)


class _NoLevel(Struct, frozen=True):
    ids: tuple[str, ...] = ()


NO_IDS = _NoLevel()
"""Stands for the level of an arm that does not set the factor."""
