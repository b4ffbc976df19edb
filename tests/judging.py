"""What a trial recorded, as events, and the judgement of it: for the tests of every way to end."""

from __future__ import annotations

import json
import signal
from typing import Any

from triage.runner.outcome import Judgement, judge
from triage.runner.process import ProcessEnd
from triage.runner.wire import read_wire

TARGET = "test_a.py::test"
OTHER = "test_a.py::test_other"
Event = dict[str, Any]

HELLO: Event = {"e": "hello", "v": 1, "pid": 7, "python": "3.11.7"}
CONFIGURED: Event = {"e": "configured", "root": "/p", "inifile": None, "plugins": []}
COLLECTED: Event = {"e": "collected", "count": 2, "selected": 2, "digest": ""}
BEGIN = [HELLO, CONFIGURED, COLLECTED]
CRASH = (
    "Fatal Python error: Segmentation fault\n\n"
    'Thread 0x2 (most recent call first):\n  File "worker.py", line 1 in work\n\n'
    'Current thread 0x1 (most recent call first):\n  File "native.py", line 2 in call\n  File "test_a.py", line 3 in test\n'
)
SEGV = ProcessEnd(signal=signal.SIGSEGV)
LIMIT = ProcessEnd(signal=signal.SIGABRT, limit_hit=True)
OUTSIDE = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP]


def start(test: str = TARGET, index: int = 1) -> Event:
    return {"e": "start", "id": test, "index": index}


def phase(when: str, outcome: str = "passed", *, test: str = TARGET, index: int = 1, **more: Any) -> Event:
    failure = (
        {"exception": "ValueError", "message": f"in {when}", "text": "E"} if outcome in {"failed", "rerun"} else None
    )
    return {
        "e": "phase",
        "id": test,
        "index": index,
        "when": when,
        "outcome": outcome,
        "seconds": 0.5,
        "failure": failure,
        **more,
    }


def run(call: str = "passed", *, test: str = TARGET, index: int = 1, **more: Any) -> list[Event]:
    return [
        start(test, index),
        phase("setup", test=test, index=index),
        phase("call", call, test=test, index=index, **more),
        phase("teardown", test=test, index=index),
        {"e": "finish", "id": test, "index": index},
    ]


def session(status: int = 0) -> list[Event]:
    return [{"e": "session_end", "status": status}, {"e": "end"}]


def say(
    events: list[Event], end: ProcessEnd | int = 0, *, target: str | None = TARGET, repeat: int = 1, crash: str = ""
) -> Judgement:
    data = b"".join(json.dumps({"t": float(number), **event}).encode() + b"\n" for number, event in enumerate(events))
    process = ProcessEnd(exit_status=end) if isinstance(end, int) else end
    return judge(read_wire(data), process, target=target, repeat=repeat, crash=crash)
