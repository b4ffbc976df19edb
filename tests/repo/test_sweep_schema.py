"""`docs/sweep.schema.json` is what the code prints."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import sweep_schema

ROOT = Path(__file__).parents[2]
FILE = ROOT / "docs" / "sweep.schema.json"


def test_file_is_up_to_date() -> None:
    assert FILE.read_text(encoding="utf-8") == sweep_schema.render(), "run `python scripts/sweep_schema.py`"


def test_schema_is_a_valid_one_and_every_key_is_described() -> None:
    schema = json.loads(FILE.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    objects = [schema, *(one for one in schema["$defs"].values() if "properties" in one)]
    assert len(objects) == 12
    for one in objects:
        assert one["description"]
        for key, value in one["properties"].items():
            assert value["description"], key
