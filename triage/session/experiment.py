"""One experiment: a target's trials, chosen by the planner, run by the cold engine, counted, classified, stored."""

from __future__ import annotations

import platform
import random
import time

from msgspec.structs import replace

from triage.classify.case import Facts
from triage.classify.findings import classify
from triage.experiment.bench import Limits as PlanLimits
from triage.experiment.ledger import COUNTED
from triage.experiment.planner import Planner
from triage.factors.base import Context, Factor
from triage.factors.order import ORDERS
from triage.factors.registry import factors
from triage.model.arm import BASELINE, Arm, Depth
from triage.model.claim import ArmCount, SignatureStudy, Study
from triage.model.events import EventSink, ExperimentFinished, TrialFinished, TrialStarted
from triage.model.invocation import Invocation, relative_to
from triage.model.observation import ANY, Observation
from triage.model.observation import Request as Wanted
from triage.model.outcome import GRAVITY, Outcome
from triage.model.project import Item
from triage.model.signature import Signature, signature_of
from triage.model.surface import Surface
from triage.model.trial import Stage, Trial
from triage.model.verdict import Environment, Report, UsedInterpreter
from triage.runner.cold import ColdRunner, Request
from triage.runner.forks import UnforkableError
from triage.runner.wire import Wire
from triage.session.forking import Forking
from triage.session.limits import Limits
from triage.session.options import RunOptions
from triage.session.prepare import Prepared
from triage.session.reaching import facts_of, refusal
from triage.session.record import Record
from triage.session.resume import Kept, added_to
from triage.session.sequence import in_order
from triage.session.starts import TRIALS as STARTING_TRIALS
from triage.session.starts import arm_of_starts, evidence
from triage.session.steadiness import why_not_run
from triage.session.summary import headed, merged, unfit_finding
from triage.store.history import History

SHORTEST_LIMIT = 2.0
"""Seconds that a trial gets at least, also when the budget is all but used up."""
FIRST_SHARE = 0.2
"""Part of the budget that the first trial with other tests before the target may take: a suite may last for hours."""
FEW = "`--trials` bounds their number, and a fresh process tells most"
"""Why trials are not forked where their number is what is scarce."""
SHOWN_EVERY = 0.2
"""Seconds between two forked trials that listeners are told of."""
MOST_BROKEN = 5
"""Broken trials in a row after which the instrument is given up."""


class UnfitError(Exception):
    """The target cannot be experimented on; the report says why."""

    def __init__(self, why: str, what_to_do: str) -> None:
        super().__init__(why)
        self.why = why
        self.what_to_do = what_to_do


class Experiment:
    """One target from the first look to its report."""

    def __init__(
        self,
        prepared: Prepared,
        target: Item,
        options: RunOptions,
        runner: ColdRunner,
        history: History,
        sink: EventSink,
        spent: float = 0.0,
        unforkable: str | None = None,
        surface: Surface | None = None,
        kept: Kept | None = None,
    ) -> None:
        """`spent` are seconds of the budget that preparing took; `unforkable` is why no trial can be forked, None if they can.

        `surface` is kept with the trials; `kept` are those of an experiment that was interrupted, with which this one goes on.
        """
        self.unforkable = unforkable if options.trials is None else FEW
        self.project = prepared.project
        self.target = target
        self.options = options
        self.runner = runner
        self.record = Record(history, sink)
        self.sink = sink
        self.seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1 << 32)
        self.kept = kept
        self.started = time.monotonic() - spent - (kept.spent if kept else 0.0)
        self.trials: list[Trial] = list(kept.trials) if kept else []
        self._last = max((trial.number for trial in self.trials), default=0)
        self.signatures: dict[str, Signature] = {}
        self.starting: Arm | None = None
        self.limits = Limits()
        self.facts = Facts()
        self.planner: Planner | None = None
        self.forking: Forking | None = None
        self._shown = 0.0
        self.excluded: list[tuple[str, str]] = []
        for trial in self.trials:
            self.limits.learn(trial)
        self.id = self.record.resume(kept.experiment) if kept else self.record.start(target, self.project, surface)

    # -- running --------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run trials until the planner has enough or the limits are reached; raises `UnfitError` or `KeyboardInterrupt`."""
        scout = self._scout()
        self.forking = forking = Forking(
            self.runner,
            self.target,
            self.project.scope,
            scout,
            self.unforkable,
            max((trial.cluster or 0 for trial in self.trials), default=0),
        )
        chosen = self._factors(scout)
        self._try_starts(chosen)
        planner = self.planner = Planner(
            chosen,
            PlanLimits(self.options.budget, self.options.trials),
            random.Random(self.seed),
            self.clock,
            self._gravity,
            forking=forking.reason is None,
        )
        for trial in self.trials:  # the first look counts, like any other trial of the baseline, and so do kept trials
            planner.ledger.add(trial.arm, trial.stage, replace(self._observe(trial), cluster=trial.cluster))
        plan = planner.run()
        broken = 0
        try:
            wanted = next(plan)
            while True:
                if wanted.arm.depth is Depth.FORKED:
                    wanted = plan.send(self._forked(forking, wanted, planner.doing))
                    continue
                trial = self._trial(wanted, planner.doing)
                broken = broken + 1 if trial.outcome is Outcome.BROKEN else 0
                if broken >= MOST_BROKEN:
                    raise UnfitError(
                        f"{broken} trials in a row could not be run: {trial.reason}", "see `triage doctor`"
                    )
                wanted = plan.send(self._observe(trial))
        except StopIteration:
            return
        finally:
            plan.close()
            forking.close()

    def clock(self) -> float:
        """Seconds since the experiment began."""
        return time.monotonic() - self.started

    def _scout(self) -> Trial:
        """Take a first look, which also counts what the test does, and stop where rerunning makes no sense or does harm."""
        for _ in range(2):
            trial = self._trial(Wanted(BASELINE, Stage.SCOUT), "taking a first look", facts=True)
            if trial.outcome is not Outcome.BROKEN:
                break
        if trial.outcome is Outcome.BROKEN:
            what_to_do = f"run `{trial.command}` by hand, or give it more --budget"
            raise UnfitError(f"no trial came to an end: {trial.reason}", what_to_do)
        if trial.outcome in {Outcome.SKIPPED, Outcome.NOT_COLLECTED}:
            why = "it is skipped" if trial.outcome is Outcome.SKIPPED else "pytest does not run it"
            raise UnfitError(
                f"{why}: {why_not_run(trial, self.target, self.project.unsteady)}", "make it run here, then try again"
            )
        return trial

    def _try_starts(self, chosen: list[Factor]) -> None:
        """Try what the user's own command names, as it is, before anything else."""
        arm = self.starting = arm_of_starts(chosen)
        most = STARTING_TRIALS if self.options.trials is None else min(STARTING_TRIALS, self.options.trials // 4)
        began = self.clock()
        while arm and most > 0 and self.clock() - began < FIRST_SHARE * self.options.budget:
            most -= 1
            trial = self._trial(Wanted(arm, Stage.SCOUT), f"trying {arm.levels[0].value}")
            if trial.outcome in {Outcome.BROKEN, Outcome.HUNG}:
                return

    def _refuse(self, wire: Wire | None) -> None:
        """Stop if anything that ran reaches beyond this machine and that was not allowed."""
        if wire and not self.options.allow_side_effects and (refused := refusal(wire, self.target.id)):
            raise UnfitError(*refused)

    def _factors(self, scout: Trial) -> list[Factor]:
        context = Context(
            project=self.project,
            target=self.target,
            orders=relative_to(self.project.root, str(self.runner.state / ORDERS)),
            test_seconds=scout.test_seconds or 0.0,
        )
        chosen: list[Factor] = []
        self._by_name: dict[str, Factor] = {}
        for name, kind in factors().items():
            factor = self._by_name[name] = kind(context)  # also of one left out: another may be refined to it
            if (self.options.factors and name not in self.options.factors) or name in self.options.skip:
                self.excluded.append((name, "left out by the options"))
            elif reason := factor.reason():
                self.excluded.append((name, reason))
            else:
                chosen.append(factor)
        return chosen

    def invocation(self, arm: Arm) -> Invocation:
        """Return how pytest is started under `arm`."""
        result = Invocation(
            root=self.project.root,
            python=self.project.interpreters[0].path,
            node_ids=(self.target.id,),
            options=self.project.options,
            levels=self.project.levels,
        )
        for level in arm.levels:
            result = self._by_name[level.factor].apply(level, result)
        return result

    def _request(self, wanted: Wanted, affordable: float, *, facts: bool = False) -> Request:
        arm = wanted.arm
        repeat = arm.level("repeat")
        return Request(
            invocation=self.invocation(arm),
            target=self.target.id,
            arm=arm,
            stage=wanted.stage,
            limit=min(self.limits.of(arm), affordable),
            probed=wanted.stage is not Stage.PLAIN,
            facts=facts,
            reach=arm.with_others,
            repeat=int(repeat.value) if repeat else 1,
        )

    def _affordable(self, arm: Arm) -> float:
        """Return the seconds that the budget allows for a trial."""
        left = max(self.options.budget - self.clock(), SHORTEST_LIMIT)
        if arm.with_others and not self.limits.knows(arm):
            left = min(left, max(FIRST_SHARE * self.options.budget, SHORTEST_LIMIT))
        return left

    def _forked(self, forking: Forking, wanted: Wanted, doing: str) -> Observation:
        """Run a forked trial; listeners are told of one now and then."""
        affordable = self._affordable(wanted.arm)
        natural = self.limits.of(wanted.arm)
        began = self.clock()
        try:
            finished, start = forking.run(self._request(wanted, affordable), wanted.generation)
        except UnforkableError:
            return Observation(evidence=False, refused=True, seconds=self.clock() - began)
        trial = in_order(self._numbered(finished.trial), self.target.id)
        if finished.end.limit_hit and affordable < natural:
            trial = replace(
                trial,
                outcome=Outcome.BROKEN,
                reason=f"it was still running after {affordable:.1f} s when the budget ended",
                failure=None,
            )
        self.trials.append(trial)
        self.limits.learn(trial)
        self.record.add(trial)
        if self.clock() - self._shown > SHOWN_EVERY:
            self._shown = self.clock()
            self.sink(TrialStarted(wanted.arm, wanted.stage, doing))
            self.sink(TrialFinished(trial, self._totals(), self.clock(), self._last))
        self._refuse(finished.wire)
        seen = self._observe(trial)
        return replace(seen, seconds=self.clock() - began, start_seconds=start, cluster=trial.cluster)

    def _trial(self, wanted: Wanted, doing: str, *, facts: bool = False) -> Trial:
        arm = wanted.arm
        natural = self.limits.of(arm)
        affordable = self._affordable(arm)
        self.sink(TrialStarted(arm, wanted.stage, doing))
        finished = self.runner.run(self._request(wanted, affordable, facts=facts))
        trial = self._numbered(finished.trial)
        if finished.end.limit_hit and affordable < natural:
            reason = f"it took longer than the {affordable:.0f} s that the budget allows for it"
            trial = replace(trial, outcome=Outcome.BROKEN, reason=reason, failure=None)
        elif wanted.stage is not Stage.PLAIN:
            trial = in_order(trial, self.target.id)
        if facts and finished.wire:
            self.facts = facts_of(finished.wire, self.target, self.project)
        self.trials.append(trial)
        self.limits.learn(trial)
        self.record.add(trial)
        self.sink(TrialFinished(trial, self._totals(), self.clock(), self._last))
        self._refuse(finished.wire)
        return trial

    def _numbered(self, trial: Trial) -> Trial:
        self._last += 1
        return replace(trial, number=self._last)

    def _observe(self, trial: Trial) -> Observation:
        key: str | None = None
        if trial.is_failure:
            if trial.stage is Stage.PLAIN:
                key = ANY
            else:
                signature = signature_of(trial, self.project.root)
                if signature is not None:
                    key = signature.key
                    self.signatures[key] = signature
        before, seconds = trial.before_in_worker(self.target.id), trial.wall_seconds
        return Observation(trial.is_evidence, key, trial.index, seconds, before=before)

    def _gravity(self, key: str) -> int:
        return GRAVITY.get(self.signatures[key].outcome, 0)

    # -- reporting ------------------------------------------------------------------------------------------------

    def study(self) -> Study:
        """Return what was counted so far."""
        planner = self.planner
        if planner is None:
            return Study(target=self.target.id, complete=False, excluded=tuple(self.excluded))
        ledger = planner.ledger
        totals = self._totals()
        return Study(
            target=self.target.id,
            studies=tuple(
                SignatureStudy(
                    signature=key,
                    claims=tuple(planner.claims.get(key, ())),
                    arms=merged(ledger.tally(arm, key, COUNTED - {Stage.CONFIRM}) for arm in ledger.arms()),
                    note=planner.notes.get(key, ""),
                )
                for key in ledger.failures
            ),
            total=totals,
            complete=planner.complete,
            excluded=tuple(self.excluded),
            baseline=next((count for count in totals if count.arm == BASELINE), None),
            unforkable=self.forking.reason if self.forking else None,
            seeded_apart=self.forking.seeded_apart if self.forking else (),
            split=next((level.value for level in self.project.starts if level.factor == "workers"), None),
            unsteady=tuple(one.statement for one in self.project.unsteady),
        )

    def report(self, unfit: UnfitError | None = None, *, interrupted: bool = False) -> Report:
        """Classify what is known, store it and tell the listeners."""
        study = self.study()
        findings = (
            (unfit_finding(unfit.why, unfit.what_to_do, self.excluded),)
            if unfit
            else classify(
                target=self.target.id,
                root=self.project.root,
                trials=tuple(self.trials),
                study=study,
                facts=self.facts,
            )
        )
        report = headed(
            added_to(findings, self.kept, evidence(self.starting, self.trials)),
            experiment=self.id,
            target=self.target.id,
            environment=self._environment(),
            trials=self._last,
            wall_seconds=round(self.clock(), 3),
            complete=study.complete and unfit is None,
            interrupted=interrupted,
            root=self.project.root,
            takeovers=tuple(f"{taken.what}: {taken.why}" for taken in self.project.takeovers),
        )
        self.record.finish(report)
        self.sink(ExperimentFinished(report, unfit.why if unfit else None))
        return report

    def _environment(self) -> Environment:
        own = self.project.interpreters[0]
        return Environment(
            python=tuple(interpreter.version for interpreter in self.project.interpreters),
            pytest=own.pytest,
            platform=platform.platform(terse=True),
            interpreters=tuple(
                UsedInterpreter(version=one.version, origin=one.origin, pytest=one.pytest)
                for one in self.project.interpreters
            ),
        )

    def _totals(self) -> tuple[ArmCount, ...]:
        if self.planner is None:
            return ()
        ledger = self.planner.ledger
        return merged(ledger.tally(arm, ANY, COUNTED) for arm in ledger.arms())
