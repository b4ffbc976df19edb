"""Plugins and options of the user's setup that trials switch off or take over.

Reruns hide failures, coverage changes timing, an ordering plugin changes what a trial is: each would answer a question that
a factor is there to ask. One entry of a table for each; to take over another plugin, add an entry and a case in
`tests/integration/targets/test_takeover.py`, which starts the real plugin.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec import Struct

from triage.errors import UsageError
from triage.model.project import Plugin, Takeover
from triage.targets.configuration import Configured

_NOT_A_RUN = (
    "--co",
    "--collect-only",
    "--fixtures",
    "--fixtures-per-test",
    "--help",
    "--looponfail",
    "--markers",
    "--pdb",
    "--setup-only",
    "--setup-plan",
    "--trace",
    "-f",
    "-h",
)
"""Options under which pytest does not run the tests, or waits for somebody at the keyboard."""


class Entry(Struct, frozen=True, kw_only=True):
    """How one plugin, or one option of pytest itself, is made inert."""

    what: str
    """The distribution, or the option."""
    names: tuple[str, ...] = ()
    """As which the plugin is registered with pytest; empty for an option of pytest itself, which is always there."""
    triggers: tuple[str, ...] = ()
    """Options that switch it on; without any it is on as soon as it is installed (marks and settings can use it)."""
    settings: tuple[str, ...] = ()
    """Settings of the configuration file that switch it on."""
    options: tuple[str, ...] = ()
    """What is passed to pytest; put after the user's own options, so it wins. Only known while the plugin is active."""
    unregister: bool = False
    """Whether the levels plugin unregisters it, after it has declared its options and marks."""
    parts: tuple[str, ...] = ()
    """Plugins inside pytest that are unregistered in the same way; which of them are there depends on what pytest finds."""
    changes_collection: bool = False
    """Whether ids or their order differ without it."""
    unless: str = ""
    """A word (`-p no:logging`) that makes its options unknown."""
    writes: bool = False
    """Whether it writes a file of the user's even where pytest only collects."""
    why: str
    """One sentence for the user."""

    def applies(self, active: Sequence[Plugin], configured: Configured) -> bool:
        """Whether it is there and switched on."""
        if self.names and not self.among(active):
            return False
        return self.is_on(configured)

    def is_on(self, configured: Configured) -> bool:
        """Whether it is switched on, provided that it is there."""
        if self.unless and any(word.endswith(self.unless) for word in configured.words):
            return False
        if not self.triggers and not self.settings:
            return True
        return configured.has_option(*self.triggers) or not set(self.settings).isdisjoint(configured.settings)

    def among(self, active: Sequence[Plugin]) -> list[str]:
        """Return the names under which it is registered; versions of a plugin differ in them, so both names are tried."""
        return [plugin.name for plugin in active if plugin.name in self.names or plugin.distribution == self.what]

    def without(self, active: Sequence[Plugin]) -> list[str]:
        """Return what is to be unregistered."""
        return [*(self.among(active) if self.unregister else ()), *self.parts]


_HIDES = "switched off: a rerun that passes hides the failure that is looked for"
_ORDERS = "taken over by the factor `order`: trials run in pytest's own order unless an arm says otherwise"
_OVERWRITES = "switched off: a trial must not overwrite the report of your own runs"
_COUNTS = "switched off: repetition is a factor of its own"

TABLE: tuple[Entry, ...] = (
    Entry(what="pytest-rerunfailures", names=("rerunfailures",), unregister=True, why=_HIDES),
    Entry(what="flaky", names=("flaky",), unregister=True, why=_HIDES),
    Entry(what="pytest-retry", names=("pytest-retry",), unregister=True, why=_HIDES),
    Entry(
        what="pytest-randomly",
        names=("randomly",),
        unregister=True,
        changes_collection=True,
        why="taken over by the factors `order` and `rng_seed`: it shuffles the tests and seeds their random numbers",
    ),
    Entry(
        what="pytest-random-order",
        names=("random_order",),
        triggers=("--random-order", "--random-order-bucket", "--random-order-seed"),
        unregister=True,
        changes_collection=True,
        why=_ORDERS,
    ),
    Entry(
        what="pytest-reverse",
        names=("reverse",),
        triggers=("--reverse",),
        unregister=True,
        changes_collection=True,
        why=_ORDERS,
    ),
    Entry(
        what="pytest-xdist",
        names=("xdist",),
        triggers=("-n", "--numprocesses", "-d", "--dist", "--tx"),
        options=("-n", "0"),
        why="taken over by the factor `workers`: a trial is one process unless an arm says otherwise",
    ),
    Entry(
        what="pytest-forked",
        names=("pytest_forked",),
        unregister=True,
        why="switched off: in a forked child the test can neither be observed nor pollute another",
    ),
    Entry(
        what="pytest-cov",
        names=("pytest_cov",),
        triggers=("--cov",),
        options=("--no-cov",),
        writes=True,
        why="switched off: tracing changes the timing of the test",
    ),
    Entry(
        what="pytest-repeat",
        names=("repeat", "pytest_repeat"),
        unregister=True,
        changes_collection=True,
        why=_COUNTS,
    ),
    Entry(
        what="pytest-flakefinder",
        names=("flakefinder",),
        triggers=("--flake-finder",),
        options=("--flake-runs=1", "--flake-max-minutes=0"),
        changes_collection=True,
        why=_COUNTS,
    ),
    Entry(
        what="pytest-timeout",
        names=("timeout",),
        triggers=("--timeout", "--session-timeout"),
        settings=("timeout", "session_timeout"),
        why="left on: its limit is part of how the test is run, and a test that it ends is a failure",
    ),
    Entry(
        what="--junitxml",
        triggers=("--junitxml", "--junit-xml"),
        options=("--junitxml=",),
        writes=True,
        why=_OVERWRITES,
    ),
    Entry(
        what="pytest-html", names=("html",), triggers=("--html",), options=("--html=",), writes=True, why=_OVERWRITES
    ),
    Entry(
        what="pytest-reportlog",
        names=("pytest_reportlog",),
        triggers=("--report-log",),
        options=("--report-log=",),
        writes=True,
        why=_OVERWRITES,
    ),
    Entry(
        what="log_file",
        triggers=("--log-file",),
        settings=("log_file",),
        options=(f"--log-file={os.devnull}",),
        unless="no:logging",
        writes=True,
        why="switched off: a trial must not write into a log file of yours",
    ),
    Entry(
        what="--basetemp",
        triggers=("--basetemp",),
        parts=("basetemp",),
        why="taken over: each trial has a folder for temporary files of its own, outside of the project",
    ),
    Entry(
        what="-x, --maxfail",
        triggers=("-x", "--exitfirst", "--maxfail"),
        options=("--maxfail=0",),
        why="switched off: a trial goes on after the failure of a test that runs before the target",
    ),
    Entry(
        what="--stepwise",
        triggers=("--sw", "--stepwise", "--sw-skip", "--stepwise-skip", "--sw-reset", "--stepwise-reset"),
        parts=("stepwiseplugin",),
        changes_collection=True,
        why="switched off: what an earlier run left behind must not decide what a trial runs",
    ),
    Entry(
        what="--last-failed, --failed-first, --new-first",
        triggers=("--lf", "--last-failed", "--ff", "--failed-first", "--nf", "--new-first"),
        parts=("lfplugin", "lfplugin-collwrapper", "nfplugin"),
        changes_collection=True,
        why="switched off: what an earlier run left behind must not decide what a trial runs",
    ),
)


SILENT = frozenset(option for entry in TABLE if entry.writes for option in entry.options)
"""Options that keep pytest from writing the user's report and log files."""


class Taken(Struct, frozen=True, kw_only=True):
    """What trials add to the user's setup, and what the report says about it."""

    options: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    takeovers: tuple[Takeover, ...] = ()
    recollect: bool = False
    """Whether ids or their order may differ under these options and levels: collect again with them before choosing."""


def quiet(configured: Configured) -> tuple[str, ...]:
    """Return what keeps pytest from writing the user's report and log files, for a run before its plugins are known."""
    return tuple(option for entry in TABLE if entry.writes and entry.is_on(configured) for option in entry.options)


def take_over(plugins: Sequence[Plugin], configured: Configured) -> Taken:
    """Return what makes trials independent of reruns, ordering, counting, coverage and early ends of the user's setup.

    `plugins` are those that pytest has really registered (an option of a plugin that is blocked with `-p no:` would be
    unknown). Raises `UsageError` for options under which pytest would not run the tests at all.
    """
    if unusable := [option for option in _NOT_A_RUN if configured.has_option(option)]:
        raise UsageError(
            f"pytest would not run the tests with `{unusable[0]}`",
            hint="leave it out of the arguments after `--`, of `addopts` and of PYTEST_ADDOPTS",
        )
    entries = [entry for entry in TABLE if entry.applies(plugins, configured)]
    without = [name for entry in entries for name in entry.without(plugins)]
    return Taken(
        options=tuple(option for entry in entries for option in entry.options),
        levels=(f"without={','.join(without)}",) if without else (),
        takeovers=tuple(Takeover(what=entry.what, why=entry.why) for entry in entries),
        recollect=any(entry.changes_collection for entry in entries),
    )
