"""The last stage: rates of forked trials, and what only they showed looked for in fresh processes."""

from random import Random

import pytest

from triage.experiment import agreement
from triage.experiment.agreement import FAILURES, FRESH, MOST, SHARE, STARTS, Agreement
from triage.experiment.ledger import COUNTED
from triage.model.arm import BASELINE, Arm, Depth, Level
from triage.model.observation import ANY, Observation
from triage.model.trial import Stage
from triage.stats.intervals import trials_to_see

FORKED, START = 0.01, 0.3
"""Seconds of a forked trial and of the start of its process, on this table."""
ORDER = Arm((Level(factor="order", value="reversed", ids=("a", "b")),))


def known(table, arm, failed, trials, cluster=None):
    """Let trials have been run before."""
    for number in range(trials):
        seen = Observation(
            signature="s" if number < failed else None,
            seconds=FORKED,
            start_seconds=START if cluster is not None and not number else 0.0,
            cluster=cluster,
        )
        table.bench.ledger.add(arm, Stage.SCREEN, seen)


@pytest.fixture(autouse=True)
def nothing_to_compare_with(monkeypatch):
    """Only what a test is about is asked for."""
    monkeypatch.setattr(agreement, "BASELINES", 0)


def cold(requests):
    return [request for request in requests if request.arm.depth is Depth.COLD]


def forked(requests):
    return [request for request in requests if request.arm.depth is Depth.FORKED]


def test_where_nothing_failed_there_is_nothing_to_do(table):
    known(table, BASELINE.forked, 0, 500, 1)
    known(table, BASELINE, 0, 100)
    assert table.play(Agreement(table.bench).run()) == []


def test_the_rate_of_the_users_own_command_is_measured_until_it_is_exact_enough(table):
    known(table, BASELINE, 1, 20)
    drawn = Random(1)
    requests = table.play(Agreement(table.bench).run(), lambda _: drawn.random() < 0.2)
    assert cold(requests) == []
    assert {(request.arm, request.stage) for request in requests} == {(BASELINE.forked, Stage.FOCUS)}
    assert table.bench.ledger.tally(BASELINE.forked, ANY, COUNTED).failed == FAILURES


def test_a_low_rate_is_measured_by_so_many_trials_at_most(table):
    known(table, BASELINE, 1, 20)
    assert len(table.play(Agreement(table.bench).run())) == MOST


def test_it_is_measured_in_several_processes(table):
    known(table, BASELINE, 1, 20)
    table.play(Agreement(table.bench).run())
    clusters = table.bench.ledger.tally(BASELINE.forked, ANY, COUNTED).clusters
    assert len(clusters) == pytest.approx(MOST * FORKED / (STARTS * START + FORKED), abs=1.5)
    assert all(trials >= STARTS * START / FORKED * 0.7 for _, trials in clusters[:-1])


def test_a_failure_that_fresh_processes_showed_is_not_looked_for(table):
    known(table, BASELINE.forked, 30, 60, 1)
    known(table, BASELINE, 1, 20)
    assert table.play(Agreement(table.bench).run()) == []


def test_a_failure_that_only_forks_showed_is_looked_for_until_it_is_seen(table):
    known(table, BASELINE.forked, 30, 60, 1)
    known(table, BASELINE, 0, 1)
    outcomes = iter([False, False, True])
    requests = table.play(Agreement(table.bench).run(), lambda _: next(outcomes))
    assert [(request.arm, request.stage) for request in requests] == [(BASELINE, Stage.FOCUS)] * 3


@pytest.mark.parametrize(("failed", "before"), [(20, 0), (20, 3), (50, 0)])
def test_or_until_it_would_have_been_seen(table, failed, before):
    known(table, BASELINE.forked, failed, 200, 1)
    known(table, BASELINE, 0, before)
    requests = table.play(Agreement(table.bench).run())
    assert len(requests) == trials_to_see(failed / 200, 0.95) - before
    assert {request.arm for request in requests} == {BASELINE}


def test_it_is_looked_for_where_forks_failed_most(table):
    known(table, BASELINE.forked, 0, 600, 1)
    known(table, ORDER.forked, 30, 60, 1)
    known(table, Arm((Level(factor="rng_seed", value="3"),)).forked, 1, 1, 1)
    requests = table.play(Agreement(table.bench).run())
    assert {request.arm for request in requests} == {ORDER}, "a single failure of one seed says less than a rate"
    assert len(requests) == max(FRESH, trials_to_see(0.5, 0.95))


def test_each_signature_is_looked_for(table):
    known(table, BASELINE.forked, 30, 100, 1)
    for _ in range(30):
        table.bench.ledger.add(BASELINE.forked, Stage.SCREEN, Observation(signature="other", seconds=FORKED, cluster=1))
    known(table, BASELINE, 1, 3)
    requests = table.play(Agreement(table.bench).run())
    assert len(requests) == trials_to_see(30 / 130, 0.95) - 3, "the first one had been seen"


def test_it_ends_with_its_share_of_the_budget(make_table):
    table = make_table(seconds=100.0)
    known(table, BASELINE.forked, 20, 4000, 1)
    requests = table.play(Agreement(table.bench).run())
    assert 0 < len(requests) < trials_to_see(0.005, 0.95)
    assert 100 * SHARE < table.now < 100 * SHARE + 0.5


def test_it_keeps_the_limit_of_trials(make_table):
    table = make_table(trials=2005)
    known(table, BASELINE.forked, 20, 2000, 1)
    table.play(Agreement(table.bench).run())
    assert table.bench.ledger.trials <= 2005


def test_nothing_is_measured_where_forking_is_refused(table):
    known(table, BASELINE, 1, 20)
    table.refused = lambda arm: True
    requests = table.play(Agreement(table.bench).run())
    assert [request.arm for request in requests] == [BASELINE.forked]


@pytest.mark.parametrize(("failed", "cold_failures", "asked"), [(200, 1, 17), (0, 1, 0)])
def test_what_forks_showed_is_compared_with_fresh_processes(table, monkeypatch, failed, cold_failures, asked):
    monkeypatch.setattr(agreement, "BASELINES", 20)
    known(table, BASELINE.forked, failed, 600, 1)
    known(table, BASELINE, cold_failures, 3)
    requests = cold(table.play(Agreement(table.bench).run()))
    assert [request.arm for request in requests] == [BASELINE] * asked
