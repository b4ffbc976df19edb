import json

import pytest

from triage.runner.wire import Phase, Start, WireError, read_wire

HELLO = {"e": "hello", "t": 0.0, "v": 1, "pid": 7, "python": "3.11.7", "implementation": "cpython", "pytest": "9.2.0"}


def lines(*events: dict[str, object]) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def test_every_event_is_read():
    wire = read_wire(
        lines(
            HELLO,
            {"e": "configured", "t": 0.1, "root": "/r", "inifile": None, "plugins": [["xdist", "pytest-xdist", "3.8"]]},
            {"e": "packages", "t": 0.1, "packages": [["pytest", "9.2.0"]]},
            {"e": "collect_error", "t": 0.2, "id": "test_b.py", "text": "ImportError"},
            {
                "e": "collected",
                "t": 0.3,
                "count": 2,
                "selected": 1,
                "digest": "00",
                "items": [{"id": "test_a.py::test", "file": "test_a.py", "line": 3, "marks": ["flaky"]}],
            },
            {"e": "start", "t": 0.4, "id": "test_a.py::test", "index": 1},
            {
                "e": "phase",
                "t": 0.5,
                "id": "test_a.py::test",
                "index": 1,
                "when": "call",
                "outcome": "failed",
                "seconds": 0.1,
                "xfail": False,
                "reason": None,
                "failure": {
                    "exception": "AssertionError",
                    "message": "assert 0",
                    "frames": [["test_a.py", 4, "test"], ["lib.py", None, "inner"]],
                    "source": "assert 0",
                    "text": "E assert 0",
                },
            },
            {"e": "facts", "t": 0.6, "id": "test_a.py::test", "threads": 2, "connects": ["127.0.0.1:80"]},
            {"e": "finish", "t": 0.6, "id": "test_a.py::test", "index": 1},
            {"e": "internal_error", "t": 0.7, "text": "INTERNALERROR"},
            {"e": "session_end", "t": 0.8, "status": 1},
            {"e": "end", "t": 0.9},
        )
    )
    assert wire.hello is not None
    assert wire.hello.python == "3.11.7"
    assert wire.sequence == ("test_a.py::test",)
    assert wire.facts[0].connects == ("127.0.0.1:80",)
    assert wire.internal_errors == ("INTERNALERROR",)
    assert (wire.session_status, wire.ended) == (1, True)
    phase = next(event for event in wire.tests if isinstance(event, Phase))
    failure = phase.as_failure()
    assert (failure.exception, failure.phase, failure.source) == ("AssertionError", "call", "assert 0")
    assert [(frame.file, frame.line) for frame in failure.frames] == [("test_a.py", 4), ("lib.py", 0)]
    collection = wire.collection()
    assert collection is not None
    assert collection.items[0].marks == ("flaky",)
    assert collection.plugins[0].distribution == "pytest-xdist"
    assert (collection.errors, collection.packages) == (("ImportError",), (("pytest", "9.2.0"),))


def test_without_a_configuration_there_is_no_collection():
    assert read_wire(lines(HELLO)).collection() is None


def test_an_empty_file_has_no_hello():
    assert read_wire(b"").hello is None


def test_unknown_events_and_keys_are_ignored():
    wire = read_wire(lines({"e": "later", "x": 1}, HELLO | {"new": [1]}, {"e": "later still"}))
    assert wire.hello is not None


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_last_line_that_was_cut_is_dropped(cut: int):
    data = lines(HELLO, {"e": "start", "t": 1.0, "id": "test_a.py::test", "index": 1})
    wire = read_wire(data[:-cut])
    assert wire.hello is not None
    assert wire.tests == ()
    assert len(read_wire(data).tests) == 1


@pytest.mark.parametrize(
    "line", [b"", b"{", b'{"e": 1}', b"[]", b'{"x": 1}', b'{"e": "start", "t": 0}', b'{"e": NaN}', b'{"e": "\xff"}']
)
def test_a_broken_line_in_the_middle_breaks_the_trial(line: bytes):
    with pytest.raises(WireError, match="line 2"):
        read_wire(lines(HELLO) + line + b"\n" + lines({"e": "end", "t": 1.0}))


@pytest.mark.parametrize("version", [0, 2])
def test_another_version_is_refused(version: int):
    with pytest.raises(WireError, match=f"version {version}"):
        read_wire(lines(HELLO | {"v": version}))


def test_a_hello_without_version_is_refused():
    with pytest.raises(WireError, match="v"):
        read_wire(lines({name: value for name, value in HELLO.items() if name != "v"}))


def test_events_before_the_hello_are_refused():
    with pytest.raises(WireError, match="`End`"):
        read_wire(lines({"e": "end", "t": 0.0}, HELLO))


def test_undecodable_bytes_of_a_name_do_not_break_the_trial():
    wire = read_wire(lines(HELLO, {"e": "start", "t": 1.0, "id": "test_\udc80.py::test[\\ud]", "index": 1}))
    assert isinstance(wire.tests[0], Start)
    assert wire.sequence == ("test_?.py::test[\\ud]",)
