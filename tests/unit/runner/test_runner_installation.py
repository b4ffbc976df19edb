from pathlib import Path

from triage.runner.installation import install, write
from triage.runner.scratch import remove


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_both_packages_are_there_and_the_folder_ignores_itself(tmp_path: Path):
    place = install(tmp_path, tmp_path / ".triage")
    assert (place.probe / "triage_probe" / "__init__.py").is_file()
    assert (tmp_path / ".triage" / "plugins" / "triage_levels" / "__init__.py").is_file()
    assert (tmp_path / ".triage" / ".gitignore").read_text() == "*\n"
    assert place.notes == ()
    assert [path.name for path in tmp_path.iterdir()] == [".triage"]


def test_an_equal_installation_is_left_alone(tmp_path: Path):
    install(tmp_path, tmp_path / ".triage")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / ".triage").rglob("*") if path.is_file()}
    install(tmp_path, tmp_path / ".triage")
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / ".triage").rglob("*") if path.is_file()}


def test_an_older_installation_is_replaced(tmp_path: Path):
    place = install(tmp_path, tmp_path / ".triage")
    wanted = files(tmp_path)
    (place.probe / "triage_probe" / "__init__.py").write_text("old = 1\n")
    (place.probe / "triage_probe" / "gone.py").write_text("")
    install(tmp_path, tmp_path / ".triage")
    assert files(tmp_path) == wanted


def test_another_working_folder(tmp_path: Path):
    root, work = tmp_path / "root", tmp_path / "work"
    root.mkdir()
    place = install(root, work)
    assert place.probe.is_relative_to(work)
    assert place.plugins == root / ".triage" / "plugins"


def test_where_the_folder_cannot_be_written_a_temporary_one_is_used_and_said(tmp_path: Path):
    (tmp_path / ".triage").write_text("in the way")
    place = install(tmp_path, tmp_path / ".triage")
    assert place.borrowed is not None
    try:
        assert (place.probe / "triage_probe" / "__init__.py").is_file()
        assert (place.plugins / "triage_levels" / "__init__.py").is_file()
        assert len(place.notes) == 1
        assert "cannot be written" in place.notes[0]
        assert (tmp_path / ".triage").read_text() == "in the way"
    finally:
        remove(place.borrowed)


def test_writing_leaves_nothing_beside(tmp_path: Path):
    write(tmp_path / "a", b"1")
    write(tmp_path / "a", b"2")
    assert files(tmp_path) == {"a": b"2"}
