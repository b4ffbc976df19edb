import faulthandler
import threading
from pathlib import Path

import pytest

from triage.model.trial import Frame
from triage.runner.faulthandler_text import last_dump, read_dumps

CRASH = """\
Fatal Python error: Segmentation fault

Thread 0x00007fd5e6a666c0 (most recent call first):
  File "/lib/threading.py", line 982 in run
  File "/lib/threading.py", line 1002 in _bootstrap

Current thread 0x00007fd5e79bfb80 (most recent call first):
  File "/p/src/native.py", line 7 in inner
  File "/p/test_n.py", line 8 in test_n

Extension modules: numpy.core._multiarray_umath, yaml._yaml (total: 2)
"""

CRASH_3_14 = """\
Fatal Python error: Segmentation fault

Thread 0x00007fd5e6a666c0 [worker (1)] (most recent call first):
  <no Python frame>

Current thread 0x00007fb899f39700 [python] (most recent call first):
  Garbage-collecting
  File "/p/test_n.py", line 8 in test_n

Current thread's C stack trace (most recent call first):
  Binary file "/opt/python", at _Py_DumpStack+0x42 [0x5b27f7d7147e]
  Binary file "/usr/lib/libc.so.6", at +0x3def0 [0x77b73226bef0]
  <truncated rest of calls>

Extension modules: a.b (total: 1)
"""

FREE_THREADED = """\
Fatal Python error: Aborted

<Cannot show all threads while the GIL is disabled>
Stack (most recent call first):
  File "/p/test_n.py", line 8 in test_n
"""


def test_a_crash():
    dump = last_dump(CRASH)
    assert dump is not None
    assert dump.error == "Segmentation fault"
    assert [thread.current for thread in dump.threads] == [False, True]
    assert dump.current is not None
    assert dump.current.frames == (Frame("/p/test_n.py", 8, "test_n"), Frame("/p/src/native.py", 7, "inner"))
    assert dump.main is dump.current
    assert dump.extensions == ("numpy.core._multiarray_umath", "yaml._yaml")
    assert dump.text == CRASH


def test_the_main_thread_is_the_last_whichever_died():
    text = CRASH.replace("Current thread", "T").replace("Thread 0x00007fd5e6", "Current thread 0x00007fd5e6")
    dump = last_dump(text.replace("\nT 0x", "\nThread 0x"))
    assert dump is not None
    assert dump.current is dump.threads[0]
    assert dump.main is dump.threads[1]


def test_3_14_names_threads_and_adds_the_native_stack():
    dump = last_dump(CRASH_3_14)
    assert dump is not None
    assert [thread.name for thread in dump.threads] == ["worker (1)", "python"]
    assert dump.threads[0].frames == ()
    assert dump.threads[1].garbage_collecting
    assert dump.threads[1].frames == (Frame("/p/test_n.py", 8, "test_n"),)
    assert len(dump.c_stack) == 3
    assert dump.c_stack[0].startswith('Binary file "/opt/python", at _Py_DumpStack')
    assert dump.extensions == ("a.b",)
    assert dump.text == CRASH_3_14


def test_a_free_threaded_build_shows_one_thread():
    dump = last_dump(FREE_THREADED)
    assert dump is not None
    assert not dump.complete
    assert dump.current is not None
    assert dump.main is dump.current
    assert dump.current.frames == (Frame("/p/test_n.py", 8, "test_n"),)


def test_a_fatal_error_of_the_interpreter():
    text = (
        "Fatal Python error: none_dealloc: deallocating None\nPython runtime state: finalizing (tstate=0x1)\n\n"
        'Thread 0x0000000000000001 (most recent call first):\n  File "a.py", line 1 in f\n'
    )
    dump = last_dump(text)
    assert dump is not None
    assert dump.error == "none_dealloc: deallocating None"
    assert dump.current is not None
    assert dump.current.frames[0].function == "f"


@pytest.mark.parametrize("length", range(0, len(CRASH), 7))
def test_a_text_cut_anywhere_gives_a_prefix_of_the_truth(length: int):
    whole = last_dump(CRASH)
    dump = last_dump(CRASH[:length])
    assert whole is not None
    if dump is None:
        assert length < len("Fatal Python error: ")
        return
    assert dump.text == CRASH[:length]
    assert dump.error in {None, whole.error}
    for thread, full in zip(dump.threads, whole.threads, strict=False):
        innermost = tuple(reversed(full.frames))[: len(thread.frames)]
        assert tuple(reversed(thread.frames)) == innermost


def test_unknown_places_and_names_outside_ascii():
    text = (
        "Current thread 0x1 (most recent call first):\n"
        "  File ???, line ??? in ???\n"
        '  File "/caf\\xe9/\\u20ac.py", line 3 in \\U0001f600\n'
        "  ...\n"
    )
    dump = last_dump(text)
    assert dump is not None
    assert dump.threads[0].frames == (Frame("/café/€.py", 3, "😀"), Frame("???", 0, "???"))


def test_too_many_threads():
    dump = last_dump(CRASH.replace("Extension modules", "...\nExtension modules").replace("Current t", "T"))
    assert dump is not None
    assert not dump.complete
    assert dump.main is None


def test_a_report_amid_other_output_ends_where_it_ends():
    text = f'collecting\nwarning: x\n{CRASH}Segmentation fault (core dumped)\n  File "x", line 1 in y\nmore\n'
    dump = last_dump(text)
    assert dump is not None
    assert dump.text == CRASH


def test_several_reports_and_none():
    dumps = read_dumps(f"Timeout (0:00:05)!\n{CRASH.partition(chr(10))[2]}{CRASH_3_14}")
    assert [dump.error for dump in dumps] == ["Timeout (0:00:05)!", "Segmentation fault"]
    assert last_dump("all is well\n") is None


def test_what_this_interpreter_writes(tmp_path: Path):
    ready, done = threading.Event(), threading.Event()

    def other() -> None:
        ready.set()
        done.wait()

    thread = threading.Thread(target=other)
    thread.start()
    try:
        assert ready.wait(30)
        with (tmp_path / "dump").open("w+") as file:
            faulthandler.dump_traceback(file, all_threads=True)
            file.seek(0)
            dump = last_dump(file.read())
    finally:
        done.set()
        thread.join()
    assert dump is not None
    assert dump.current is not None
    assert dump.current.frames[-1].function == "test_what_this_interpreter_writes"
    assert any("other" in {frame.function for frame in thread.frames} for thread in dump.threads if not thread.current)
