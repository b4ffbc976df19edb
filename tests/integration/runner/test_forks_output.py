"""Which output is whose, and where `faulthandler` writes."""

from __future__ import annotations

from typing import Any

import pytest

from triage.runner.process import HEAD_BYTES, TAIL_BYTES

CAPTURES = pytest.mark.parametrize("option", ["--capture=fd", "--capture=sys", "-s", "--capture=tee-sys"])
TELLS = """
import os, sys
count = 0
def test():
    print("out", os.getpid())
    print("err", os.getpid(), file=sys.stderr)
    os.write(1, b"low out\\n")
    os.write(2, b"low err\\n")
    open("seen", "a").write(f"{os.getpid()}\\n")
"""


@CAPTURES
def test_output_belongs_to_its_trial(forks: Any, option: str):
    forks.write("test_o.py", TELLS)
    for _ in range(3):
        finished = forks.run("test_o.py::test", options=(option,))
        assert finished.trial.outcome == "passed"
        out, err = finished.trial.stdout, finished.trial.stderr
        (pid,) = forks.seen()
        shown, low = option in {"-s", "--capture=tee-sys"}, option != "--capture=fd"
        assert (out.count(f"out {pid}\n"), err.count(f"err {pid}\n")) == (shown, shown)
        assert (out.count("low out\n"), err.count("low err\n")) == (low, low)
        assert out.count("out") + err.count("err") == 2 * shown + 2 * low


@CAPTURES
def test_what_a_module_kept_of_the_streams_goes_on_working(forks: Any, option: str):
    """A log handler or a default argument holds the stream that was there at import: pytest's own, while it captures."""
    forks.write(
        "test_o.py",
        "import logging, sys\nlogging.basicConfig(stream=sys.stderr)\nlogging.raiseExceptions = True\n"
        "def say(text, to=sys.stdout): print(text, file=to)\n"
        "def test():\n    logging.warning('logged')\n    say('said')\n    assert not sys.stdout.closed\n"
        "    assert 0\n",
    )
    for _ in range(3):
        trial = forks.run("test_o.py::test", options=(option,)).trial
        assert trial.failure is not None
        assert trial.failure.exception == "AssertionError", trial.failure
        assert trial.failure.source.strip() == "assert 0"
        everything = trial.failure.text + trial.stdout + trial.stderr
        assert "Logging error" not in everything
    sections = forks.cold("test_o.py::test", options=(option,)).trial
    assert ("WARNING:root:logged" in sections.stderr) == ("WARNING:root:logged" in trial.stderr)


@pytest.mark.parametrize("option", ["-s", "--capture=fd"])
def test_text_that_was_buffered_at_import_is_written_once(forks: Any, option: str):
    forks.write(
        "test_o.py",
        "import sys\nprint('before ', end='')\nprint('before ', end='', file=sys.__stdout__)\nsys.stderr.write('early ')\n"
        "def test(): print('within')\n",
    )
    for _ in range(2):
        trial = forks.run("test_o.py::test", options=(option,)).trial
        assert ("before" in trial.stdout, "early" in trial.stderr) == (False, False)
        assert ("within" in trial.stdout) == (option == "-s")


@CAPTURES
def test_text_that_nobody_had_read_from_pytest_s_capture(forks: Any, option: str):
    """All trials are alike in what they have of it."""
    forks.write(
        "conftest.py",
        "from seeing import see\ndef pytest_collection_finish(session):\n"
        "    m = session.config.pluginmanager.get_plugin('capturemanager')\n"
        "    m.resume_global_capture()\n    print('before', flush=True)\n    m.suspend_global_capture()\n"
        "def pytest_runtest_logreport(report): see(report.sections)\n",
    )
    forks.write("test_o.py", "def test_captures(capfd): print('within')\ndef test_fails(): assert 0\n")
    told = []
    for name in ("fails", "captures", "fails"):
        trial = forks.run(f"test_o.py::test_{name}", around=("test_o.py",), options=(option,)).trial
        assert "before" not in trial.stdout
        told.append(forks.seen())
    assert told[0] == told[2]


@pytest.mark.parametrize("how", ["sys.stdout.write(text)", "os.write(1, text.encode())", "os.system('/bin/cat long')"])
def test_much_output_is_bounded_and_ends(forks: Any, how: str):
    forks.write("long", "x" * 5_000_000)
    forks.write(
        "test_o.py",
        "import os, sys\ndef test_much():\n    text = open('long').read()\n    sys.stdout.write('begin')\n    sys.stdout.flush()\n"
        f"    {how}\n    sys.stdout.write('end')\n    sys.stdout.flush()\n"
        "def test_little(): print('little')\n",
    )
    for _ in range(2):
        trial = forks.run("test_o.py::test_much", around=("test_o.py",), options=("-s",)).trial
        assert trial.outcome == "passed"
        assert "begin" in trial.stdout[:HEAD_BYTES]
        assert "end" in trial.stdout[-TAIL_BYTES:]
        assert "bytes dropped" in trial.stdout
        assert len(trial.stdout) < HEAD_BYTES + TAIL_BYTES + 100
        little = forks.run("test_o.py::test_little", around=("test_o.py",), options=("-s",)).trial
        assert "little" in little.stdout
        assert "x" not in little.stdout


DIES = """
import faulthandler, os, pytest, sys
def test_dies():
    print("of the dead")
    os.write(2, b"of the dead")
    sys.stdout.flush()
    os._exit(3)
def test_leaves():
    if os.fork() == 0:
        os.setsid()
        while True:
            os.write(1, b"of the left\\n")
def test_fails():
    print("of the living")
    assert 0
def test_reads(capfd):
    print("x")
    assert capfd.readouterr() == ("x\\n", "")
    print("own")
    assert 0
def test_segfaults(): faulthandler._sigsegv()
def test_recovers(): assert 0
"""


@pytest.mark.parametrize("first", ["dies", "leaves"])
def test_captured_output_of_one_is_not_in_the_next_one_s_report(forks: Any, first: str):
    forks.write(
        "conftest.py",
        "def pytest_runtest_logreport(report):\n    if report.failed:\n        open('seen', 'a').write(repr(report.sections))\n",
    )
    forks.write("test_o.py", DIES)
    for _ in range(3):
        outcome = forks.run(f"test_o.py::test_{first}", around=("test_o.py",)).trial.outcome
        assert outcome == ("crashed" if first == "dies" else "passed")
        trial = forks.run("test_o.py::test_fails", around=("test_o.py",)).trial
        assert forks.seen() == ["[('Captured stdout call', 'of the living\\n')]"]
        assert "of the" not in trial.stdout + trial.stderr
        forks.run("test_o.py::test_reads", around=("test_o.py",))
        assert "of the" not in "".join(forks.seen())


def test_a_crash_is_recorded_with_its_own_stack_alone(forks: Any):
    forks.write("test_o.py", DIES)
    for _ in range(2):
        trial = forks.run("test_o.py::test_segfaults", around=("test_o.py",)).trial
        assert (trial.outcome, trial.signal) == ("crashed", "SIGSEGV")
        assert trial.failure.frames[-1].function == "test_segfaults"
        assert trial.failure.text.count("Fatal Python error") == 1
        later = forks.run("test_o.py::test_dies", around=("test_o.py",)).trial
        assert later.outcome == "crashed"
        assert "test_segfaults" not in later.failure.text + later.stderr
        assert forks.run("test_o.py::test_recovers", around=("test_o.py",)).trial.failure.exception == "AssertionError"


def test_the_crash_of_a_fork_within_a_test_is_not_the_trial_s(forks: Any):
    forks.write(
        "test_o.py",
        "import faulthandler, os\ndef test():\n    pid = os.fork()\n    if pid == 0: faulthandler._sigsegv()\n"
        "    assert os.waitpid(pid, 0)[1] == 11\n    os._exit(4)\n",
    )
    trial = forks.run("test_o.py::test").trial
    assert (trial.outcome, trial.signal, trial.failure.text) == ("crashed", None, "")
    assert trial.stderr.count("Fatal Python error") == 1


@pytest.mark.parametrize("env", ["py3.8-pytest7", "py3.11-pytest9"])
def test_stacks_that_pytest_writes_of_a_long_test_go_to_its_trial(forks: Any, env: str):
    forks.env = env
    forks.write("pytest.ini", "[pytest]\nfaulthandler_timeout = 0.2\n")
    wait = "import os, time\ndef test_{0}():\n    pause = {1}\n    time.sleep(pause)\n"
    forks.write("test_o.py", wait.format("long", 0.6) + wait.format("short", 0))
    for _ in range(2):
        trial = forks.run("test_o.py::test_long", around=("test_o.py",)).trial
        assert trial.outcome == "passed"
        assert "in test_long" in trial.stderr
        trial = forks.run("test_o.py::test_short", around=("test_o.py",)).trial
        assert (trial.outcome, trial.stderr) == ("passed", "")


def test_handlers_for_the_interpreter_s_end_do_not_run(forks: Any):
    """From the end of collection to that of the last test: what comes after it has no part in a forked trial."""
    forks.write(
        "conftest.py",
        "import atexit\nfrom seeing import see\natexit.register(see, 'conftest')\n"
        "def pytest_sessionfinish(): see('sessionfinish')\n",
    )
    forks.write(
        "test_o.py",
        "import atexit, os, pytest, threading\nfrom seeing import see\n@pytest.fixture(scope='session')\n"
        "def made():\n    yield\n    see('torn down')\n"
        "def test(made):\n    atexit.register(os.abort)\n    threading.Thread(target=threading.Event().wait).start()\n",
    )
    assert forks.run("test_o.py::test").trial.outcome == "passed"
    forks.pool.close()
    assert forks.seen() == ["torn down"]
