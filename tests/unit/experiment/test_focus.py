"""The second stage where trials can be forked, or no longer can."""

import pytest
from simulation import Order, Python

from triage.experiment.contrast import Contrast, State
from triage.experiment.focus import Focus
from triage.factors.base import arm_of
from triage.model.arm import Depth
from triage.model.observation import Observation, Request
from triage.model.trial import Stage

ORDER, PYTHON = Order(None), Python(None)
AFTER_A = ORDER.level("after a", ("a",))
SCOPE = ORDER.level("scope", ("a", "b"))


def add(table, level, failed, trials, depth=Depth.COLD):
    cluster = None if depth is Depth.COLD else 1
    for number in range(trials):
        seen = Observation(signature="s" if number < failed else None, index=1, seconds=0.1, cluster=cluster)
        table.bench.ledger.add(arm_of(level, depth), Stage.SCREEN, seen)


def depths(requests):
    return [request.arm.depth for request in requests]


def search(answers, wanted=3):
    """A minimising search that asks a fixed number of times."""
    for _ in range(wanted):
        answers.append((yield Request(arm_of(AFTER_A), Stage.FOCUS)))
    return AFTER_A


@pytest.mark.parametrize("depth", Depth)
def test_a_level_is_minimised_in_trials_of_the_depth_at_which_it_was_looked_at(table, depth):
    answers = []
    requests = table.play(Focus(table.bench, lambda _: 0, [])._search(search(answers), depth))
    assert depths(requests) == [depth] * 3


def test_a_search_never_gets_to_see_that_a_trial_was_refused(table):
    """It would take that for a pass."""
    table.refused = lambda _: True
    answers = []
    requests = table.play(Focus(table.bench, lambda _: 0, [])._search(search(answers), Depth.FORKED), lambda _: True)
    assert depths(requests) == [Depth.FORKED] + [Depth.COLD] * 3
    assert [(seen.evidence, seen.signature) for seen in answers] == [(True, "s")] * 3


def test_what_cannot_be_forked_is_not_checked_again_and_again(table):
    table.refused = lambda arm: arm.levels == (AFTER_A,)
    contrast = Contrast(ORDER, "s", AFTER_A, None, Depth.FORKED)
    requests = table.play(Focus(table.bench, lambda _: 0, [])._check(contrast))
    assert [request.arm for request in requests].count(arm_of(AFTER_A, Depth.FORKED)) == 1


def test_fresh_processes_are_looked_at_where_forks_showed_nothing_and_they_stand_out(table):
    focus = Focus(table.bench, lambda _: 0, [])
    dropped = Contrast(PYTHON, "s", PYTHON.level("3.13"), None, Depth.FORKED, state=State.DROPPED)
    focus.contrasts.append(dropped)
    add(table, PYTHON.level("3.13"), 1, 4)
    add(table, None, 0, 4)
    focus._find_contrasts(["s"])
    assert focus.contrasts == [dropped], "p = 0.5"
    add(table, PYTHON.level("3.13"), 5, 5)
    add(table, None, 0, 4)
    focus._find_contrasts(["s"])
    assert [(contrast.factor.name, contrast.depth) for contrast in focus.contrasts[1:]] == [("python", Depth.COLD)]


@pytest.mark.parametrize("state", State)
def test_they_are_where_forking_ended_on_the_way(table, state):
    focus = Focus(table.bench, lambda _: 0, [])
    focus.contrasts.append(Contrast(PYTHON, "s", PYTHON.level("3.13"), None, Depth.FORKED, state=state))
    add(table, PYTHON.level("3.13"), 1, 4)
    add(table, None, 0, 4)
    table.bench.forking = False
    focus._find_contrasts(["s"])
    assert (len(focus.contrasts) == 2) == (state is State.DROPPED)


def test_what_was_found_before_forking_ended_is_kept(table):
    focus = Focus(table.bench, lambda _: 0, [])
    found = Contrast(ORDER, "s", SCOPE, None, Depth.FORKED)
    unfinished = Contrast(ORDER, "other", SCOPE, None, Depth.FORKED)
    focus.contrasts += [found, unfinished]
    add(table, SCOPE, 60, 60, Depth.FORKED)
    add(table, None, 0, 60, Depth.FORKED)
    table.bench.forking = False
    focus._judge([found, unfinished])
    assert (found.state, unfinished.state) == (State.WORTH_A_CLAIM, State.DROPPED)
