"""Forked arms that had hardly a trial each, as one line."""

from __future__ import annotations

from triage.model.arm import BASELINE, Arm, Depth, Level
from triage.model.claim import ArmCount
from triage.session.summary import FEWEST_SHOWN, merged


def arm(factor: str, value: object) -> Arm:
    return Arm((Level(factor=factor, value=str(value)),))


def test_fresh_seeds_of_forked_trials_are_put_together() -> None:
    seeds = [ArmCount(arm("rng_seed", n).forked, n % 2, 2, ((n % 2, 2),), (n // 4,)) for n in range(7)]
    (one,) = merged(seeds)
    assert one.arm.label == "rng_seed=(7 levels) (forked)"
    assert one.arm.depth is Depth.FORKED
    assert (one.failed, one.trials) == (3, 14)
    assert one.clusters == ((2, 8), (1, 6)), "the levels of one process are one cluster"
    assert one.processes == (0, 1)


def test_each_factor_has_a_line_of_its_own() -> None:
    counts = [ArmCount(arm(name, n).forked, 0, 1, ((0, 1),), (n,)) for n in range(3) for name in ("rng_seed", "order")]
    assert [(one.arm.label, one.trials) for one in merged(counts)] == [
        ("rng_seed=(3 levels) (forked)", 3),
        ("order=(3 levels) (forked)", 3),
    ]


def test_arms_of_fresh_processes_the_baseline_and_those_of_many_trials_stay() -> None:
    counts = (
        ArmCount(BASELINE, 0, 1),
        ArmCount(BASELINE.forked, 0, 1, ((0, 1),)),
        ArmCount(arm("rng_seed", 1), 0, 1),
        ArmCount(arm("rng_seed", 2), 1, 1),
        ArmCount(arm("rng_seed", 3).forked, 2, FEWEST_SHOWN, ((2, FEWEST_SHOWN),)),
    )
    assert merged(counts) == counts
    few = ArmCount(arm("rng_seed", 4).forked, 0, FEWEST_SHOWN - 1, ((0, FEWEST_SHOWN - 1),), (1,))
    assert merged((*counts, few)) == (*counts, few), "alone it has nothing to be put together with"
    both = merged((*counts, few, ArmCount(arm("rng_seed", 5).forked, 0, 1, ((0, 1),), (1,))))
    assert both[: len(counts)] == counts
    assert (both[-1].arm.label, both[-1].trials) == ("rng_seed=(2 levels) (forked)", FEWEST_SHOWN)


def test_arms_without_a_trial_are_left_out() -> None:
    assert merged([ArmCount(arm("rng_seed", 1).forked, 0, 0)]) == ()
