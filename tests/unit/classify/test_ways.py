"""One cause may make a target fail in several ways, each counted apart: how often it failed at all is said as well."""

from triage.classify.ways import several_ways
from triage.model.arm import BASELINE, Arm, Level
from triage.model.claim import ArmCount, SignatureStudy, Study

TWO = Arm((Level(factor="workers", value="2 load"),))


def study(*, first, second, total):
    return Study(
        target="a.py::test",
        studies=(
            SignatureStudy(signature="x", arms=(ArmCount(TWO, first, 4), ArmCount(BASELINE, 0, 9))),
            SignatureStudy(signature="y", arms=(ArmCount(TWO, second, 4), ArmCount(BASELINE, 0, 9))),
        ),
        total=(ArmCount(BASELINE, 0, 9), ArmCount(TWO, total, 4)),
    )


def test_failures_that_are_spread_over_signatures_are_said_together():
    (evidence,) = several_ways(study(first=1, second=3, total=4))
    assert evidence.statement.endswith("in any way failed: on 2 xdist workers (`--dist load`) 4 of 4; run alone 0 of 9")


def test_one_signature_says_it_all():
    assert several_ways(study(first=4, second=0, total=4)) == []
