"""The planner against simulated targets. Seeds are fixed: every figure here is exact, none can flake."""

from collections import Counter

import pytest
from simulation import EFFECTS, at, blamed, constant, decided_at_start, seeded, simulate, wave

from triage.experiment.confirm import ALPHA
from triage.experiment.ledger import CHOOSING, Ledger
from triage.experiment.planner import Planner
from triage.experiment.screen import QUIET_BASELINE, QUIET_LEVEL, QUIET_TRIALS, SOLID_FAILURES
from triage.model.arm import BASELINE, Arm, Level
from triage.model.observation import ANY
from triage.model.trial import Stage

EXPERIMENTS = 12


def share_blamed(rate, factor, experiments=EXPERIMENTS, budget=120.0):
    return sum(factor in blamed(simulate(rate, seed, budget)) for seed in range(experiments)) / experiments


@pytest.mark.parametrize(
    "rate", [constant(0.3), constant(0.5), wave(0.1, 0.7, 20), decided_at_start(0.5)], ids=["30", "50", "wave", "start"]
)
def test_without_an_effect_hardly_anything_is_blamed(rate):
    wrong = sum(bool(blamed(simulate(rate, seed))) for seed in range(30))
    assert wrong / 30 <= ALPHA


def test_the_simulation_sees_an_instrument_that_flatters(monkeypatch):
    """Trials that picked an arm, counted again when it is confirmed: the fault that the null simulation must show."""
    honest = Ledger.count

    def flattering(self, factor, level, signature, stages, **how):
        stages = CHOOSING if stages == {Stage.CONFIRM} else stages
        return honest(self, factor, level, signature, stages, **how)

    monkeypatch.setattr(Ledger, "count", flattering)
    wrong = sum(bool(blamed(simulate(constant(0.5), seed))) for seed in range(40))
    assert wrong / 40 > 3 * ALPHA


@pytest.mark.parametrize(("rate", "factor"), EFFECTS.values(), ids=EFFECTS)
def test_an_effect_is_found_and_nothing_else_is_blamed(rate, factor):
    found = [blamed(simulate(rate, seed)) for seed in range(EXPERIMENTS)]
    assert sum(factor in one for one in found) >= 0.9 * EXPERIMENTS
    assert sum(bool(one - {factor}) for one in found) <= 2


def test_a_hazard_that_falls_does_not_blame_repetition():
    """Processes that fail at once are not there at the second execution: that is selection, no effect."""
    assert share_blamed(seeded(0.5, 1.0, 0.0, "hash_seed"), "repeat") == 0
    assert share_blamed(decided_at_start(0.3), "repeat") == 0


def test_a_longer_budget_finds_a_rare_crash():
    rate = at("python", {"3.13"}, 0.07, 0.0)
    assert share_blamed(rate, "python", 12, budget=600.0) > share_blamed(rate, "python", 12, budget=60.0)


def test_confirm_trials_are_fresh_and_as_many_as_planned():
    requests = []
    planner = simulate(seeded(0.5, 1.0, 0.0, "hash_seed"), 3, watch=requests.append)
    (claim,) = [claim for claims in planner.claims.values() for claim in claims if claim.confirmed]
    confirming = Counter(request.arm for request in requests if request.stage is Stage.CONFIRM)
    assert claim.trigger.trials == claim.counter.trials == claim.planned
    assert confirming[claim.trigger.arm] == confirming[claim.counter.arm] == claim.planned


def test_confirm_trials_of_the_two_arms_alternate():
    requests = []
    simulate(at("python", {"3.13"}, 1.0, 0.0), 5, watch=requests.append)
    arms = [request.arm for request in requests if request.stage is Stage.CONFIRM]
    pairs = list(zip(arms[::2], arms[1::2], strict=True))
    assert len(pairs) >= 20
    assert all(len(set(pair)) == 2 for pair in pairs)
    assert len({pair[0] for pair in pairs}) == 2, "which one comes first is drawn anew"


def test_plain_trials_follow_a_confirmed_claim():
    planner = simulate(at("python", {"3.13"}, 1.0, 0.0), 5)
    ((claim,),) = planner.claims.values()
    assert claim.plain_trigger.failed == claim.plain_trigger.trials >= 3
    assert claim.plain_counter.failed == 0


def test_an_order_is_minimised_before_it_is_confirmed():
    planner = simulate(at("order", None, 1.0, 0.0), 1)
    ((claim,),) = planner.claims.values()
    assert claim.trigger.arm.levels[0].ids == ("a",)
    assert claim.counter.arm == BASELINE


def test_a_quiet_target_is_left_alone_after_enough_trials():
    planner = simulate(constant(0.0), 1, budget=600.0)
    assert planner.complete
    assert planner.ledger.baseline_trials() >= QUIET_BASELINE
    assert QUIET_TRIALS <= planner.ledger.trials <= 3 * QUIET_TRIALS
    for version in ("3.12", "3.13"):
        arm = Arm((Level(factor="python", value=version),))
        assert planner.ledger.tally(arm, ANY, CHOOSING).trials >= QUIET_LEVEL


def test_a_target_that_always_fails_is_left_alone_after_few_trials():
    planner = simulate(constant(1.0), 1)
    assert planner.complete
    assert SOLID_FAILURES <= planner.ledger.trials <= 2 * SOLID_FAILURES
    assert not planner.claims


@pytest.mark.parametrize("trials", [1, 7, 60, 150])
def test_the_limit_of_trials_is_kept(trials):
    planner = simulate(seeded(0.5, 1.0, 0.0, "hash_seed"), 2, trials=trials)
    assert planner.ledger.trials <= trials


@pytest.mark.parametrize("budget", [1.0, 10.0, 30.0])
def test_the_budget_is_kept_and_what_was_cut_short_is_not_confirmed(budget):
    for seed in range(10):
        planner = simulate(seeded(0.5, 1.0, 0.0, "hash_seed"), seed, budget=budget)
        assert planner.ledger.trials * 0.35 <= budget + 0.35
        for claims in planner.claims.values():
            for claim in claims:
                assert not claim.confirmed or claim.trigger.trials == claim.planned


def test_closing_the_plan_in_the_middle_of_confirming_confirms_nothing():
    from random import Random

    from simulation import Python

    from triage.experiment.bench import Limits
    from triage.model.observation import Observation

    planner = Planner([Python(None)], Limits(1000.0), Random(1), lambda: 0.0)
    plan = planner.run()
    request = next(plan)
    while request.stage is not Stage.CONFIRM:
        failed = request.arm != BASELINE
        request = plan.send(Observation(signature="s" if failed else None, index=1, seconds=0.1))
    for _ in range(5):
        request = plan.send(Observation(signature="s" if request.arm != BASELINE else None, index=1, seconds=0.1))
    plan.close()
    ((claim,),) = planner.claims.values()
    assert not claim.confirmed
    assert "cut short" in planner.notes["s"]
    assert not planner.complete


def test_broken_trials_are_no_evidence():
    from random import Random

    from simulation import Python

    from triage.experiment.bench import Limits
    from triage.model.observation import Observation

    planner = Planner([Python(None)], Limits(1e9, 100), Random(1), lambda: 0.0)
    plan = planner.run()
    next(plan)
    with pytest.raises(StopIteration):
        while True:
            plan.send(Observation(evidence=False, seconds=0.1))
    assert planner.ledger.evidence.total() == 0
    assert not planner.claims
