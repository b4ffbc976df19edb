from pathlib import Path

import pytest

from triage.runner import oom


@pytest.fixture
def groups(tmp_path: Path) -> Path:
    (tmp_path / "own").write_text("")
    return tmp_path


def counter(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_version_2(groups: Path):
    (groups / "own").write_text("0::/user/x\n")
    counter(groups / "fs/user/x/memory.events", "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\noom_group_kill 7\n")
    assert oom.oom_kills(groups / "own", groups / "fs") == 2


def test_version_1(groups: Path):
    (groups / "own").write_text("5:cpu,cpuacct:/\n4:memory:/x\n0::/\n")
    counter(groups / "fs/memory/x/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n")
    assert oom.oom_kills(groups / "own", groups / "fs") == 5


def test_a_container_sees_its_own_group_at_the_root(groups: Path):
    (groups / "own").write_text("0::/docker/abc\n")
    counter(groups / "fs/memory.events", "oom_kill 1\n")
    assert oom.oom_kills(groups / "own", groups / "fs") == 1


@pytest.mark.parametrize("text", ["", "oom 3\n", "oom_kill x\n"])
def test_no_counter_is_not_zero(groups: Path, text: str):
    (groups / "own").write_text("0::/\n")
    counter(groups / "fs/memory.events", text)
    assert oom.oom_kills(groups / "own", groups / "fs") is None


def test_no_groups_at_all(groups: Path):
    assert oom.oom_kills(groups / "missing", groups) is None


def test_only_a_rise_is_evidence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(oom, "oom_kills", lambda: 4)
    assert oom.killed_since(3) is True
    assert oom.killed_since(4) is False
    assert oom.killed_since(None) is None
    monkeypatch.setattr(oom, "oom_kills", lambda: None)
    assert oom.killed_since(3) is None
