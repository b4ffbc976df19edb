"""The environment as it was when `triage` was started: what every trial gets, before levels and probe are added."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from triage.model.project import Takeover

_OF_AN_OUTER_PYTEST = (
    "PYTEST_CURRENT_TEST",
    "PYTEST_VERSION",
    "PYTEST_XDIST_TESTRUNUID",
    "PYTEST_XDIST_WORKER",
    "PYTEST_XDIST_WORKER_COUNT",
)
"""Set by a pytest that `triage` was started from; a target that reads them would believe that it runs inside that one.
`PYTEST_XDIST_AUTO_NUM_WORKERS` is not here: users set it."""
_OF_TRIAGE = ("TRIAGE_LEVELS", "TRIAGE_PROBE")
_COVERAGE_PREFIX = "COV_CORE_"
_COVERAGE = ("COVERAGE_PROCESS_CONFIG", "COVERAGE_PROCESS_START")
_KEPT = {
    "PYTEST_ADDOPTS": "kept: its options are part of how the tests are run here",
    "PYTEST_PLUGINS": "kept: its plugins are part of how the tests are run here",
}
_RECORDED = (
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_COLLATE",
    "LC_CTYPE",
    "LC_NUMERIC",
    "LC_TIME",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
    "PYTHONDEVMODE",
    "PYTHONHASHSEED",
    "PYTHONMALLOC",
    "PYTHONOPTIMIZE",
    "PYTHONUTF8",
    "PYTHONWARNINGS",
    "TZ",
)
"""A list of what may be stored, because no list of what may not be (tokens, passwords, and the names of their
variables) is ever complete."""


class Inherited(Struct, frozen=True, kw_only=True):
    """The environment for trials. Never store it: it may hold secrets; `recorded` is what may be stored."""

    variables: dict[str, str]
    takeovers: tuple[Takeover, ...] = ()
    """What was removed or is pinned, for the report."""
    hash_seed: str | None = None
    """The user's own `PYTHONHASHSEED`, if it pins the seed: their runs do not vary it, and so the baseline does not."""

    def __repr__(self) -> str:
        return f"Inherited({len(self.variables)} variables)"


def inherited(environ: Mapping[str, str]) -> Inherited:
    """Return a copy of `environ` without what an outer pytest, coverage or `triage` put there.

    Take it before anything is collected or imported for the target: what a target changes must not reach later trials.
    """
    coverage = [name for name in environ if name.startswith(_COVERAGE_PREFIX) or name in _COVERAGE]
    dropped = {*_OF_AN_OUTER_PYTEST, *_OF_TRIAGE, *coverage}
    seed = environ.get("PYTHONHASHSEED", "")
    pinned = seed if seed not in {"", "random"} else None
    takeovers = [Takeover(what=name, why=why) for name, why in _KEPT.items() if environ.get(name)]
    if pinned is not None:
        takeovers.append(
            Takeover(
                what="PYTHONHASHSEED",
                why=f"pinned to {pinned} where `triage` was started: baseline trials keep it, as the user's own runs do",
            )
        )
    if any(name in _COVERAGE for name in coverage):
        takeovers.append(
            Takeover(what="coverage in child processes", why="switched off: tracing changes the timing of the test")
        )
    return Inherited(
        variables={name: value for name, value in environ.items() if name not in dropped},
        takeovers=tuple(takeovers),
        hash_seed=pinned,
    )


def recorded(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that may be stored with an experiment: a fixed list of harmless ones that change outcomes."""
    return {name: environ[name] for name in _RECORDED if name in environ}
