"""Surveys: how long they go on, of what they consist, and which processes they fork."""

from collections import Counter
from random import Random

import pytest
from simulation import HashSeed

from triage.experiment.ledger import CHOOSING, LARGE
from triage.experiment.screen import ALIKE, PROCESSES, QUIET_FORKED, QUIET_TRIALS, ROUNDS_WITH_FORKS, SURVEYED, Screen
from triage.experiment.survey import BASELINES, LEVELS, Survey
from triage.experiment.survey import SEEDS as FRESH
from triage.model.arm import BASELINE, Depth
from triage.model.observation import ANY
from triage.model.trial import Stage


def never():
    return False


def forked(requests):
    return [request for request in requests if request.arm.depth is Depth.FORKED]


def share(rate, salt=""):
    """Make a share of the trials fail, evenly and by nothing else."""
    drawn = Random(salt)
    return lambda request: drawn.random() < rate


def factor_of(request):
    return request.arm.levels[0].factor if request.arm.levels else ""


def test_a_survey_takes_its_seconds_from_when_there_is_a_process_to_be_forked(table):
    requests = table.play(Survey(table.bench).run(2.0, never))
    assert {request.stage for request in requests} == {Stage.SCREEN}
    assert forked(requests) == requests
    assert 2.0 < table.now <= 2.0 + 3 * 0.31 + 0.1, (
        "three processes were started: the project's own and two interpreters"
    )


def test_factors_that_a_fork_sets_share_processes_and_others_have_their_own(table):
    table.play(Survey(table.bench).run(2.0, never))
    processes = {}
    for request in table.requests:
        processes.setdefault(table.process(request), Counter())[factor_of(request)] += 1
    assert [set(counted) for counted in processes.values()] == [
        {"", "order", "rng_seed", "repeat"},
        {"python"},
        {"python"},
    ]
    shared = processes[0]
    assert shared[""] / shared["rng_seed"] == pytest.approx(BASELINES / FRESH, rel=0.1)
    assert shared[""] / shared["order"] == pytest.approx(BASELINES / LEVELS, rel=0.1)
    assert "hash_seed" not in shared, "a seed that a process draws at its start needs a process each"


def test_each_survey_forks_processes_of_its_own(table):
    survey = Survey(table.bench)
    first = {request.generation for request in table.play(survey.run(1.0, never))}
    second = {request.generation for request in table.play(survey.run(1.0, never))}
    assert len(first) == len(second) == 1
    assert first != second


def test_a_survey_stops_when_there_is_enough(table):
    ledger = table.bench.ledger
    table.play(Survey(table.bench).run(100.0, lambda: ledger.trials >= 50))
    shared = [request for request in table.requests if factor_of(request) != "python"]
    assert 50 <= len(shared) < 50 + 10, "it is asked once a round"


def test_an_arm_that_takes_too_much_of_a_slice_is_left_out(make_table):
    table = make_table()
    bench = table.bench
    plain = table.answer

    def answer(request, fails):
        seen = plain(request, fails)
        if request.arm.level("repeat"):
            table.now += 1.0
            return type(seen)(
                index=1, seconds=seen.seconds + 1.0, start_seconds=seen.start_seconds, cluster=seen.cluster
            )
        return seen

    table.answer = answer
    table.play(Survey(bench).run(3.0, never))
    repeats = [request for request in table.requests if request.arm.level("repeat")]
    assert len(repeats) == 1


def test_one_trial_of_a_survey_is_not_asked_for_where_the_baseline_was_refused(table):
    table.refused = lambda arm: not arm.levels
    requests = table.play(Survey(table.bench).run(2.0, never))
    assert requests[-1].arm == BASELINE.forked
    assert table.play(Survey(table.bench).run(2.0, never)) == []


# -- the screen ------------------------------------------------------------------------------------------------------


def test_surveys_end_when_failures_and_passes_of_the_baseline_are_enough(table):
    table.play(Screen(table.bench).run(), share(0.5))
    baseline = table.bench.ledger.tally(BASELINE.forked, ANY, CHOOSING)
    few = min(baseline.failed, baseline.trials - baseline.failed)
    assert SURVEYED <= few <= 2 * SURVEYED
    generations = Counter(request.generation for request in forked(table.requests))
    assert len(generations) == PROCESSES, "one process may have drawn what matters"
    assert all(trials >= LARGE for _, trials in baseline.clusters)


def test_a_rare_failure_is_surveyed_in_every_round(table):
    table.play(Screen(table.bench).run(), share(0.05))
    baseline = table.bench.ledger.tally(BASELINE.forked, ANY, CHOOSING)
    generations = {request.generation for request in forked(table.requests)}
    assert 0 < baseline.failed < SURVEYED
    assert len(baseline.clusters) == len(generations) == ROUNDS_WITH_FORKS


@pytest.mark.parametrize("fails", [{1, 2, 3, 4, 5}, {1, 3, 5}], ids=["always", "some"])
def test_surveys_end_when_every_process_fails_always_or_never(make_table, fails):
    """What decides was fixed before the fork: more forks of more processes would say the same."""
    table = make_table(factors=[HashSeed(None)])
    screen = Screen(table.bench)
    table.play(screen.run(), lambda request: request.arm.depth is Depth.FORKED and request.generation in fails)
    baseline = table.bench.ledger.tally(BASELINE.forked, ANY, CHOOSING)
    assert not table.bench.ledger.varies_within()
    assert len(baseline.clusters) == (ALIKE if len(fails) > ALIKE else PROCESSES)


def test_where_nothing_fails_surveys_end_after_enough_trials(table):
    table.play(Screen(table.bench).run())
    assert QUIET_FORKED <= table.bench.ledger.evidence[Depth.FORKED] <= 1.5 * QUIET_FORKED


def test_slow_forks_are_waited_for(make_table):
    """The cold trials were enough long before."""
    table = make_table(factors=[])
    table.forked = 0.5
    table.play(Screen(table.bench).run())
    assert table.bench.ledger.evidence[Depth.COLD] > QUIET_TRIALS
    assert table.bench.ledger.evidence[Depth.FORKED] >= QUIET_FORKED


def test_where_forking_is_refused_the_screen_goes_on_with_fresh_processes(make_table):
    table, without = make_table(), make_table()
    table.refused = lambda arm: True
    without.bench.forking = False
    table.play(Screen(table.bench).run(), share(0.3))
    without.play(Screen(without.bench).run(), share(0.3))
    asked = len(forked(table.requests))
    assert 1 <= asked <= BASELINES + FRESH + 3 * LEVELS
    assert forked(without.requests) == []
    cold = len(table.requests) - asked
    assert cold == pytest.approx(len(without.requests), rel=0.5)
    assert not table.bench.forking
