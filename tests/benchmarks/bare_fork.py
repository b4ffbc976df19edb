"""The floor that `speed.py` compares with: fork, run one test by pytest's own protocol, end; nothing of `triage` in it.

    python bare_fork.py COUNT OUTPUT NODE_ID [OPTION ...]

Standard library and pytest only: it runs in the target's environment. OUTPUT is a JSON object: `passed` (trials), `cpu` and `wall`
(seconds of the whole loop; `cpu` is this process and all its children, without pytest's start and collection).
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol


class Loop:
    """Runs the first collected test in as many forks, one after the other, in place of pytest's own loop."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.passed = 0
        self.cpu = 0.0
        self.wall = 0.0

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        item = session.items[0]
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(self.count):
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    reports = runtestprotocol(item, nextitem=None, log=False)
                    called = any(report.when == "call" for report in reports)
                    status = 0 if called and all(report.passed for report in reports) else 1
                finally:
                    os._exit(status)
            _, status, usage = os.wait4(pid, 0)
            self.cpu += usage.ru_utime + usage.ru_stime
            self.passed += status == 0
        self.cpu += time.process_time() - cpu
        self.wall += time.perf_counter() - wall
        return True


def main() -> int:
    count, output, *arguments = sys.argv[1:]
    loop = Loop(int(count))
    status = pytest.main(arguments, plugins=[loop])
    Path(output).write_text(json.dumps({"passed": loop.passed, "cpu": loop.cpu, "wall": loop.wall}))
    return int(status)


if __name__ == "__main__":
    raise SystemExit(main())
