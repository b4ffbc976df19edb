"""From what was counted to findings: one for each failure signature, gravest first, the first one being the headline.

A cause's rule decides or nobody does. Statistics establish the trigger, never who is wrong; without a mechanism the verdict
is `undetermined`, with the two best explanations and the experiment that would tell them apart.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from triage.classify import registry
from triage.classify.case import Case, Facts
from triage.classify.cause import Proposal
from triage.classify.evidence import (
    claim_evidence,
    contradiction,
    flakiness,
    not_varied,
    plain_evidence,
    rates,
    reproduction,
    standing,
)
from triage.classify.forked import forked_evidence, forks_pass, is_forked, made_by_forking, only_forked
from triage.classify.ranking import hypotheses
from triage.classify.roles import Roles
from triage.classify.stable import hiding, stable_fail, stable_pass
from triage.classify.ways import several_ways
from triage.classify.wording import bound, contrast, counted, happening, interval, level_of, of, sentence
from triage.classify.workers import collection_evidence, hidden_by_xdist, left_open, replays
from triage.model.arm import BASELINE
from triage.model.claim import ArmCount, Claim, SignatureStudy, Study
from triage.model.outcome import GRAVITY, Outcome
from triage.model.signature import Signature, signature_of
from triage.model.trial import Stage, Trial
from triage.model.verdict import VERDICT_GRAVITY, Evidence, Finding, Strength, Trigger, Verdict

NO_FACTS = Facts()


def classify(
    target: str, root: str, trials: Sequence[Trial], study: Study, facts: Facts = NO_FACTS
) -> tuple[Finding, ...]:
    """Return the findings of one target, gravest first; there is always at least one.

    `root` is the absolute path of the project's root folder, `trials` everything that was run for the target (controls
    are left out here), `study` what the planner counted of them.
    """
    everything = [trial for trial in trials if trial.stage is not Stage.CONTROL]
    own = [trial for trial in everything if not is_forked(trial)]  # no verdict rests on forked trials
    counted_trials = [trial for trial in own if trial.is_evidence]
    probed = [trial for trial in counted_trials if trial.stage is not Stage.PLAIN]
    groups: dict[Signature, list[Trial]] = {}
    for trial in probed:
        signature = signature_of(trial, root)
        if signature is not None:
            groups.setdefault(signature, []).append(trial)
    alone = [(one, failures, _known(study, one)) for one, failures in _forked_alone(everything, groups, root)]
    told = [made_by_forking(one, known) for one, _, known in alone]
    artefacts = tuple(evidence for evidence in told if evidence is not None)
    forked = [case for case, evidence in zip(alone, told, strict=True) if evidence is None]
    left_out = _left_out(everything)
    killed = sum(trial.outcome is Outcome.KILLED for trial in own)
    if not counted_trials:
        findings = [_nothing(own)]
    elif not groups and forked:
        findings = []
    elif not groups:
        plain = [trial for trial in counted_trials if trial.is_failure]
        findings = [
            _only_plain(study, probed, plain, counted_trials) if plain else stable_pass(study, counted_trials, killed)
        ]
    else:
        roles = Roles(root, facts.collected)
        never_passed = all(trial.is_failure for trial in counted_trials) and not forks_pass(everything)
        ranked = sorted(groups.items(), key=_gravity)
        findings = []
        for signature, failures in ranked:
            known = _known(study, signature)
            case = Case(
                target=target,
                signature=signature,
                failures=tuple(failures),
                claims=standing(known.claims, own),
                facts=facts,
                roles=roles,
                passed=sum(not trial.is_failure for trial in probed),
            )
            proposal = registry.judge(case)
            decided = proposal is not None and proposal.verdict is not Verdict.UNDETERMINED
            if never_passed and not decided and not case.claims:
                findings.append(stable_fail(case, study, counted_trials, ways=len(groups), proposal=proposal))
            else:
                findings.append(_finding(case, known, study, counted_trials, proposal or _undetermined(case)))
        findings.sort(key=lambda finding: VERDICT_GRAVITY.index(finding.verdict))
    findings += [only_forked(one, failures, known, study) for one, failures, known in forked]
    findings[0] = replace(
        findings[0], evidence=(*findings[0].evidence, *several_ways(study), *artefacts, *collection_evidence(study))
    )
    flaky = flakiness(everything)
    return tuple(_with(finding, left_out, flaky) for finding in findings)


def _known(study: Study, signature: Signature) -> SignatureStudy:
    known = next((one for one in study.studies if one.signature == signature.key), None)
    return known or SignatureStudy(signature=signature.key)


def _forked_alone(
    trials: Sequence[Trial], seen: dict[Signature, list[Trial]], root: str
) -> list[tuple[Signature, list[Trial]]]:
    """Return the signatures that forked trials alone have shown, gravest first."""
    keys = {signature.key for signature in seen}
    groups: dict[Signature, list[Trial]] = {}
    for trial in trials:
        if is_forked(trial) and trial.is_evidence:
            signature = signature_of(trial, root)
            if signature is not None and signature.key not in keys:
                groups.setdefault(signature, []).append(trial)
    return sorted(groups.items(), key=_gravity)


def _gravity(group: tuple[Signature, list[Trial]]) -> tuple[int, int, str]:
    signature, failures = group
    return -GRAVITY.get(signature.outcome, 0), -len(failures), signature.key


def _undetermined(case: Case) -> Proposal:
    strength = Strength.SUPPORTED if case.trigger else Strength.SUGGESTED
    return Proposal(verdict=Verdict.UNDETERMINED, strength=strength)


def _finding(case: Case, known: SignatureStudy, study: Study, trials: Sequence[Trial], proposal: Proposal) -> Finding:
    claim = case.trigger
    decided = proposal.verdict is not Verdict.UNDETERMINED
    explanations = () if decided else proposal.hypotheses or hypotheses(case)
    strength = proposal.strength
    if not decided:
        strength = Strength.SUPPORTED if claim else Strength.SUGGESTED
    ids = _ids(claim)
    polluting = not case.fails_alone
    return Finding(
        verdict=proposal.verdict,
        cause=proposal.cause,
        strength=strength,
        summary=_summary(case, known, study, trials, proposal),
        signature=case.signature.text,
        culprits=proposal.culprits,
        polluters=ids if polluting and len(ids) == 1 else (),
        polluter_sets=(ids,) if polluting and len(ids) > 1 else (),
        setters=() if polluting else ids,
        trigger=Trigger(factor=claim.factor, level=level_of(claim.factor, claim.trigger.arm, trials))
        if claim
        else None,
        rates=rates(known.arms or _counts(case, trials), known.claims),
        reproduction=reproduction(claim.trigger, trials) if claim else None,
        counterfactual=reproduction(claim.counter, trials) if claim else None,
        evidence=tuple(_evidence(case, known, study, trials, proposal)),
        hypotheses=explanations,
        not_established=tuple(_not_established(case, known, study, trials, proposal)),
        next=proposal.next or (explanations[0].missing if explanations else ""),
    )


def _summary(case: Case, known: SignatureStudy, study: Study, trials: Sequence[Trial], proposal: Proposal) -> str:
    what = happening(case.signature, proposal.subject)
    if not proposal.subject:
        what = f"it {what}"
    if case.trigger:
        how_often = contrast(case.trigger, trials)
    else:
        how_often = f"in {len(case.failures)} of {counted(len(_probed(trials)), 'trial')}"
        own = next((count for count in known.arms if count.arm == BASELINE.forked), None)
        if own is not None and own.failed:
            how = "run as by the user" if study.split is None else "in one process"
            how_often += f", and {how} in {of(own)} forked ones ({interval(own)})"
    text = f"{what} {how_often}"
    if proposal.verdict is Verdict.UNDETERMINED:
        if case.trigger:
            text += "; who is wrong is not decided"
        elif known.claims:
            text += "; no factor was confirmed as its trigger, and who is wrong is not decided"
        else:
            text += "; neither its trigger nor who is wrong is known"
    return sentence(text) + "."


def _evidence(
    case: Case, known: SignatureStudy, study: Study, trials: Sequence[Trial], proposal: Proposal
) -> list[Evidence]:
    found = list(proposal.evidence)
    for claim in known.claims:
        found.append(claim_evidence(claim, trials, stands=claim in case.claims))
        plain = plain_evidence(claim)
        if plain:
            found.append(plain)
    found += hidden_by_xdist(case.signature, study) + replays(case, _probed(trials))
    found += forked_evidence(case.signature, known.arms, study)
    share = f"{len(case.failures)} of {counted(len(_probed(trials)), 'fresh process')} failed so, over all arms"
    found.append(Evidence(kind="rate", statement=share))
    first = next((trial.failure for trial in case.failures if trial.failure and trial.failure.message), None)
    if first:
        text = next(iter(first.message.strip().splitlines()), "")[:200]
        found.append(
            Evidence(kind="message", statement=f"one of the messages: {text}", data={"source": first.source.strip()})
        )
    if case.outcome is Outcome.HUNG:
        found += _stacks(case)
    hidden = hiding(case.facts, trials)
    if hidden:
        found.append(Evidence(kind="reruns", statement=hidden))
    return found


def _stacks(case: Case) -> list[Evidence]:
    """Say where the main thread stood at the time limit, with the stacks of all threads as they were printed."""
    failure = next((trial.failure for trial in case.failures if trial.failure and trial.failure.frames), None)
    if failure is None:
        return []
    inside = [frame for frame in failure.frames if case.roles.place(frame.file)][-4:]
    shown = " < ".join(
        f"{case.roles.shown(f.file)}:{f.line} in {f.function}" for f in reversed(inside or failure.frames[-4:])
    )
    return [
        Evidence(
            kind="stack", statement=f"at the time limit the main thread was at {shown}", data={"text": failure.text}
        )
    ]


def _not_established(
    case: Case, known: SignatureStudy, study: Study, trials: Sequence[Trial], proposal: Proposal
) -> list[str]:
    said = list(proposal.not_established)
    if proposal.verdict is Verdict.UNDETERMINED and not proposal.reason:
        said.append(
            "who is wrong: a trigger alone does not tell a product fault from a wrong test"
            if case.trigger
            else "who is wrong"
        )
    if not case.trigger:
        said.append("what triggers it")
    elif case.trigger.counter.trials:
        claim = case.trigger
        level = level_of(claim.factor, claim.counter.arm, trials)
        said.append(
            f"that it never happens with `{claim.factor}` at `{level}`: {bound(claim.counter)} of runs at 95 % confidence"
        )
    said += [text for claim in known.claims if claim.confirmed and (text := contradiction(claim, trials))]
    said += [
        f"that `{claim.factor}` matters: {contrast(claim, trials)} is not enough (p = {claim.p_value:.2g}, level {claim.alpha:.2g})"
        for claim in known.claims
        if not claim.confirmed and min(claim.trigger.trials, claim.counter.trials) >= claim.planned
    ]
    if known.note:
        said.append(known.note)
    said += left_open(case)
    if case.outcome is not Outcome.CRASHED and case.facts.concurrent and not _varied(study, "schedule"):
        said.append("which switch between threads or tasks it takes: they ran as they happened to, no delay was put in")
    said += not_varied(study)
    if not study.complete:
        said.append("the experiment was ended before it was done")
    return said


def _ids(claim: Claim | None) -> tuple[str, ...]:
    """Return the tests that a minimised order consists of; a whole scope names nobody."""
    if claim is None or claim.factor != "order":
        return ()
    for count in (claim.trigger, claim.counter):
        level = count.arm.level("order")
        if level is not None and level.ids:
            return level.ids if level.value.startswith("after ") else ()
    return ()


def _counts(case: Case, trials: Sequence[Trial]) -> list[ArmCount]:
    mine = set(map(id, case.failures))
    chosen = [trial for trial in _probed(trials) if trial.stage is not Stage.CONFIRM]
    arms = dict.fromkeys(trial.arm for trial in chosen)
    return [
        ArmCount(arm, sum(id(t) in mine for t in chosen if t.arm == arm), sum(t.arm == arm for t in chosen))
        for arm in arms
    ]


def _probed(trials: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.stage is not Stage.PLAIN]


def _varied(study: Study, factor: str) -> bool:
    return any(count.arm.level(factor) for count in study.total if count.trials)


def _only_plain(study: Study, probed: list[Trial], plain: list[Trial], trials: list[Trial]) -> Finding:
    """Return the finding of a target that fails without the probe only: the instrument may hide the failure."""
    runs = [trial for trial in trials if trial.stage is Stage.PLAIN]
    return Finding(
        verdict=Verdict.UNDETERMINED,
        strength=Strength.SUGGESTED,
        summary=f"It fails in {len(plain)} of {counted(len(runs), 'run')} without the probe and in none of {len(probed)} with it.",
        rates=rates(study.total),
        not_established=("why it fails: runs without the probe are judged by exit status alone", *not_varied(study)),
        next=f"run `{plain[-1].command}` until it fails, and read its output"
        if plain[-1].command
        else "read the output of those runs",
    )


def _nothing(trials: Sequence[Trial]) -> Finding:
    return Finding(
        verdict=Verdict.UNDETERMINED,
        strength=Strength.SUGGESTED,
        summary=f"None of {counted(len(trials), 'trial')} says whether it passes or fails."
        if trials
        else "It was ended before a trial had finished.",
        not_established=("everything: no trial counts",),
        next="look at the reasons of the trials that were left out" if trials else "run it again",
    )


def _left_out(trials: Sequence[Trial]) -> tuple[str, ...]:
    """Say which trials count in no rate."""
    said = {
        Outcome.BROKEN: "failed for the instrument's own reasons and are left out of all rates",
        Outcome.KILLED: "were ended by a signal, by whom is not known, and are left out of all rates",
        Outcome.SKIPPED: "skipped the target and are left out of all rates",
        Outcome.NOT_COLLECTED: "never reached the target and are left out of all rates",
    }
    counts = {outcome: sum(trial.outcome is outcome for trial in trials) for outcome in said}
    return tuple(f"{number} of {len(trials)} trials {said[outcome]}" for outcome, number in counts.items() if number)


def _with(finding: Finding, left_out: tuple[str, ...], flaky: Evidence | None) -> Finding:
    evidence = (*finding.evidence, flaky) if flaky and finding.signature else finding.evidence
    return replace(finding, evidence=evidence, not_established=(*finding.not_established, *left_out))
