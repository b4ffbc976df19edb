import pytest

from triage.runner.limit import FACTOR, FIRST, FLOOR, SLACK, time_limit


def test_before_any_pass_the_first_limit_holds():
    assert time_limit([]) == FIRST


def test_a_fast_test_gets_the_floor():
    assert time_limit([0.3, 0.2]) == FLOOR


def test_the_longest_pass_decides():
    assert time_limit([1.0, 20.0, 2.0]) == FACTOR * 20.0 + SLACK


def test_more_passes_never_lower_the_limit():
    passing = [4.0, 1.0, 9.0, 0.1]
    limits = [time_limit(passing[:count]) for count in range(1, 5)]
    assert limits == sorted(limits)


def test_a_slow_arm_gets_more():
    assert time_limit([20.0], slowdown=3.0) == 3 * time_limit([20.0])


def test_repeats_add_the_test_but_not_the_start_of_the_interpreter():
    assert time_limit([20.0], test_seconds=2.0, repeat=11) == time_limit([20.0]) + FACTOR * 20.0


@pytest.mark.parametrize("wrong", [{"slowdown": 0.5}, {"repeat": 0}, {"test_seconds": -1.0}])
def test_values_without_a_sense_are_refused(wrong: dict[str, float]):
    with pytest.raises(ValueError, match="no limit follows"):
        time_limit([1.0], **wrong)
    with pytest.raises(ValueError, match="no limit follows"):
        time_limit([-1.0])
