"""Which line of an installer's output is shown; the outputs are what pip 23.2, pip 24.2 and uv 0.13 printed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from triage.environments.copying import copy, digest, files, generated
from triage.environments.installer import installers, telling, without_secrets

UNREACHABLE = "a package index could not be reached (is this machine offline?)"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "ERROR: Could not find a version that satisfies the requirement nope (from versions: none)\n"
            "ERROR: No matching distribution found for nope\n",
            "Could not find a version that satisfies the requirement nope (from versions: none)",
        ),
        (
            "  error: subprocess-exited-with-error\n\n  x Getting requirements to build wheel did not run successfully.\n"
            "      Traceback (most recent call last):\n      RuntimeError: needs a compiler\n      [end of output]\n\n"
            "note: This error originates from a subprocess, and is likely not a problem with pip.\n",
            "RuntimeError: needs a compiler",
        ),
        (
            "Using Python 3.11.7 environment at: /v\nerror: No solution found when resolving dependencies\n"
            "  cause: Because nope was not found in the provided package locations and you require nope, we can conclude\n",
            "Because nope was not found in the provided package locations and you require nope, we can conclude",
        ),
        ("  x No solution found when resolving dependencies:\n  ╰─▶ Because x==2 needs y\n", "Because x==2 needs y"),
        ("something odd\n", "something odd"),
        ("", ""),
        ("ERROR: from https://me:secret@index/simple\n", "from https://***@index/simple"),
    ],
)
def test_the_line_that_says_most(text: str, expected: str) -> None:
    assert telling(text) == (expected, False)


@pytest.mark.parametrize(
    "text",
    [
        "WARNING: Retrying (Retry(total=4)) after connection broken by 'NewConnectionError(': Failed to establish a new "
        "connection: [Errno -3] Temporary failure in name resolution')': /simple/x/\nERROR: No matching distribution found",
        "error: Failed to fetch: https://h/simple/x/\n  cause: client error (Connect)\n  cause: Connection refused (os error 111)",
    ],
)
def test_an_index_that_cannot_be_reached(text: str) -> None:
    assert telling(text) == (UNREACHABLE, True)


def test_passwords_of_addresses_are_taken_out() -> None:
    text = "git+https://me:pass@host/x and --index-url=http://token@host/simple and a@b.c"
    assert without_secrets(text) == "git+https://***@host/x and --index-url=http://***@host/simple and a@b.c"


def test_uv_counts_only_if_it_works(tmp_path: Path) -> None:
    uv = tmp_path / "uv"
    uv.write_text('#!/bin/sh\necho "pyenv: uv: command not found" >&2\nexit 127\n')
    uv.chmod(0o755)
    assert [one.name for one in installers({"PATH": str(tmp_path)})] == ["pip"]
    uv.write_text('#!/bin/sh\necho "uv 0.13.9 (x86_64-unknown-linux-gnu)"\n')
    assert [one.name for one in installers({"PATH": f"{tmp_path}:/bin"})] == ["uv 0.13.9", "pip"]


def test_a_copy_holds_the_sources_and_no_environments(tmp_path: Path) -> None:
    root, target = tmp_path / "root", tmp_path / "copy"
    for name in (
        "src/a.py",
        ".venv/pyvenv.cfg",
        ".venv/lib/x.py",
        ".triage/y",
        "src/__pycache__/a.pyc",
        "build/lib/a.py",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (root / ".git").mkdir()
    (tmp_path / "data").touch()
    (root / "data").symlink_to("../data")
    (root / "again.py").symlink_to("src/a.py")
    os.mkfifo(root / "pipe")
    copy(root, target)
    assert sorted(path for path, _ in files(target)) == [".git", "again.py", "data", "src/a.py"]
    assert (target / "data").exists()
    assert (target / ".git").read_text() == f"gitdir: {root / '.git'}\n"
    before = {path for path, _ in files(target)}
    (target / "a.egg-info").mkdir()
    for name in ("a.egg-info/x.py", "src/_version.py", "src/fast.so", "notes.txt"):
        (target / name).touch()
    assert sorted(generated(before, target)) == ["src/_version.py", "src/fast.so"]


def test_the_digest_of_sources_follows_a_change(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    before = digest(tmp_path)
    (tmp_path / ".triage").mkdir()
    (tmp_path / ".triage" / "b.py").touch()
    assert digest(tmp_path) == before
    (tmp_path / "a.py").write_text("x = 22\n")
    assert digest(tmp_path) != before
