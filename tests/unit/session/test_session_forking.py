"""Which tests the process to be forked collects, what becomes of forking, and how processes are numbered."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from triage.model.arm import BASELINE, Arm, Level
from triage.model.invocation import Invocation
from triage.model.outcome import Outcome
from triage.model.project import Item
from triage.model.trial import Stage, Trial
from triage.runner.cold import Finished, Request
from triage.runner.forks import UnforkableError
from triage.runner.process import ProcessEnd
from triage.session import forking as module
from triage.session.forking import DEAR, LEAST_DEAR, MOST_FILES, Forking

TARGET = Item(id="b.py::test_it", file="b.py")
SCOPE = (Item(id="a.py::test_a", file="a.py"), Item(id="a.py::test_b", file="a.py"), TARGET)
FILES, ALONE = ("a.py", "b.py"), (TARGET.id,)
ORDER = Arm((Level(factor="order", value="after a", ids=("a.py::test_a",)),), BASELINE.forked.depth)
SEED = Arm((Level(factor="rng_seed", value="7"),), BASELINE.forked.depth)

Start = Callable[[Request, tuple[str, ...], int], float]


class FakePool:
    """Says how long each start took, or that it cannot be; remembers what it was asked."""

    def __init__(self, _runner: object) -> None:
        self.asked: list[tuple[str, ...]] = []
        self.start: Start = lambda *_: 0.0
        self.closed = False
        self.outcomes: list[Outcome] = []
        self.states: list[dict[str, str]] = []

    def seeded(self) -> tuple[dict[str, str], ...]:
        return tuple(self.states[-1:])

    def run(self, request: Request, around: tuple[str, ...], generation: int) -> tuple[Finished, float]:
        self.asked.append(around)
        start = self.start(request, around, generation)
        outcome = self.outcomes.pop(0) if self.outcomes else Outcome.PASSED
        trial = Trial(arm=request.arm, stage=request.stage, outcome=outcome)
        return Finished(trial=trial, end=ProcessEnd()), start

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Forking]:
    monkeypatch.setattr(module, "ForkPool", FakePool)

    def forking(
        start: Start = lambda *_: 0.0,
        scope: Sequence[Item] = SCOPE,
        cold_seconds: float = 0.5,
        reason: str | None = None,
        scout: Outcome = Outcome.PASSED,
    ) -> Forking:
        cold = Trial(arm=BASELINE, stage=Stage.SCOUT, outcome=scout, wall_seconds=cold_seconds)
        made = Forking(None, TARGET, scope, cold, reason)  # type: ignore[arg-type]
        made.pool.start = start  # type: ignore[attr-defined]
        return made

    return forking


def request(arm: Arm = BASELINE.forked, python: str = "/venv/python", env: tuple[tuple[str, str], ...] = ()) -> Request:
    invocation = Invocation(root="/project", python=python, node_ids=(TARGET.id,), env=env)
    return Request(invocation=invocation, target=TARGET.id, arm=arm, stage=Stage.SCREEN, limit=10.0)


def unforkable(*arounds: tuple[str, ...], why: str = "it starts a thread") -> Start:
    def start(_request: Request, around: tuple[str, ...], _generation: int) -> float:
        if around in arounds:
            raise UnforkableError(f"{why}: {len(around)}")
        return 0.0

    return start


def restarting(every: int) -> Start:
    """A new process for each generation, interpreter and environment, and after so many trials."""
    seen: dict[object, int] = {}

    def start(request: Request, around: tuple[str, ...], generation: int) -> float:
        key = (request.invocation, around, generation)
        seen[key] = seen.get(key, 0) + 1
        return 0.4 if seen[key] % every == 1 else 0.0

    return start


# -- what is collected -----------------------------------------------------------------------------------------------


def test_the_files_of_the_scope_and_the_targets_own_are_collected_each_once(make: Callable[..., Forking]) -> None:
    forking = make()
    forking.run(request(), 1)
    assert forking.pool.asked == [FILES]
    other = make(scope=SCOPE[:2])
    other.run(request(), 1)
    assert other.pool.asked == [FILES], "the target need not be in the scope"


@pytest.mark.parametrize("scope", [(), (TARGET,)])
def test_a_target_without_others_is_collected_alone(make: Callable[..., Forking], scope: tuple[Item, ...]) -> None:
    forking = make(scope=scope)
    forking.run(request(), 1)
    assert forking.pool.asked == [ALONE]


def test_so_is_one_of_more_files_than_a_command_line_holds(make: Callable[..., Forking]) -> None:
    def scope(size: int) -> tuple[Item, ...]:
        return tuple(Item(id=f"{number}.py::test", file=f"{number}.py") for number in range(size))

    fitting, beyond = make(scope=scope(MOST_FILES - 1)), make(scope=scope(MOST_FILES))
    for forking in (fitting, beyond):
        forking.run(request(), 1)
    assert len(fitting.pool.asked[0]) == MOST_FILES
    assert beyond.pool.asked == [ALONE]


def test_a_scope_that_cannot_be_forked_leaves_the_target_alone(make: Callable[..., Forking]) -> None:
    forking = make(unforkable(FILES))
    finished, start = forking.run(request(), 1)
    assert (finished.trial.cluster, start) == (1, 0.0)
    forking.run(request(), 1)
    assert forking.pool.asked == [FILES, ALONE, ALONE], "it is not tried again"
    assert forking.reason is None


@pytest.mark.parametrize(
    ("cold", "start", "dear"),
    [
        (0.5, LEAST_DEAR, False),
        (0.5, LEAST_DEAR + 0.1, True),
        (2.0, 2.0 * DEAR, False),
        (2.0, 2.0 * DEAR + 0.1, True),
    ],
)
def test_a_scope_that_takes_too_long_to_collect_does_too_but_its_trial_counts(
    make: Callable[..., Forking], cold: float, start: float, dear: bool
) -> None:
    forking = make(lambda *_: start, cold_seconds=cold)
    finished, seconds = forking.run(request(), 1)
    assert (finished.trial.cluster, seconds) == (1, start)
    assert forking.run(request(), 1)[0].trial.cluster == 2
    assert forking.pool.asked == [FILES, ALONE if dear else FILES]
    forking.run(request(), 1)
    assert forking.pool.asked[-1] == forking.pool.asked[1], "alone is the last resort, however dear"


# -- where it ends ---------------------------------------------------------------------------------------------------


def test_a_target_that_cannot_be_forked_even_alone_says_why_and_is_not_tried_again(
    make: Callable[..., Forking],
) -> None:
    forking = make(unforkable(FILES, ALONE))
    with pytest.raises(UnforkableError, match="it starts a thread: 1"):
        forking.run(request(), 1)
    assert forking.reason == "it starts a thread: 1", "the reason is that of the target alone"
    with pytest.raises(UnforkableError, match="it starts a thread: 1"):
        forking.run(request(SEED), 1)
    assert forking.pool.asked == [FILES, ALONE]


def test_an_arm_that_cannot_be_forked_ends_nothing(make: Callable[..., Forking]) -> None:
    def start(asked: Request, _around: tuple[str, ...], _generation: int) -> float:
        if asked.arm.levels:
            raise UnforkableError("no such interpreter")
        return 0.0

    forking = make(start)
    with pytest.raises(UnforkableError, match="no such interpreter"):
        forking.run(request(SEED), 1)
    assert forking.reason is None
    forking.run(request(), 1)
    assert forking.pool.asked == [FILES, FILES]


def test_orders_need_the_scope(make: Callable[..., Forking]) -> None:
    forking = make(unforkable(FILES))
    forking.run(request(), 1)
    with pytest.raises(UnforkableError, match="collected the target alone"):
        forking.run(request(ORDER), 1)
    forking.run(request(SEED), 1)
    assert forking.pool.asked == [FILES, ALONE, ALONE], "the pool was not asked"
    assert forking.reason is None
    make().run(request(ORDER), 1)


def test_a_reason_from_before_the_experiment_stays(make: Callable[..., Forking]) -> None:
    forking = make(reason="the controls missed")
    assert forking.reason == "the controls missed"


def test_closing_ends_the_processes(make: Callable[..., Forking]) -> None:
    forking = make()
    forking.close()
    assert forking.pool.closed


# -- clusters --------------------------------------------------------------------------------------------------------


def clusters(forking: Forking, asked: Sequence[tuple[Request, int]]) -> list[int | None]:
    return [forking.run(one, generation)[0].trial.cluster for one, generation in asked]


def test_forks_of_one_process_have_one_number_whatever_their_arm(make: Callable[..., Forking]) -> None:
    forking = make(lambda asked, *_: 0.4 if not forking.pool.asked[1:] else 0.0)
    assert clusters(forking, [(request(), 1), (request(SEED), 1), (request(ORDER), 1)]) == [1, 1, 1]


def test_each_start_has_a_number_of_its_own(make: Callable[..., Forking]) -> None:
    assert clusters(make(restarting(2)), [(request(), 1)] * 5) == [1, 1, 2, 2, 3]
    assert clusters(make(restarting(99)), [(request(), 1), (request(), 2), (request(), 2)]) == [1, 2, 2]


def test_processes_that_take_turns_keep_their_numbers(make: Callable[..., Forking]) -> None:
    other, debug = request(python="/other/python"), request(env=(("PYTHONHASHSEED", "7"),))
    asked = [(request(), 1), (other, 1), (debug, 1), (request(), 1), (other, 1), (debug, 1)]
    assert clusters(make(restarting(99)), asked) == [1, 2, 3, 1, 2, 3]


def test_a_process_that_was_there_has_a_number_too(make: Callable[..., Forking]) -> None:
    assert clusters(make(), [(request(), 1), (request(), 1), (request(), 2)]) == [1, 1, 2]


def test_generators_that_are_seeded_otherwise_in_each_process_are_told(make: Callable[..., Forking]) -> None:
    forking = make(lambda *_: 0.1)
    pool: FakePool = forking.pool  # type: ignore[assignment]
    for generation, state in enumerate(("one", "one", "two")):
        pool.states.append({"random": state, "numpy.random": "same"})
        assert forking.seeded_apart == ()
        forking.run(request(), generation)
    assert forking.seeded_apart == ("random",)


@pytest.mark.parametrize(
    ("scout", "outcomes", "given_up"),
    [
        (Outcome.PASSED, [Outcome.HUNG, Outcome.CRASHED, Outcome.HUNG], True),
        (Outcome.PASSED, [Outcome.HUNG, Outcome.HUNG], False),
        (Outcome.PASSED, [Outcome.FAILED, Outcome.HUNG, Outcome.HUNG, Outcome.HUNG], False),
        (Outcome.CRASHED, [Outcome.CRASHED] * 3, False),
    ],
    ids=["all", "too few", "not the first", "so does a fresh process"],
)
def test_forking_that_kills_is_given_up(
    make: Callable[..., Forking], scout: Outcome, outcomes: list[Outcome], given_up: bool
) -> None:
    forking = make(scout=scout)
    forking.pool.outcomes = list(outcomes)  # type: ignore[attr-defined]
    for _ in outcomes:
        forking.run(request(), 0)
    assert bool(forking.reason) is given_up
    if given_up:
        with pytest.raises(UnforkableError, match="hung or crashed"):
            forking.run(request(), 0)
