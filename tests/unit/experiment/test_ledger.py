from simulation import HashSeed, Python

from triage.experiment.ledger import COUNTED, Ledger
from triage.model.arm import BASELINE, Arm, Depth, Level
from triage.model.observation import ANY, Observation
from triage.model.trial import Stage

FORKED = BASELINE.forked
SEED = Arm((Level(factor="hash_seed", value="7"),))


def seen(failed=False, **more):
    return Observation(signature="s" if failed else None, seconds=more.pop("seconds", 1.0), **more)


def filled(*trials):
    ledger = Ledger()
    for arm, stage, observation in trials:
        ledger.add(arm, stage, observation)
    return ledger


def test_the_price_of_a_trial_is_without_the_start_of_its_process():
    ledger = filled(
        (FORKED, Stage.SCREEN, seen(seconds=2.01, start_seconds=2.0, cluster=1)),
        (FORKED, Stage.SCREEN, seen(seconds=0.01, cluster=1)),
        (FORKED, Stage.SCREEN, seen(seconds=3.02, start_seconds=3.0, cluster=2)),
        (BASELINE, Stage.SCREEN, seen(seconds=0.5)),
    )
    assert round(ledger.price(FORKED), 6) == round(0.04 / 3, 6)
    assert ledger.price(BASELINE) == 0.5
    assert ledger.starts == [2.0, 3.0]


def test_what_was_never_tried_costs_what_the_dearest_of_its_depth_does():
    ledger = filled(
        (FORKED, Stage.SCREEN, seen(seconds=0.01)),
        (BASELINE, Stage.SCREEN, seen(seconds=0.5)),
        (SEED, Stage.SCREEN, seen(seconds=0.7)),
    )
    other = Arm((Level(factor="hash_seed", value="9"),))
    assert ledger.price(other) == 0.7
    assert ledger.price(other.forked) == 0.01
    assert Ledger().price(BASELINE) == 0


def test_a_refused_arm_costs_what_an_arm_that_was_never_tried_does():
    """Also where it is the only one: no arm's price is looked up by itself for ever."""
    refused = seen(evidence=False, refused=True, seconds=5.0)
    assert filled((FORKED, Stage.SCREEN, refused)).price(FORKED) == 0
    ledger = filled((FORKED, Stage.SCREEN, seen(seconds=0.01)), (SEED.forked, Stage.SCREEN, refused))
    assert ledger.price(SEED.forked) == 0.01


def test_only_cold_trials_spend_a_factors_share():
    ledger = filled(
        (SEED, Stage.SCREEN, seen(seconds=0.5)),
        (SEED.forked, Stage.SCREEN, seen(seconds=9.0)),
        (BASELINE, Stage.SCREEN, seen(seconds=0.25)),
    )
    assert dict(ledger.spent) == {"hash_seed": 0.5, "": 0.25}


def test_trials_of_two_depths_are_counted_apart():
    ledger = filled(
        (SEED.forked, Stage.SCREEN, seen(failed=True, cluster=1)),
        (SEED.forked, Stage.FOCUS, seen(failed=True, cluster=1)),
        (SEED, Stage.SCREEN, seen()),
        (SEED, Stage.CONFIRM, seen(failed=True)),
        (SEED, Stage.CONTROL, seen(failed=True)),
        (SEED, Stage.PLAIN, Observation(signature=ANY)),
        (SEED, Stage.SCREEN, Observation(evidence=False)),
    )
    assert (ledger.evidence[Depth.COLD], ledger.failed[Depth.COLD]) == (2, 1)
    assert (ledger.evidence[Depth.FORKED], ledger.failed[Depth.FORKED]) == (2, 2)
    assert (ledger.failures["s"], ledger.cold_failures["s"], ledger.passes) == (3, 1, 1)
    (level,) = SEED.levels
    factor = HashSeed(None)
    cold = ledger.count(factor, level, "s", COUNTED)
    forked = ledger.count(factor, level, "s", COUNTED, depth=Depth.FORKED)
    assert (cold.arm, cold.failed, cold.trials, cold.clusters) == (SEED, 1, 2, ())
    assert (forked.arm, forked.failed, forked.trials, forked.clusters) == (SEED.forked, 2, 2, ((2, 2),))
    assert ledger.levels(factor) == [level]


def test_forked_trials_are_counted_by_the_process_that_they_come_from():
    trials = [(True, 1), (False, 1), (True, 2), (True, 2), (False, 3)]
    ledger = filled(*((FORKED, Stage.SCREEN, seen(failed=failed, cluster=cluster)) for failed, cluster in trials))
    tally = ledger.tally(FORKED, ANY, COUNTED)
    assert (tally.failed, tally.trials) == (3, 5)
    assert tally.clusters == ((1, 2), (2, 2), (0, 1))
    assert ledger.count(Python(None), None, "s", COUNTED, depth=Depth.FORKED).clusters == tally.clusters


def test_a_process_whose_forks_both_pass_and_fail_decides_nothing():
    alike = [(FORKED, Stage.SCREEN, seen(failed=cluster == 1, cluster=cluster)) for cluster in (1, 1, 2, 2)]
    assert not filled(*alike).varies_within()
    assert filled(*alike, (FORKED, Stage.FOCUS, seen(cluster=1))).varies_within()
    of_a_seed = [(SEED.forked, Stage.SCREEN, seen(failed=failed, cluster=1)) for failed in (True, False)]
    assert not filled(*of_a_seed).varies_within(), "the baseline alone is asked"
    of_cold = [(BASELINE, Stage.SCREEN, seen(failed=failed)) for failed in (True, False)]
    assert not filled(*of_cold).varies_within(), "each is a process of its own"
    assert not filled().varies_within()
