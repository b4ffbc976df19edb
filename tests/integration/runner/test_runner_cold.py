"""Whole trials: a real pytest with the real probe, from request to judgement."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from triage.model.arm import BASELINE
from triage.model.invocation import Invocation
from triage.model.outcome import FAILURES, Outcome
from triage.model.trial import Stage, Trial
from triage.runner.cold import ColdRunner, Finished, Request
from triage.runner.process import CancelledError
from triage.runner.scratch import remove

PATIENCE = 60.0
Run = Callable[..., Finished]

ENDINGS = """
import atexit, faulthandler, os, signal, sys, threading, time
import pytest

def test_passes(): pass
def test_fails(): assert [1] == [2]
def test_segfaults(): faulthandler._sigsegv()
def test_hangs(): threading.Event().wait()
def test_leaves(): os._exit(3)
def test_leaves_in_peace(): os._exit(0)
def test_interrupts(): raise KeyboardInterrupt
def test_ends_session(): pytest.exit("enough", returncode=7)
def test_hangs_at_exit(): threading.Thread(target=threading.Event().wait).start()
def test_aborts_at_exit(): atexit.register(os.abort)
def test_is_killed(): os.kill(os.getpid(), signal.SIGKILL)
def test_is_terminated(): os.kill(os.getpid(), signal.SIGTERM)
def test_skips(): pytest.skip("not here")
@pytest.mark.xfail
def test_xfails(): assert 0
@pytest.mark.xfail
def test_xpasses(): pass
@pytest.mark.xfail(strict=True)
def test_strict(): pass
@pytest.fixture
def broken(): raise ValueError
def test_setup(broken): pass
@pytest.fixture
def leaky():
    yield
    raise ValueError
def test_teardown(leaky): pass
"""


HOLDS = """
import time
def test():
    with open(WITNESS, "w", 1) as held:
        held.write("ready\\n")
        time.sleep(1000)
"""


@pytest.fixture
def project(folder: Path) -> Path:
    root = folder / "p"
    root.mkdir()
    (root / "pytest.ini").write_text("[pytest]\n")
    return root


@pytest.fixture
def pristine(folder: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


@pytest.fixture(scope="session")
def bytecode(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bytecode")


@pytest.fixture
def environment(pristine: dict[str, str], bytecode: Path) -> dict[str, str]:
    """As if the user had a place for bytecode, so that pytest is compiled once and not for every test."""
    return pristine | {"PYTHONPYCACHEPREFIX": str(bytecode)}


@pytest.fixture
def runner(project: Path, environment: dict[str, str]) -> Iterator[ColdRunner]:
    with ColdRunner(project, environment) as cold:
        yield cold


def request(
    root: Path,
    target: str | None,
    *,
    ids: tuple[str, ...] = (),
    options: tuple[str, ...] = (),
    levels: tuple[str, ...] = (),
    python: str = sys.executable,
    limit: float = PATIENCE,
    **more: Any,
) -> Request:
    node_ids = ids or (str(target),)
    invocation = Invocation(root=str(root), python=python, node_ids=node_ids, options=options, levels=levels)
    return Request(invocation=invocation, target=target, arm=BASELINE, stage=Stage.SCOUT, limit=limit, **more)


def until_started(run: Callable[[float], Trial]) -> Trial:
    """Run a trial that hangs with the first limit that is long enough for this machine to reach the hang."""
    for limit in (4.0, 12.0, 36.0):
        trial = run(limit)
        if trial.sequence and trial.failure is not None and trial.failure.phase != "collect":
            return trial
    pytest.fail("the test did not start within 36 s")


@pytest.mark.parametrize(
    ("name", "outcome", "phase"),
    [
        ("passes", Outcome.PASSED, None),
        ("fails", Outcome.FAILED, "call"),
        ("segfaults", Outcome.CRASHED, "call"),
        ("leaves", Outcome.CRASHED, "call"),
        ("leaves_in_peace", Outcome.CRASHED, "call"),
        ("interrupts", Outcome.CRASHED, "call"),
        ("ends_session", Outcome.CRASHED, "call"),
        ("aborts_at_exit", Outcome.CRASHED, "exit"),
        ("is_killed", Outcome.KILLED, None),
        ("is_terminated", Outcome.KILLED, None),
        ("skips", Outcome.SKIPPED, None),
        ("xfails", Outcome.XFAILED, None),
        ("xpasses", Outcome.XPASSED, None),
        ("strict", Outcome.FAILED, "call"),
        ("setup", Outcome.ERROR, "setup"),
        ("teardown", Outcome.ERROR, "teardown"),
        ("is_missing", Outcome.NOT_COLLECTED, None),
    ],
)
def test_endings(runner: ColdRunner, project: Path, name: str, outcome: Outcome, phase: str | None):
    (project / "test_e.py").write_text(ENDINGS)
    trial = runner.run(request(project, f"test_e.py::test_{name}")).trial
    assert trial.outcome is outcome, trial
    assert (trial.failure.phase if trial.failure else None) == phase
    assert trial.is_failure == (outcome in FAILURES)
    assert trial.leftovers == 0
    if outcome is not Outcome.NOT_COLLECTED:
        assert trial.sequence == (f"test_e.py::test_{name}",)
        assert trial.python == ".".join(map(str, sys.version_info[:3]))


def test_a_crash_has_its_stack(runner: ColdRunner, project: Path):
    (project / "test_e.py").write_text(ENDINGS)
    trial = runner.run(request(project, "test_e.py::test_segfaults")).trial
    assert trial.signal == "SIGSEGV"
    assert trial.failure is not None
    assert trial.failure.exception == "SIGSEGV"
    assert trial.failure.frames[-1].function == "test_segfaults"
    assert Path(trial.failure.frames[-1].file).name == "test_e.py"


@pytest.mark.parametrize(("name", "phase"), [("hangs", "call"), ("hangs_at_exit", "exit")])
def test_a_hang_has_its_stack(runner: ColdRunner, project: Path, name: str, phase: str):
    (project / "test_e.py").write_text(ENDINGS)

    def run(limit: float) -> Trial:
        return runner.run(request(project, f"test_e.py::test_{name}", limit=limit)).trial

    trial = until_started(run)
    assert trial.outcome is Outcome.HUNG
    assert trial.failure is not None
    assert trial.failure.phase == phase
    if phase == "call":
        assert [frame.function for frame in trial.failure.frames if frame.file.endswith("test_e.py")] == ["test_hangs"]


@pytest.mark.parametrize(
    ("name", "outcome"),
    [("passes", Outcome.PASSED), ("fails", Outcome.FAILED), ("segfaults", Outcome.CRASHED), ("skips", Outcome.PASSED)],
)
def test_without_the_probe(runner: ColdRunner, project: Path, name: str, outcome: Outcome):
    (project / "test_e.py").write_text(ENDINGS)
    finished = runner.run(request(project, f"test_e.py::test_{name}", probed=False))
    assert (finished.trial.outcome, finished.wire, finished.trial.probed) == (outcome, None, False)


def test_an_earlier_test_that_ends_the_process_is_named(runner: ColdRunner, project: Path):
    (project / "test_e.py").write_text(ENDINGS)
    ids = ("test_e.py::test_passes", "test_e.py::test_segfaults", "test_e.py::test_fails")
    trial = runner.run(request(project, ids[2], ids=ids)).trial
    assert trial.outcome is Outcome.NOT_COLLECTED
    assert trial.reason is not None
    assert "SIGSEGV in `test_e.py::test_segfaults`" in trial.reason
    assert trial.sequence == ids[:2]
    later = runner.run(request(project, ids[0], ids=ids)).trial
    assert later.outcome is Outcome.PASSED
    assert later.reason is not None
    assert "SIGSEGV in or after `test_e.py::test_segfaults`" in later.reason


def test_collection_errors(runner: ColdRunner, project: Path):
    (project / "test_i.py").write_text("import no_such_module\n")
    trial = runner.run(request(project, "test_i.py::test")).trial
    assert trial.outcome is Outcome.NOT_COLLECTED
    assert trial.reason is not None
    assert "no_such_module" in trial.reason


def test_a_crash_while_collecting(runner: ColdRunner, project: Path):
    (project / "test_i.py").write_text("import faulthandler\nfaulthandler._sigsegv()\n")
    trial = runner.run(request(project, "test_i.py::test")).trial
    assert trial.outcome is Outcome.CRASHED
    assert trial.failure is not None
    assert trial.failure.phase == "collect"


def test_a_usage_error_is_the_instruments(runner: ColdRunner, project: Path):
    (project / "test_e.py").write_text(ENDINGS)
    trial = runner.run(request(project, "test_e.py::test_passes", options=("--no-such-option",))).trial
    assert trial.outcome is Outcome.BROKEN
    assert trial.reason is not None
    assert "--no-such-option" in trial.reason


def test_an_interpreter_that_is_none(runner: ColdRunner, project: Path):
    trial = runner.run(request(project, "test_e.py::test", python=str(project / "python"))).trial
    assert trial.outcome is Outcome.BROKEN
    trial = runner.run(request(project, "test_e.py::test", python="/bin/true")).trial
    assert (trial.outcome, trial.reason) == (Outcome.BROKEN, "the probe did not load")


def test_a_collection_brings_items_and_plugins(runner: ColdRunner, project: Path):
    (project / "test_c.py").write_text("import pytest\n@pytest.mark.parametrize('n', [1, 2])\ndef test(n): pass\n")
    finished = runner.run(request(project, None, ids=("test_c.py",), collect=True, options=("--collect-only",)))
    assert finished.trial.outcome is Outcome.PASSED
    assert finished.wire is not None
    collection = finished.wire.collection()
    assert collection is not None
    assert [item.id for item in collection.items] == ["test_c.py::test[1]", "test_c.py::test[2]"]
    assert "pytest" in {name for name, _version in collection.packages}


def test_facts(runner: ColdRunner, project: Path):
    code = "import threading\ndef test():\n    t = threading.Thread(target=int)\n    t.start()\n    t.join()\n"
    (project / "test_f.py").write_text(code)
    finished = runner.run(request(project, "test_f.py::test", facts=True))
    assert finished.wire is not None
    assert [(facts.id, facts.threads) for facts in finished.wire.facts] == [("test_f.py::test", 1)]


def test_repeats_stop_at_the_first_failure(runner: ColdRunner, project: Path):
    (project / "test_r.py").write_text("runs = []\ndef test():\n    runs.append(1)\n    assert len(runs) < 3\n")
    trial = runner.run(request(project, "test_r.py::test", repeat=5, levels=("repeat=5",))).trial
    assert (trial.outcome, trial.index, trial.sequence) == (Outcome.FAILED, 3, ("test_r.py::test",) * 3)
    assert trial.command.startswith("TRIAGE_LEVELS=repeat=5 PYTHONPATH=.triage/plugins ")


def test_repeats_that_were_not_run_are_the_instruments(runner: ColdRunner, project: Path):
    (project / "test_r.py").write_text("def test(): pass\n")
    assert runner.run(request(project, "test_r.py::test", repeat=5)).trial.outcome is Outcome.BROKEN


@pytest.mark.parametrize("given", [{}, {"PYTHONPATH": "lib", "PYTEST_PLUGINS": "extra"}], ids=["unset", "set"])
@pytest.mark.parametrize("levels", [(), ("rng_seed=1",)], ids=["plain", "levels"])
def test_the_target_sees_the_users_environment(
    project: Path, environment: dict[str, str], given: dict[str, str], levels: tuple[str, ...]
):
    (project / "lib").mkdir()
    (project / "lib" / "extra.py").write_text("")
    (project / "test_v.py").write_text(
        "import json, os, pathlib, sys\n"
        "seen = dict(os.environ), [entry for entry in sys.path if 'triage' in entry]\n"
        "def test(): pathlib.Path('seen').write_text(json.dumps(seen))\n"
    )
    base = environment | given
    with ColdRunner(project, base) as cold:
        trial = cold.run(request(project, "test_v.py::test", levels=levels)).trial
    assert trial.outcome is Outcome.PASSED, trial
    seen, path = json.loads((project / "seen").read_text())
    temporary = Path(seen.pop("TMPDIR"))
    assert temporary.parent.parent == Path(tempfile.gettempdir())
    for own in ("PYTEST_VERSION", "PYTEST_CURRENT_TEST", "LC_CTYPE"):
        seen.pop(own, None)
    assert seen == base
    assert path == []


def test_nothing_is_written_into_the_project(project: Path, pristine: dict[str, str]):
    (project / "test_w.py").write_text("def test(tmp_path): (tmp_path / 'x').write_text('')\n")
    with ColdRunner(project, pristine) as cold:
        for probed in (True, False):
            assert cold.run(request(project, "test_w.py::test", probed=probed)).trial.outcome is Outcome.PASSED
    assert {path.name for path in project.iterdir()} == {"pytest.ini", "test_w.py", ".triage"}
    assert list((project / ".triage" / "bytecode").rglob("test_w*.pyc"))


def test_the_users_choice_about_bytecode_stays(project: Path, pristine: dict[str, str]):
    (project / "test_w.py").write_text(
        "import os, sys\ndef test(): assert sys.dont_write_bytecode and 'PYTHONPYCACHEPREFIX' not in os.environ\n"
    )
    with ColdRunner(project, pristine | {"PYTHONDONTWRITEBYTECODE": "1"}) as cold:
        assert cold.run(request(project, "test_w.py::test")).trial.outcome is Outcome.PASSED


def test_a_plain_trial_where_the_cache_is_off(project: Path, environment: dict[str, str]):
    (project / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider --strict-config\n")
    (project / "test_w.py").write_text("def test(): pass\n")
    with ColdRunner(project, environment) as cold:
        assert cold.run(request(project, "test_w.py::test", probed=False)).trial.outcome is Outcome.PASSED


def test_a_project_that_cannot_be_written(project: Path, environment: dict[str, str], folder: Path):
    (project / ".triage").write_text("in the way")
    (project / "test_w.py").write_text("import random\nfirst = random.random()\ndef test(): pass\n")
    with ColdRunner(project, environment) as cold:
        assert len(cold.notes) == 1
        trial = cold.run(request(project, "test_w.py::test", levels=("repeat=2",), repeat=2)).trial
        assert trial.outcome is Outcome.PASSED, trial
    assert (project / ".triage").read_text() == "in the way"
    assert list((folder / "tmp").iterdir()) == []


def test_many_trials_leave_neither_descriptors_nor_folders(runner: ColdRunner, project: Path, folder: Path):
    ask = request(project, "test_e.py::test", python="/bin/true", probed=False)
    runner.run(ask)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for _ in range(50):
        assert runner.run(ask).trial.outcome is Outcome.PASSED
    assert len(list(Path("/proc/self/fd").iterdir())) == before
    assert list((folder / "tmp").iterdir()) == []


def test_folders_that_a_test_has_locked_are_removed(folder: Path):
    folder.chmod(0o777)
    victim = folder / "victim"
    (victim / "locked" / "inner").mkdir(parents=True)
    (victim / "locked" / "inner" / "file").write_text("")
    root, nobody = os.geteuid(), 65534
    if root == 0:  # whom no permission stops
        for path in (folder, victim, victim / "locked", victim / "locked" / "inner"):
            os.chown(path, nobody, -1)
    (victim / "locked" / "inner").chmod(0)
    (victim / "locked").chmod(0)
    try:
        os.seteuid(nobody if root == 0 else root)
        remove(victim)
    finally:
        os.seteuid(root)
    assert not victim.exists()


def test_cancel_ends_the_trial_and_every_later_one(runner: ColdRunner, project: Path, folder: Path, witness):
    code = (
        f"import time\ndef test():\n    open({str(witness.path)!r}, 'w', 1).write('ready\\n')\n    time.sleep(1000)\n"
    )
    (project / "test_h.py").write_text(code.replace("open(", "held = open(").replace(".write", "; held.write"))

    def cancel() -> None:
        witness.lines()
        runner.cancel()

    thread = threading.Thread(target=cancel)
    thread.start()
    try:
        with pytest.raises(CancelledError):
            runner.run(request(project, "test_h.py::test"))
    finally:
        thread.join()
    witness.wait_for_end()
    with pytest.raises(CancelledError):
        runner.run(request(project, "test_h.py::test"))
    assert list((folder / "tmp").iterdir()) == []


@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_leaves_no_folder(runner: ColdRunner, project: Path, folder: Path, witness):
    (project / "test_h.py").write_text(HOLDS.replace("WITNESS", repr(str(witness.path))))

    def interrupt() -> None:
        witness.lines()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            runner.run(request(project, "test_h.py::test"))
    finally:
        thread.join()
    witness.wait_for_end()
    assert list((folder / "tmp").iterdir()) == []


def test_trials_in_parallel_keep_apart(runner: ColdRunner, project: Path):
    (project / "test_p.py").write_text(
        "import pytest\n@pytest.mark.parametrize('n', range(4))\ndef test(n): assert n % 2 == 0\n"
    )
    done: dict[int, Trial] = {}

    def run(number: int) -> None:
        done[number] = runner.run(request(project, f"test_p.py::test[{number}]")).trial

    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [done[number].outcome for number in range(4)] == [Outcome.PASSED, Outcome.FAILED] * 2
