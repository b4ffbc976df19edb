"""How the user's own command splits its tests over workers, read from its words."""

import pytest

from triage.model.arm import Level
from triage.targets.configuration import Configured
from triage.targets.split import split_of, starts_of


@pytest.mark.parametrize(
    ("words", "split"),
    [
        ("", None),
        ("-x -v", None),
        ("-n 4", "4 load"),
        ("-n4", "4 load"),
        ("-vn4 --dist=loadfile", "4 loadfile"),
        ("--numprocesses 2 --dist worksteal", "2 worksteal"),
        ("--numprocesses=auto --dist no", "auto load"),
        ("-n logical --maxprocesses 3", "logical load"),
        ("-n 4 -n 2 --dist loadfile --dist loadscope", "2 loadscope"),
        ("-n 4 -n 0", None),
        ("--dist loadfile", None),
        ("--dist load --tx 3*popen --tx popen", "4 load"),
        ("-d --tx 2*popen", "2 load"),
        ("--dist load --tx ssh=somewhere//python=python3", None),
        ("--tx 2*popen", None),
        ("-n some", None),
        ("-k -n", None),
    ],
)
def test_the_last_word_on_each_setting_counts(words, split):
    assert split_of(Configured(words=tuple(words.split()))) == split


def test_it_is_the_level_to_start_from():
    assert starts_of(Configured(words=("-n", "4"))) == (Level(factor="workers", value="4 load"),)
    assert starts_of(Configured()) == ()
