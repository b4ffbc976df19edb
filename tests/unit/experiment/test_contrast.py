"""Forked trials choose: how many it takes, and what they are worth where each level had a process of its own."""

import pytest
from simulation import Order, Python, RngSeed

from triage.experiment.contrast import Contrast, State, choose
from triage.experiment.ledger import Ledger
from triage.factors.base import Forks, arm_of
from triage.model.arm import Depth, Level
from triage.model.observation import Observation
from triage.model.trial import Stage

PYTHON, ORDER, SEED = Python(None), Order(None), RngSeed(None)


def add(ledger, contrast, trigger, counter, stage=Stage.FOCUS):
    """Add trials of the two arms; `trigger` and `counter` are lists of failed and trials, one for each process."""
    for arm, clusters in zip(contrast.looked_at, (trigger, counter), strict=True):
        for number, (failed, trials) in enumerate(clusters):
            for position in range(trials):
                signature = "s" if position < failed else None
                shared = contrast.factor.forks is Forks.CHILD
                cluster = number if shared else hash((arm, number))
                ledger.add(arm, stage, Observation(signature=signature, index=1, cluster=cluster))


def judged(factor, trigger, counter, *, level="x", depth=Depth.FORKED):
    against = None if factor.home else factor.level("other")
    contrast, ledger = Contrast(factor, "s", factor.level(level), against, depth), Ledger()
    add(ledger, contrast, trigger, counter)
    return contrast, ledger


def test_it_is_looked_at_in_one_kind_of_trials_and_confirmed_in_fresh_processes():
    contrast = Contrast(PYTHON, "s", PYTHON.level("3.13"), None, Depth.FORKED)
    assert [arm.depth for arm in contrast.looked_at] == [Depth.FORKED] * 2
    assert [arm.depth for arm in contrast.arms] == [Depth.COLD] * 2
    assert [arm.levels for arm in contrast.looked_at] == [arm.levels for arm in contrast.arms]


def test_one_process_that_always_fails_and_one_that_never_does_show_no_level():
    """Each level costs a process, and what the two drew at their starts differs too."""
    contrast, ledger = judged(PYTHON, [(20, 20)], [(0, 20)])
    assert contrast.p_value(ledger) == 0.5
    assert contrast.judge(ledger) is not State.WORTH_A_CLAIM


def test_the_same_forks_of_one_process_at_two_levels_do():
    contrast, ledger = judged(ORDER, [(20, 20)], [(0, 20)])
    assert contrast.p_value(ledger) < 1e-9
    assert contrast.judge(ledger) is State.WORTH_A_CLAIM


def test_a_level_that_needs_a_process_is_worth_a_claim_once_enough_processes_agree():
    few, ledger = judged(PYTHON, [(20, 20)] * 4, [(0, 20)] * 4)
    assert few.judge(ledger) is not State.WORTH_A_CLAIM
    enough, ledger = judged(PYTHON, [(20, 20)] * 6, [(0, 20)] * 6)
    assert enough.judge(ledger) is State.WORTH_A_CLAIM


def test_processes_that_spread_no_more_than_chance_has_it_count_for_all_their_trials():
    contrast, ledger = judged(PYTHON, [(6, 20), (5, 20), (7, 20), (6, 20)] * 3, [(0, 20)] * 12)
    first, second = contrast.counts(ledger)
    assert contrast.worth(first) == (72, 240)
    assert contrast.worth(second) == (0, 12), "where none failed, each process counts once"


def test_fresh_processes_need_fewer_trials_than_forked_ones():
    cold, ledger = judged(ORDER, [(5, 5)], [(0, 5)], depth=Depth.COLD)
    assert cold.judge(ledger) is State.WORTH_A_CLAIM
    forked, ledger = judged(ORDER, [(5, 5)], [(0, 5)])
    assert forked.judge(ledger) is State.OPEN


@pytest.mark.parametrize(("depth", "early"), [(Depth.COLD, 2), (Depth.FORKED, 4)])
def test_a_seed_that_shows_nothing_when_replayed_is_given_up(depth, early):
    for trials, state in ((early - 1, State.OPEN), (early, State.DROPPED)):
        contrast, ledger = judged(SEED, [(0, trials)], [(0, trials)], depth=depth)
        assert contrast.judge(ledger) is state


@pytest.mark.parametrize(("depth", "enough"), [(Depth.COLD, 8), (Depth.FORKED, 60)])
def test_what_shows_no_difference_is_given_up_after_enough(depth, enough):
    half = (enough - 2) // 2
    for trials, state in ((enough - 2, State.OPEN), (enough, State.DROPPED)):
        contrast, ledger = judged(ORDER, [(half, trials)], [(half, trials)], depth=depth)
        assert contrast.judge(ledger) is state


def test_levels_are_chosen_by_trials_of_one_depth():
    ledger = Ledger()
    contrast = Contrast(ORDER, "s", ORDER.level("x"), None, Depth.FORKED)
    add(ledger, contrast, [(10, 20)], [(0, 20)], Stage.SCREEN)
    forked = choose(ORDER, "s", ledger, [], Depth.FORKED)
    assert (forked.trigger, forked.counter, forked.depth) == (ORDER.level("x"), None, Depth.FORKED)
    assert choose(ORDER, "s", ledger, []) is None, "no fresh process has failed"


def test_only_forks_of_the_same_processes_are_compared():
    """A level that was tried in a process which fails always is no worse than the baseline there."""
    ledger = Ledger()
    level = Level(factor="order", value="after a", ids=("a",))
    for process, fails, arms in ((1, False, (None,)), (2, False, (None,)), (3, True, (None, level))):
        for arm in arms:
            for _ in range(40):
                seen = Observation(signature="s" if fails else None, index=1, seconds=0.01, cluster=process)
                ledger.add(arm_of(level=arm, depth=Depth.FORKED), Stage.FOCUS, seen)
    contrast = Contrast(Order(None), "s", level, None, Depth.FORKED, refined=True)
    assert [(count.failed, count.trials) for count in contrast.counts(ledger)] == [(40, 40), (40, 40)]
    assert contrast.judge(ledger) is not State.WORTH_A_CLAIM
