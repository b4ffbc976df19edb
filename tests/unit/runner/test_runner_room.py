"""Where temporary files have no place: said in one line, and the current folder is not the last resort."""

from pathlib import Path

import pytest

from triage.errors import UnrunnableError
from triage.runner.scratch import check_room


def test_the_current_folder_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile._candidate_tempdir_list", lambda: [str(tmp_path)])
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(UnrunnableError, match="no folder for temporary files can be written"):
        check_room()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    check_room()


def test_no_folder_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile._candidate_tempdir_list", lambda: [str(tmp_path / "absent")])
    with pytest.raises(UnrunnableError, match="no folder for temporary files can be written"):
        check_room()
