"""Write `docs/sweep.schema.json`, the JSON Schema of the last line that `triage sweep --format json` prints.

Run `python scripts/sweep_schema.py` after a change of `triage.model.sweep`; a test compares the file with what this makes.
"""

from __future__ import annotations

from pathlib import Path

from schema import SHARED, described, document, written

from triage.model.sweep import SCHEMA, Document

PATH = Path(__file__).parent.parent / "docs" / "sweep.schema.json"
SECONDS = "Seconds since the epoch."

DESCRIPTIONS: dict[str, dict[str, str]] = {
    "Document": {
        "schema": "Name and version of this format. Keys are only ever added to a version.",
        "sweep": "Id of the sweep; `unrecorded` if it could not be recorded.",
        "started": SECONDS,
        "ended": f"{SECONDS} Null if it did not end by itself.",
        "complete": "False if the user or a signal ended it before its last test.",
        "root": "The project's root folder, from which commands that reproduce are to be run.",
        "selection": "Which tests were asked for.",
        "counts": "How many tests were `selected`, and how many got each verdict or none (`unrunnable`, `expected_failure`, "
        "`not_reached`).",
        "tests": "Every selected test, gravest first; the whole report of each is a `triage.verdict/1` line before this one.",
        "comparison": "With the sweep before; null if there is none with the same selection.",
        "since": "For each test with a verdict, since which sweep it has had it.",
        "errors": "Files that could not be collected; any test in them is missing here.",
        "environment": "In what the trials ran.",
        "command": "Shell line that makes such a report again, from `folder`.",
        "folder": "Relative to `root`.",
        "budget_seconds": "Seconds for each test.",
        "selected_in_all": "How many tests all shards have together.",
    },
    "Selection": {
        "expression": "pytest's mark expression; null: any of the marks flaky, quarantine and quarantined.",
        "paths": "As given; empty: what pytest collects by itself.",
        "shard": "Null: all tests.",
    },
    "Shard": {"number": "From 1.", "of": "How many shards there are."},
    "Result": {
        "target": "Node id of the test.",
        "marks": "Names of its marks.",
        "state": "`examined`: it has a verdict; `expected_failure`: it fails as its xfail mark expects, nothing is claimed; "
        "`unrunnable`: it could not be tried; `not_reached`: the sweep ended before it.",
        "why": "Why there is no verdict, or what restricts it; may be empty.",
        "experiment": "Id of the experiment in the history; null without one.",
        "verdict": "Who is wrong; null without a verdict.",
        "cause": "Why; null if not known.",
        "strength": "How sure; null without a verdict.",
        "summary": "One sentence; may be empty.",
        "trigger": "The factor whose level makes it fail; null if none is known.",
        "rate": "Of the user's own command in fresh processes; null without such trials.",
        "forked": "Of the same in forked trials, on which nothing is concluded; null without such trials.",
        "complete": "False if the budget, the user or a signal ended the experiment before it was done.",
        "interrupted": "Whether the user or a signal ended it.",
        "failing_command": "A shell line that was seen to fail without any trigger; null if none was.",
    },
    "Comparison": {
        "sweep": "Id of the sweep before.",
        "started": SECONDS,
        "complete": "Whether it got to its last test.",
        "tests": "Every test of this sweep beside itself then.",
        "gone": "Tests of that sweep that this one does not have.",
        "level": "At which each pair of rates was tested: 5% split over all pairs.",
        "environment": "What differs between the environments, in words.",
    },
    "Compared": {
        "target": "Node id of the test.",
        "change": "`new`: not selected then; `still`: verdict and cause are the same; `changed`; `not_compared`: one of the two "
        "has no verdict.",
        "before": "What was said of it then; null if nothing.",
        "difference": "Of the two rates by Fisher's exact test: `higher`, `lower`, `not_shown` (which is not to say that there is "
        "none), `not_compared`.",
        "p_value": "Two-sided; null if not compared.",
    },
    "Gone": {
        "target": "Node id of the test.",
        "why": "In words.",
        "before": "What was said of it then; null if nothing.",
    },
    "Since": {"target": "Node id of the test.", "sweep": "Id of the first sweep in a row.", "started": SECONDS},
    "Rate": {
        "arm": "`baseline` or `baseline (forked)`.",
        "failed": "Trials that failed.",
        "trials": "Trials that count.",
        "low": "Lower end of the exact 95% interval of the failure rate, 0 to 1.",
        "high": "Upper end of it.",
    },
    **SHARED,
}


def render() -> str:
    """Return the file's content."""
    return written(document(SCHEMA, "triage sweep", "Document", described(Document, DESCRIPTIONS)))


if __name__ == "__main__":
    PATH.write_text(render(), encoding="utf-8")
