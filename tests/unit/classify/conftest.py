"""A bench that builds trials and studies of an imaginary project, and classifies them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from triage.classify.case import Facts
from triage.classify.findings import classify
from triage.model.arm import BASELINE, Arm, Depth, Level
from triage.model.claim import ArmCount, Claim, SignatureStudy, Study
from triage.model.outcome import Outcome
from triage.model.signature import signature_of
from triage.model.trial import Failure, Frame, Stage, Trial
from triage.model.verdict import Finding
from triage.stats.exact import fisher_greater

STDLIB = "/opt/python/lib/python3.13"
PACKAGES = f"{STDLIB}/site-packages"
TARGET = "tests/test_shop.py::test_read"


class Bench:
    """Names files as interpreters do: absolute below the root, unless they are absolute or in angle brackets already."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.collected = ("tests/test_shop.py",)

    def file(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def frames(self, *places: tuple[str, int, str]) -> tuple[Frame, ...]:
        return tuple(
            Frame(file if file.startswith(("/", "<")) else str(self.root / file), line, function)
            for file, line, function in places
        )

    def stack(self, *places: tuple[str, int, str]) -> tuple[Frame, ...]:
        """Frames below those of pytest, which every test has."""
        return self.frames((f"{PACKAGES}/_pytest/python.py", 160, "pytest_pyfunc_call"), *places)

    def crash(
        self, *places: tuple[str, int, str], signal: str = "SIGSEGV", arm: Arm = BASELINE, **kwargs: object
    ) -> Trial:
        stage = kwargs.pop("stage", Stage.SCREEN)
        phase = kwargs.pop("phase", "call")
        text = kwargs.pop("text", "Fatal Python error: Segmentation fault")
        frames = self.stack(*places) if places else ()
        failure = Failure(phase=phase, exception=signal, frames=frames, text=text)
        return Trial(arm=arm, stage=stage, outcome=Outcome.CRASHED, failure=failure, signal=signal, **kwargs)

    def fail(
        self,
        exception: str = "AssertionError",
        place: tuple[str, int, str] = ("tests/test_shop.py", 12, "test_read"),
        message: str = "assert 1 == 2",
        arm: Arm = BASELINE,
        **kwargs: object,
    ) -> Trial:
        stage = kwargs.pop("stage", Stage.SCREEN)
        outcome = kwargs.pop("outcome", Outcome.FAILED)
        phase = kwargs.pop("phase", "call")
        failure = Failure(phase=phase, exception=exception, message=message, frames=self.stack(place))
        return Trial(arm=arm, stage=stage, outcome=outcome, failure=failure, **kwargs)

    def passes(self, number: int, arm: Arm = BASELINE, **kwargs: object) -> list[Trial]:
        stage = kwargs.pop("stage", Stage.SCREEN)
        outcome = kwargs.pop("outcome", Outcome.PASSED)
        return [Trial(arm=arm, stage=stage, outcome=outcome, **kwargs) for _ in range(number)]

    def forks(self, *clusters: tuple[int, int], failing: Trial | None = None, arm: Arm = BASELINE) -> list[Trial]:
        """Forked trials, failed and all of each process; those that fail do so as `failing` did."""
        trials = []
        for number, (failed, size) in enumerate(clusters, 1):
            common = {"arm": arm.forked, "cluster": number}
            trials += [self._again(failing, **common) for _ in range(failed)]
            trials += self.passes(size - failed, **common)
        return trials

    def arm(self, factor: str, value: str, ids: tuple[str, ...] = ()) -> Arm:
        return Arm((Level(factor=factor, value=value, ids=ids),))

    def claim(
        self, factor: str, trigger: tuple[Arm, int, int], counter: tuple[Arm, int, int], **kwargs: object
    ) -> Claim:
        first, second = ArmCount(*trigger), ArmCount(*counter)
        p_value = fisher_greater(first.failed, first.trials, second.failed, second.trials)
        kwargs.setdefault("confirmed", p_value <= 0.04)
        return Claim(
            factor=factor, trigger=first, counter=second, p_value=p_value, alpha=0.04, planned=first.trials, **kwargs
        )

    def confirm(self, failing: Trial, claim: Claim) -> list[Trial]:
        """The trials that a claim's counts are of."""
        trials = []
        for count in (claim.trigger, claim.counter):
            command = f"python -m pytest {TARGET}  # {count.arm.label}"
            common = {"arm": count.arm, "stage": Stage.CONFIRM, "command": command}
            trials += [self._again(failing, **common) for _ in range(count.failed)]
            trials += self.passes(count.trials - count.failed, **common)
        return trials

    @staticmethod
    def _again(trial: Trial, **changes: object) -> Trial:
        fields = {name: getattr(trial, name) for name in Trial.__struct_fields__}
        return Trial(**{**fields, **changes})

    def study(self, trials: Sequence[Trial], *claims: Claim, about: Trial | None = None, **kwargs: object) -> Study:
        """Count trials as the planner does; `claims` are about the signature of `about`."""
        note = kwargs.pop("note", "")
        own = [trial for trial in trials if trial.is_evidence and trial.stage is not Stage.PLAIN]
        total = tuple(self._count(own, arm, None) for arm in dict.fromkeys(trial.arm for trial in own))
        keys = dict.fromkeys(s.key for trial in own if (s := signature_of(trial, str(self.root))))
        about_key = signature_of(about, str(self.root)).key if about else None
        studies = tuple(
            SignatureStudy(
                signature=key,
                claims=claims if about_key in {None, key} else (),
                arms=tuple(self._count(own, count.arm, key) for count in total),
                note=note,
            )
            for key in keys
        )
        baseline = next((count for count in total if count.arm == BASELINE), None)
        return Study(target=TARGET, studies=studies, total=total, baseline=baseline, **kwargs)

    def _count(self, trials: Sequence[Trial], arm: Arm, key: str | None) -> ArmCount:
        clusters: dict[int | None, list[int]] = {}
        for trial in trials:
            if trial.arm == arm:
                signature = signature_of(trial, str(self.root))
                cluster = clusters.setdefault(trial.cluster, [0, 0])
                cluster[0] += signature is not None and key in {None, signature.key}
                cluster[1] += 1
        failed, size = (sum(pair[i] for pair in clusters.values()) for i in (0, 1))
        pairs = tuple((pair[0], pair[1]) for pair in clusters.values())
        return ArmCount(arm, failed, size, pairs if arm.depth is Depth.FORKED else ())

    def classify(self, trials: Sequence[Trial], *claims: Claim, **kwargs: object) -> tuple[Finding, ...]:
        target = kwargs.pop("target", TARGET)
        facts = kwargs.pop("facts", {})
        study = kwargs.pop("study", None) or self.study(trials, *claims, **kwargs)
        return classify(target, str(self.root), trials, study, Facts(**{"collected": self.collected, **facts}))


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path.resolve())
