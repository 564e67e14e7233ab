from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from pydantic import ValidationError

from hermes.host.manifest_file import ManifestFile
from hermes.host.manifest_schema import manifest_schema
from tests.support.samples import SAMPLES

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "docs" / "manifest.schema.json"


def test_the_published_schema_is_that_of_the_code() -> None:
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    assert published == manifest_schema(), "run scripts/manifest_schema.py"


def test_the_manifests_of_this_repository_fit_the_published_schema() -> None:
    validator = jsonschema_rs.validator_for(json.loads(PUBLISHED.read_text(encoding="utf-8")))
    for folder in SAMPLES.values():
        manifest = (folder / "manifest.json").read_text(encoding="utf-8-sig")
        assert list(validator.iter_errors(json.loads(manifest))) == []


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"name": "A"},
        {"name": "a\n"},
        {"name": 3},
        {"extra": 1},
        {"intents": []},
        {"intents": [3]},
        {"intents": ["a b"]},
        {"intents": [{"name": "流水线.状态"}]},
        {"intents": [{}]},
        {"intents": [{"name": "b", "keywords": ["x"]}]},
        {"intents": [{"name": "b", "keywords": [""]}]},
        {"intents": [{"name": "b", "keywords": {"x": -1}}]},
        {"intents": [{"name": "b", "keywords": {"x": 0}}]},
        {"intents": [{"name": "b", "keywords": {"x": 1.1}}]},
        {"intents": [{"name": "b", "confirm": True}]},
        {"intents": [{"name": "b", "confirm": None}]},
        {"intents": [{"name": "b", "confirm": {"by": ["x"], "expires": 0}}]},
        {"intents": [{"name": "b", "ack": {"fr": "x"}}]},
        {"workers": 1},
        {"workers": 0},
        {"workers": {"min": 0}},
        {"workers": {"max": 0}},
        {"timeout": None},
        {"timeout": 0},
        {"entry": "a.b:c"},
        {"entry": "a"},
        {"env": ["A"]},
        {"env": ["1"]},
        {"limits": {"memory_mb": 0}},
        {"config": []},
    ],
)
def test_the_published_schema_and_the_code_agree(change: dict[str, Any]) -> None:
    manifest = {"name": "a", "intents": ["b"], **change}
    try:
        ManifestFile.model_validate(manifest)
    except ValidationError:
        accepted = False
    else:
        accepted = True
    assert jsonschema_rs.is_valid(manifest_schema(), manifest) is accepted
