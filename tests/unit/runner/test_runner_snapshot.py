from __future__ import annotations

import os
from pathlib import Path

import pytest

from triage.runner.scratch import remove
from triage.runner.snapshot import Snapshot


def state(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "place"
    (place / "a" / "b").mkdir(parents=True)
    (place / "a" / "b" / "file").write_bytes(b"1")
    (place / "a" / "other").write_bytes(b"2")
    (place / "a" / "other").chmod(0o640)
    (place / "empty").mkdir(mode=0o700)
    return place


@pytest.mark.parametrize(
    "change",
    [
        "pass",
        "(place / 'new').write_text('')",
        "(place / 'a' / 'b' / 'new').mkdir()",
        "(place / 'a' / 'b' / 'file').write_bytes(b'3')",
        "(place / 'a' / 'other').unlink()",
        "(place / 'a' / 'other').chmod(0o600)",
        "(place / 'a' / 'other').rename(place / 'moved')",
        "remove(place / 'a')",
        "remove(place / 'empty'); (place / 'empty').write_text('')",
        "remove(place / 'empty'); (place / 'empty').symlink_to(place)",
        "(place / 'a' / 'b').chmod(0o500); (place / 'empty').chmod(0)",
        "remove(place)",
        "place.rename(place.with_name('away')); place.symlink_to(place.with_name('away'))",
    ],
)
def test_whatever_was_done_is_undone(folder: Path, change: str):
    before = state(folder)
    snapshot = Snapshot(folder)
    for _ in range(2):
        exec(change, {"place": folder, "remove": remove})
        if folder.with_name("away").exists():
            remove(folder.with_name("away"))
        snapshot.put_back()
        assert state(folder) == before
        assert not folder.is_symlink()


def test_what_did_not_change_is_left_alone(folder: Path):
    snapshot = Snapshot(folder)
    before = {path: os.lstat(path).st_ctime_ns for path in folder.rglob("*")}
    snapshot.put_back()
    assert {path: os.lstat(path).st_ctime_ns for path in folder.rglob("*")} == before
