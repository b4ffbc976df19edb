"""Trials with real workers of pytest-xdist: whose outcome is whose, what each worker ran, and what became of it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from triage.model.arm import BASELINE
from triage.model.invocation import Invocation
from triage.model.outcome import Outcome
from triage.model.trial import Stage, Trial
from triage.runner.cold import ColdRunner, Request, interpret, make_trial, read_all, read_crash
from triage.runner.process import run_supervised
from triage.runner.scratch import scratch_folder

PATIENCE = 60
HANG_LIMITS = (4.0, 20.0, 60.0)
"""Seconds: a machine that stalls may not come to the tests within the first one."""
MANY_ENDS = """\
import os, signal, sys

def test_first():
    assert not {"TRIAGE_PROBE", "PYTEST_PLUGINS"} & set(os.environ)
    assert not [path for path in sys.path if "triage" in path]
    if os.fork() == 0:
        os._exit(0)

def test_crash():
    os.kill(os.getpid(), signal.SIGSEGV)

def test_fail():
    value = 1
    assert value == 2

def test_exit():
    os._exit(3)

def test_last():
    pass
"""


class Split:
    """A project whose tests run on xdist's workers."""

    def __init__(self, root: Path, python: Path, bytecode: Path) -> None:
        self.root = root
        self.python = python
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(root),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            "PYTHONPYCACHEPREFIX": str(bytecode),
        }
        (root / "pytest.ini").write_text("[pytest]\naddopts = -p xdist\n")

    def write(self, name: str, code: str) -> None:
        (self.root / name).write_text(code)

    def run(
        self, *options: str, targets: tuple[str, ...], ids: tuple[str, ...] = (), limit: float = PATIENCE
    ) -> dict[str, Trial]:
        """Start pytest once, and judge that run for each of the targets."""
        invocation = Invocation(root=str(self.root), python=str(self.python), node_ids=ids, options=options)
        with ColdRunner(self.root, self.environment) as runner, scratch_folder() as scratch:
            requests = {
                target: Request(invocation=invocation, target=target, arm=BASELINE, stage=Stage.SCREEN, limit=limit)
                for target in targets
            }
            end = run_supervised(
                invocation.argv,
                cwd=self.root,
                environment=runner.environment(requests[targets[0]], scratch),
                limit=limit,
                log_file=scratch.log,
                workers=scratch.wire,
            )
            trials = {}
            for target, request in requests.items():
                wire, said = interpret(request, end, read_all(scratch.wire), read_crash(scratch.crash), scratch)
                trials[target] = make_trial(request, end, wire, said, started=0.0, command="")
        return trials

    def one(self, target: str, *options: str, ids: tuple[str, ...] = (), limit: float = PATIENCE) -> Trial:
        return self.run(*options, targets=(target,), ids=ids, limit=limit)[target]


@pytest.fixture(scope="module")
def make_split(env_python: Callable[[str], Path], bytecode: Path) -> Iterator[Callable[[], Split]]:
    """Projects in short-named folders; pytest itself is compiled once for all of them."""
    base = Path(tempfile.mkdtemp(prefix="t"))

    def make() -> Split:
        return Split(Path(tempfile.mkdtemp(dir=base)), env_python("py3.11-plugins"), bytecode)

    yield make
    shutil.rmtree(base)


@pytest.fixture
def split(make_split: Callable[[], Split]) -> Split:
    return make_split()


@pytest.fixture(scope="module")
def ends(make_split: Callable[[], Split]) -> dict[str, Trial]:
    """One run in which workers die and are replaced, as each of its tests sees it."""
    split = make_split()
    split.write("test_a.py", MANY_ENDS)
    names = ("first", "crash", "fail", "exit", "last")
    trials = split.run("-n", "2", targets=tuple(f"test_a.py::test_{name}" for name in names))
    return {name: trials[f"test_a.py::test_{name}"] for name in names}


@pytest.mark.parametrize(
    ("name", "outcome", "signal"),
    [
        ("first", Outcome.PASSED, None),
        ("crash", Outcome.CRASHED, "SIGSEGV"),
        ("fail", Outcome.FAILED, None),
        ("exit", Outcome.CRASHED, None),
        ("last", Outcome.PASSED, None),
    ],
)
def test_each_end_is_that_of_the_test_it_came_in(
    ends: dict[str, Trial], name: str, outcome: Outcome, signal: str | None
):
    assert (ends[name].outcome, ends[name].signal) == (outcome, signal), ends[name].reason


def test_a_crash_has_the_stack_of_its_worker(ends: dict[str, Trial]) -> None:
    failure = ends["crash"].failure
    assert failure is not None
    assert (failure.phase, failure.exception, failure.message) == ("call", "SIGSEGV", "Segmentation fault")
    assert (Path(failure.frames[-1].file).name, failure.frames[-1].function) == ("test_a.py", "test_crash")
    assert "died by SIGSEGV in the middle of the test (call)" in (ends["crash"].reason or "")
    assert "exited with status 3 in the middle of the test" in (ends["exit"].reason or "")


def test_a_failure_has_the_frames_that_xdist_does_not_hand_on(ends: dict[str, Trial]) -> None:
    failure = ends["fail"].failure
    assert failure is not None
    assert (failure.exception, failure.source) == ("AssertionError", "assert value == 2")
    assert failure.frames[-1].function == "test_fail"


def test_what_each_worker_ran_is_kept(ends: dict[str, Trial]) -> None:
    workers = ends["last"].workers
    assert [worker.id for worker in workers] == ["gw0", "gw1", "gw2", "gw3"]  # two replace those that died
    assert sorted(id_ for worker in workers for id_ in worker.sequence) == sorted(
        f"test_a.py::test_{name}" for name in ends
    )
    endings = {worker.sequence[-1].partition("_a.py::test_")[2]: worker.end for worker in workers if worker.end}
    assert endings == {"crash": "SIGSEGV", "exit": "exit status 3"}
    for name, trial in ends.items():
        assert trial.sequence in {worker.sequence for worker in workers}
        assert f"test_a.py::test_{name}" in trial.sequence


def test_a_worker_that_hangs_has_its_own_stack(split: Split) -> None:
    split.write("test_a.py", "import threading\ndef test_ok(): pass\ndef test_hang(): threading.Event().wait()\n")
    for limit in HANG_LIMITS:
        said = split.run("-n", "2", targets=("test_a.py::test_hang", "test_a.py::test_ok"), limit=limit)
        hung, passed = said.values()
        if hung.sequence and passed.sequence:
            break
    assert hung.outcome is Outcome.HUNG, hung.reason
    assert hung.failure is not None
    assert "test_hang" in [frame.function for frame in hung.failure.frames]
    assert passed.outcome is Outcome.PASSED, passed.reason
    assert passed.reason == "the time limit was reached later"


def test_a_death_that_xdist_hides_is_seen_by_the_trial_without_it(split: Split) -> None:
    split.write("test_a.py", "import atexit, os\ndef test_it(): atexit.register(lambda: os.kill(os.getpid(), 11))\n")
    target = "test_a.py::test_it"
    beside = split.one(target, "-n", "1")
    assert (beside.outcome, beside.exit_status) == (Outcome.PASSED, 0)
    assert beside.reason == "its worker `gw0` ended by SIGSEGV after its last test, which xdist hides"
    alone = split.one(target, ids=(target,))
    assert (alone.outcome, alone.signal) == (Outcome.CRASHED, "SIGSEGV")
    assert alone.failure is not None
    assert alone.failure.phase == "exit"
    assert alone.workers == ()


def test_the_sequence_of_a_worker_does_the_same_in_one_process(split: Split) -> None:
    split.write("test_a.py", "import os\ndef test_dirty(): os.environ['DIRTY'] = '1'\n")
    split.write("test_b.py", "def test_other(): pass\n")
    split.write("test_c.py", "import os\ndef test_clean(): assert 'DIRTY' not in os.environ\n")
    target = "test_c.py::test_clean"
    failed = split.one(target, "-n", "1", "--dist", "loadfile")
    before = failed.before_in_worker(target)
    assert (failed.outcome, before) == (Outcome.FAILED, ("test_a.py::test_dirty", "test_b.py::test_other"))
    again = split.one(target, ids=(*before, target))
    assert (again.outcome, again.workers, again.before_in_worker(target)) == (Outcome.FAILED, (), ())
    assert split.one(target, ids=(target,)).outcome is Outcome.PASSED


MODES = {
    "loadscope": {frozenset({"test_a.py::K::test_1", "test_a.py::K::test_2"}), frozenset({"test_b.py::test_3"})},
    "loadfile": {frozenset({"test_a.py::K::test_1", "test_a.py::K::test_2"}), frozenset({"test_b.py::test_3"})},
    "loadgroup": {frozenset({"test_a.py::K::test_1", "test_b.py::test_3"}), frozenset({"test_a.py::K::test_2"})},
    "each": {frozenset({"test_a.py::K::test_1", "test_a.py::K::test_2", "test_b.py::test_3"})},
    "worksteal": None,
}


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_of_distribution(split: Split, mode: str) -> None:
    split.write(
        "test_a.py",
        "import pytest\nclass K:\n"
        "    @pytest.mark.xdist_group('g')\n    def test_1(self): pass\n    def test_2(self): pass\n",
    )
    split.write("test_b.py", "import pytest\n@pytest.mark.xdist_group('g')\ndef test_3(): assert False\n")
    options = ("-n", "2", "--dist", mode, "-o", "python_classes=K")
    passed, failed = split.run(*options, targets=("test_a.py::K::test_1", "test_b.py::test_3")).values()
    assert (passed.outcome, failed.outcome) == (Outcome.PASSED, Outcome.FAILED), (passed.reason, failed.reason)
    expected = MODES[mode]
    assert expected is None or {frozenset(worker.sequence) for worker in passed.workers} == expected
    assert passed.sequence[: passed.sequence.index("test_a.py::K::test_1")] == passed.before_in_worker(
        "test_a.py::K::test_1"
    )


def test_workers_that_collect_differently_are_named(split: Split) -> None:
    split.write(
        "test_a.py",
        "import pytest\n@pytest.mark.parametrize('x', set('abcdefghij'))\ndef test_it(x): pass\n",
    )
    said = split.one("test_a.py::test_it[a]", "-n", "2")
    assert said.outcome is Outcome.NOT_COLLECTED
    assert said.reason is not None
    assert said.reason.startswith("xdist's workers collected different tests, or the same in another order")
    assert "`gw0` 10, `gw1` 10" in said.reason


def test_without_a_replacement_the_target_is_not_reached(split: Split) -> None:
    split.write("test_a.py", "import os\ndef test_crash(): os.abort()\ndef test_it(): pass\n")
    said = split.one("test_a.py::test_it", "-n", "1", "--max-worker-restart=0")
    assert said.outcome is Outcome.NOT_COLLECTED
    assert said.reason == "worker `gw0` ended by SIGABRT in `test_a.py::test_crash`, before the target had started"
