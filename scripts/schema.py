"""Write `docs/verdict.schema.json`, the JSON Schema of what `triage run --format json` prints for a target.

Run `python scripts/schema.py` after a change of `triage.model.verdict`; a test compares the file with what this makes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec

from triage.model.verdict import SCHEMA, Report
from triage.report.json_report import FINDING_KEYS, REPORT_KEYS, ordered

PATH = Path(__file__).parent.parent / "docs" / "verdict.schema.json"
ROLES = ("product", "test", "dependency", "interpreter", "native", "environment")

FINDING = {
    "verdict": "Who is wrong.",
    "cause": "Why, in the field's standard terms (`triage explain CAUSE` says what each means); null if not known.",
    "strength": (
        "How sure. `established`: trigger and counterfactual confirmed on fresh trials in fresh processes, and the mechanism "
        "seen; `supported`: statistics only; `suggested`: hints only; `latent`: needs something this environment cannot do "
        "by itself. Of an undetermined verdict: the strength of its trigger."
    ),
    "summary": "One sentence.",
    "culprits": "Places that must change.",
    "polluters": "Node ids of tests after which the target fails.",
    "polluter_sets": "Sets of node ids that pollute only together.",
    "setters": "Node ids of tests that the target needs before it.",
    "cleaners": "Node ids of tests that undo a pollution.",
    "state": "What leaked, such as `module.attribute`.",
    "trigger": "The factor whose level makes the target fail; null if there is none or none is known.",
    "rates": "Failures under each arm that was tried.",
    "reproduction": "A command under which it fails, and how often it did; null if none was confirmed.",
    "counterfactual": "The same command with that one factor at a level at which the test passes; null if none was confirmed.",
    "evidence": "What was observed.",
    "hypotheses": "Explanations that have not been excluded.",
    "not_established": "What stays open, in words.",
    "next": "What to do now, in words; may be empty.",
    "signature": "What makes two failures the same, in one line; null if there is no failure.",
}
SHARED = {
    "Trigger": {"factor": "Such as `hash_seed`.", "level": "Its setting."},
    "Environment": {
        "python": "Versions of the interpreters that were used.",
        "pytest": "Version of pytest; null if it is not known.",
        "platform": "Operating system and machine.",
        "interpreters": "The interpreters again, with where each comes from.",
    },
    "UsedInterpreter": {
        "version": "Its version.",
        "origin": "How it was found; with `provisioned` where `triage` made an environment with it.",
        "pytest": "Version of pytest in it; null if it is not known.",
    },
}
"""Descriptions of what stands in several documents."""
DESCRIPTIONS: dict[str, dict[str, str]] = {
    "Finding": FINDING,
    "Report": {
        "schema": "Name and version of this format. Keys are only ever added to a version.",
        "experiment": "Id of the experiment in the history.",
        "target": "Node id of the test.",
        **FINDING,
        "findings": "Every failure signature that was seen, gravest first; the keys at the top level are those of the first.",
        "environment": "In what the trials ran.",
        "layers": "Reserved: layers of a receipt.",
        "receipt": "Reserved: what exactly was verified.",
        "trials": "How many trials were run.",
        "wall_seconds": "Seconds of wall time from the first trial to the verdict.",
        "complete": "False if the budget, the user or a signal ended the experiment before it was done.",
        "interrupted": "True if the user or a signal ended it; the same command goes on with it.",
        "root": "The project's root folder, from which the commands are to be run; empty if it is not known.",
        "takeovers": "Plugins and options of the user's setup that trials switched off or took over, and why.",
    },
    "Culprit": {
        "role": "Whose code it is.",
        "file": "Relative to the root folder where it lies below; null if it is not known.",
        "lines": "From 1.",
        "what": "In words; may be empty.",
    },
    "Rate": {
        "arm": "`baseline`, or the levels that it sets.",
        "failed": "Trials that failed.",
        "trials": "Trials that count: neither broken, skipped, not collected nor killed.",
        "low": "Lower end of the exact 95% interval of the failure rate, 0 to 1.",
        "high": "Upper end of it.",
    },
    "Reproduction": {
        "command": "A shell line, to be run in the root folder.",
        "failed": "Fresh trials, one at a time, that failed.",
        "trials": "Fresh trials that were run.",
    },
    "Evidence": {"kind": "A short name.", "statement": "In words.", "data": "What the statement rests on."},
    "Hypothesis": {"verdict": "Who would be wrong.", "cause": "Why.", "missing": "What would decide it."},
    **SHARED,
}


def described(kind: type, descriptions: dict[str, dict[str, str]]) -> dict[str, Any]:
    """Return the definitions of a document; objects are open, and every key that is always printed is required."""
    (_,), definitions = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    for name, texts in descriptions.items():
        properties = definitions[name]["properties"]
        for key, text in texts.items():
            kept = {word: value for word, value in properties[key].items() if word != "default"}
            properties[key] = {**kept, "description": text}
        definitions[name]["required"] = list(properties)
    return definitions


def document(name: str, title: str, kind: str, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema called `name` of the document `kind`, which its definitions hold."""
    top = definitions.pop(kind)
    top["properties"]["schema"]["const"] = name
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "urn:" + name.replace(".", ":").replace("/", ":"),
        "title": title,
        **{key: value for key, value in top.items() if key != "title"},
        "$defs": definitions,
    }


def written(schema: dict[str, Any]) -> str:
    """Return the content of a file."""
    return json.dumps(schema, indent=2) + "\n"


def render() -> str:
    """Return the file's content."""
    definitions = described(Report, DESCRIPTIONS)
    for name, keys in (("Report", REPORT_KEYS), ("Finding", FINDING_KEYS)):
        definitions[name]["properties"] = ordered(definitions[name]["properties"], keys)
        definitions[name]["required"] = list(keys)
    for reserved in ("layers", "receipt"):
        definitions["Report"]["properties"][reserved]["type"] = ["object", "null"]
    definitions["Culprit"]["properties"]["role"]["enum"] = list(ROLES)
    return written(document(SCHEMA, "triage verdict", "Report", definitions))


if __name__ == "__main__":
    PATH.write_text(render(), encoding="utf-8")
