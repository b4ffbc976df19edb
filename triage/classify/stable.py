"""Targets that never failed or never passed: nobody is wrong, and the bound says how far that was looked into."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from triage.classify.case import Case, Facts
from triage.classify.cause import Proposal
from triage.classify.evidence import not_varied, rates, tried
from triage.classify.wording import bound, counted, happening, of, percent
from triage.classify.workers import hidden_by_xdist
from triage.model.arm import BASELINE, Depth
from triage.model.claim import ArmCount, Study
from triage.model.outcome import Outcome
from triage.model.trial import Trial
from triage.model.verdict import Evidence, Finding, Strength, Verdict
from triage.stats.intervals import upper_bound

ENOUGH_PASSES, ENOUGH_FAILURES = 10, 5
"""Fewer trials that all end alike are called undetermined: 0 of 9 leaves a rate of 28% open."""
RERUNNING = re.compile(r"--reruns|\breruns\b|\bflaky\b")
"""An option or mark that reruns failures."""
TIGHT = 0.1
"""A bound up to here makes `stable_pass` supported; a wider one leaves it a suggestion."""


def stable_pass(study: Study, trials: Sequence[Trial], killed: int = 0) -> Finding:
    """Return the finding of a target without a failure; `trials` are those that count.

    `killed` more were ended by a signal that may have come from anywhere, the target included: with them it is not called stable.
    """
    total = ArmCount(BASELINE, 0, len(trials))
    forked = sum(count.trials for count in study.total if count.arm.depth is Depth.FORKED)
    if any(count.failed for count in study.total if count.arm.depth is Depth.FORKED):
        forked = 0  # made by forking
    own = study.baseline if study.baseline and study.baseline.trials and not study.baseline.failed else None
    enough = len(trials) >= ENOUGH_PASSES
    if own and own.trials < len(trials):
        passed = f"the user's own command passed {counted(own.trials, 'time')}"
        limit = f"{passed}, so at 95 % confidence it fails in {bound(own)} of runs"
    else:
        limit = f"at 95 % confidence it fails in {bound(total)} of runs under these conditions"
    beside = f" and {counted(forked, 'forked one')}" if forked else ""
    summary = f"No failure in {counted(len(trials), 'trial')}{beside}; {limit}"
    why = "" if enough else "; that is too few to call it stable"
    if killed:
        why = (
            f"; but {counted(killed, 'more trial')} ended by a signal, by whom is not known, so it is not called stable"
        )
        enough = False
    left_open = [
        f"failures rarer than that: rates up to {bound(total).removeprefix('at most ')} were not excluded over all arms together",
        *not_varied(study),
    ]
    if not study.complete:
        left_open.append("the experiment was ended before it was done")
    return Finding(
        verdict=Verdict.STABLE_PASS if enough else Verdict.UNDETERMINED,
        strength=Strength.SUPPORTED if enough and upper_bound(0, len(trials)) <= TIGHT else Strength.SUGGESTED,
        summary=f"{summary}{why}.",
        rates=rates(study.total),
        evidence=(*_marked(trials), *tried(study), *_forked(study)),
        not_established=tuple(left_open),
        next=(
            "if it still fails elsewhere, compare that machine's interpreter, packages and order of tests with this one's, or give "
            "more `--budget`"
            if enough
            else "run it again with more `--budget` or `--trials`"
        ),
    )


def stable_fail(
    case: Case, study: Study, trials: Sequence[Trial], *, ways: int, proposal: Proposal | None = None
) -> Finding:
    """Return the finding of one signature of a target that never passed; `ways` is how many signatures it has.

    `proposal` is that of a rule which looked and did not decide. No culprit is named: the place is where it shows, which need
    not be what must change.
    """
    signature, count = case.signature, ArmCount(BASELINE, len(case.failures), len(trials))
    evidence = list(tried(study))
    hidden = hiding(case.facts, trials)
    if hidden:
        evidence.insert(0, Evidence(kind="reruns", statement=hidden))
    if ways > 1:
        statement = f"no trial passed; this is one of {ways} ways to fail, seen in {of(count)} trials"
        evidence.insert(0, Evidence(kind="rate", statement=statement))
    evidence += hidden_by_xdist(signature, study)
    if proposal is not None:
        evidence = [*proposal.evidence, *evidence]
    if signature.file:
        data = {"file": signature.file, "line": signature.line, "whose": case.raised_by}
        evidence.insert(
            0, Evidence(kind="place", statement=f"the deepest frame in the project is at {signature.place}", data=data)
        )
    enough = len(trials) >= ENOUGH_FAILURES
    always = "every one of" if ways == 1 else f"{len(case.failures)} of"
    summary = f"It {happening(signature)} in {always} {counted(len(trials), 'trial')}" + (
        "" if ways == 1 else ", none of which passed"
    )
    if hidden and enough:
        summary += "; reruns may have been hiding it"
    return Finding(
        verdict=Verdict.STABLE_FAIL if enough else Verdict.UNDETERMINED,
        strength=Strength.SUPPORTED if enough else Strength.SUGGESTED,
        summary=summary + ("." if enough else "; that is too few to call it stable."),
        signature=signature.text,
        rates=rates(study.total),
        evidence=tuple(evidence),
        not_established=(
            "who is wrong, the test or the product: a failure that is always there was not taken apart",
            *(proposal.not_established if proposal else ()),
            *not_varied(study),
            *(() if study.complete else ("the experiment was ended before it was done",)),
        ),
        next=_next(case, trials),
    )


def _forked(study: Study) -> list[Evidence]:
    """Say what forked trials exclude, and under which assumption."""
    if study.unforkable:
        return [Evidence(kind="forked", statement=f"every trial ran in a fresh process: {study.unforkable}")]
    counts = [count for count in study.total if count.arm.depth is Depth.FORKED and count.trials]
    trials = sum(count.trials for count in counts)
    if not trials or any(count.failed for count in counts):  # made by forking, and told as such
        return []
    own = next((count for count in counts if not count.arm.levels), None)
    statement = f"none of {counted(trials, 'forked trial')} failed"
    if own is not None:
        statement += (
            f"; {own.trials} of them were of the user's own command, from {counted(len(own.clusters), 'process')}: that excludes "
            f"rates over {percent(upper_bound(0, own.trials))} if every trial decides anew, and over "
            f"{percent(upper_bound(0, len(own.clusters)))} if something fixed in each process decides"
        )
    return [Evidence(kind="forked", statement=statement)]


def hiding(facts: Facts, trials: Sequence[Trial]) -> str | None:
    """Say what may hide failures of this target from its owner by running it again; None if nothing is known to.

    A plugin that is merely installed reruns nothing: the target's own mark, an option or a rerun that was seen must show it.
    """
    seen = sum(bool(trial.reruns) for trial in trials)
    if seen:
        return f"in {counted(seen, 'trial')} the target was rerun after it had failed, which hides failures"
    if facts.reruns and (RERUNNING.search(facts.reruns) or RERUNNING.search(" ".join(facts.marks))):
        return f"the user's own setup reruns failures ({facts.reruns}), which hides them; trials had it switched off"
    return None


def _marked(trials: Sequence[Trial]) -> list[Evidence]:
    """Say so where passing means an expected failure, and where it does not always happen."""
    seen = Counter(trial.outcome for trial in trials)
    expected, unexpected = seen[Outcome.XFAILED], seen[Outcome.XPASSED]
    if not expected and not unexpected:
        return []
    statement = f"marked as an expected failure: it failed in {expected} trials as expected and passed in {unexpected}"
    if expected and (unexpected or seen[Outcome.PASSED]):
        statement += "; what the mark covers is itself unsteady"
    return [Evidence(kind="xfail", statement=statement, data={"xfailed": expected, "xpassed": unexpected})]


def _next(case: Case, trials: Sequence[Trial]) -> str:
    commands = [trial.command for trial in trials if trial.arm == BASELINE and trial.command]
    where = f" and look at {case.signature.place}" if case.signature.file else ""
    return (
        f"run `{commands[-1]}`{where}: it fails each time" if commands else f"run the test{where}: it fails each time"
    )
