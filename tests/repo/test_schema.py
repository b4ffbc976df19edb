"""`docs/verdict.schema.json` is what the code prints, and what the design promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import schema as script

from triage.model.verdict import (
    Culprit,
    Environment,
    Evidence,
    Finding,
    Hypothesis,
    Rate,
    Report,
    Reproduction,
    Strength,
    Trigger,
    Verdict,
)
from triage.report.json_report import render

ROOT = Path(__file__).parents[2]
PROMISED = [
    "schema",
    "experiment",
    "target",
    "verdict",
    "cause",
    "strength",
    "summary",
    "culprits",
    "polluters",
    "polluter_sets",
    "setters",
    "cleaners",
    "state",
    "trigger",
    "rates",
    "reproduction",
    "counterfactual",
    "evidence",
    "hypotheses",
    "not_established",
    "next",
    "findings",
    "environment",
    "layers",
    "receipt",
    "trials",
    "wall_seconds",
]
"""The keys of the contract, in its order."""


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((ROOT / "docs" / "verdict.schema.json").read_text(encoding="utf-8"))
    return loaded


def make_report(verdict: Verdict, strength: Strength, *, known: bool) -> Report:
    values: dict[str, Any] = {"verdict": verdict, "strength": strength, "summary": "One sentence."}
    if known:
        values |= {
            "cause": "race",
            "signature": "AssertionError at a.py:1 in f",
            "culprits": (Culprit(role="product", file="a.py", lines=(1, 2), what="x"), Culprit(role="test")),
            "polluters": ("a",),
            "polluter_sets": (("a", "b"),),
            "setters": ("a",),
            "cleaners": ("a",),
            "state": ("a.b",),
            "trigger": Trigger(factor="hash_seed", level="1"),
            "rates": (Rate(arm="baseline", failed=1, trials=2, low=0.01, high=0.99),),
            "reproduction": Reproduction(command="python -m pytest", failed=2, trials=2),
            "counterfactual": Reproduction(command="python -m pytest", failed=0, trials=2),
            "evidence": (Evidence(kind="x", statement="y", data={"any": [1, None]}),),
            "hypotheses": (Hypothesis(verdict=Verdict.WRONG_TEST, cause="clock", missing="z"),),
            "not_established": ("w",),
        }
    return Report(
        **values,
        experiment="2vq8z41k7m3c",
        target="t.py::test",
        findings=(Finding(**values), Finding(**values)),
        environment=Environment(python=("3.11.7",), pytest=None, platform="Linux"),
        trials=4,
        wall_seconds=1.5,
    )


def test_file_is_up_to_date(schema: dict[str, Any]) -> None:
    written = (ROOT / "docs" / "verdict.schema.json").read_text(encoding="utf-8")
    assert written == script.render(), "run `python scripts/schema.py`"


def test_schema_is_a_valid_one(schema: dict[str, Any]) -> None:
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("strength", Strength)
@pytest.mark.parametrize("verdict", Verdict)
def test_what_is_printed_validates(schema: dict[str, Any], verdict: Verdict, strength: Strength, known: bool) -> None:
    printed = json.loads(render(make_report(verdict, strength, known=known)))
    jsonschema.Draft202012Validator(schema).validate(printed)


def test_keys_of_the_contract(schema: dict[str, Any]) -> None:
    assert list(schema["properties"])[: len(PROMISED)] == PROMISED
    assert schema["required"] == PROMISED
    finding = [key for key in PROMISED if key in Finding.__struct_fields__]
    assert list(schema["$defs"]["Finding"]["properties"])[: len(finding)] == finding


def test_enumerations(schema: dict[str, Any]) -> None:
    definitions = schema["$defs"]
    assert set(definitions["Verdict"]["enum"]) == {
        "real_bug",
        "wrong_test",
        "environment",
        "stable_pass",
        "stable_fail",
        "undetermined",
    }
    assert set(definitions["Strength"]["enum"]) == {"established", "supported", "suggested", "latent"}
    assert definitions["Culprit"]["properties"]["role"]["enum"] == [
        "product",
        "test",
        "dependency",
        "interpreter",
        "native",
        "environment",
    ]


def test_every_key_is_described(schema: dict[str, Any]) -> None:
    objects = [schema, *(one for one in schema["$defs"].values() if "properties" in one)]
    assert len(objects) == 10
    for one in objects:
        assert one["description"]
        for key, value in one["properties"].items():
            assert value["description"], key


def test_a_key_may_be_added_and_none_left_out(schema: dict[str, Any]) -> None:
    printed = json.loads(render(make_report(Verdict.REAL_BUG, Strength.ESTABLISHED, known=True)))
    validator = jsonschema.Draft202012Validator(schema)
    printed["new"] = printed["findings"][0]["new"] = printed["culprits"][0]["new"] = printed["environment"]["new"] = 1
    validator.validate(printed)
    for key in PROMISED:
        with pytest.raises(jsonschema.ValidationError):
            validator.validate({name: value for name, value in printed.items() if name != key})


@pytest.mark.parametrize(
    ("key", "value"), [("verdict", "maybe"), ("strength", "sure"), ("schema", "triage.verdict/2"), ("cause", 1)]
)
def test_a_wrong_value_is_refused(schema: dict[str, Any], key: str, value: object) -> None:
    printed = json.loads(render(make_report(Verdict.REAL_BUG, Strength.ESTABLISHED, known=True)))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate({**printed, key: value})
