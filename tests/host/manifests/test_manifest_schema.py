from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from hermes.errors import ConfigError
from hermes.host.manifests.manifest import load_manifest
from hermes.host.manifests.manifest_schema import manifest_schema
from tests.support.samples import SAMPLES

ROOT = Path(__file__).parents[3]
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
        {"limits": {"memory_mb": 5, "cpu_seconds": 5}},
        {"config": []},
        {"runtime": "python", "entry": "plugin:run"},
        {"command": ["./run.sh"]},
        {"runtime": "executable"},
        {"runtime": "executable", "command": ["./run.sh", "甲"]},
        {"runtime": "executable", "command": []},
        {"runtime": "executable", "command": "./run.sh"},
        {"runtime": "executable", "command": ["./run.sh"], "entry": "plugin:handle"},
        {"runtime": "executable", "command": ["./run.sh"], "limits": {"cpu_seconds": 5}},
        {"runtime": "process", "command": ["./run.sh"], "limits": {"memory_mb": 5}},
        {"runtime": "process", "command": ["./run.sh"], "limits": {"cpu_seconds": 5}},
        {"runtime": "http"},
        {"runtime": "http", "http": {"url": "http://a.example/{text}"}},
        {"runtime": "http", "http": {"url": "http://a.example", "method": "HEAD"}},
        {"runtime": "http", "http": {"url": "http://a.example", "response": {"data": "a"}}},
        {"runtime": "http", "http": {"url": "http://a.example"}, "limits": {"open_files": 5}},
        {"runtime": "http", "http": {"url": "http://a.example"}, "command": ["./run.sh"]},
    ],
)
def test_the_published_schema_and_the_code_agree(change: dict[str, Any], tmp_path: Path) -> None:
    manifest = {"name": "a", "intents": ["b"], **change}
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    (tmp_path / "plugin.py").touch()
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "b.py").touch()
    (tmp_path / "run.sh").write_text("#!/bin/sh\n")
    (tmp_path / "run.sh").chmod(0o755)
    try:
        load_manifest(tmp_path)
    except ConfigError:
        accepted = False
    else:
        accepted = True
    assert jsonschema_rs.is_valid(manifest_schema(), manifest) is accepted


def test_the_published_schema_lets_runtimes_from_outside_have_keys_of_their_own() -> None:
    manifest = {"name": "a", "intents": ["b"], "runtime": "elsewhere", "recipe": {"x": 1}}
    assert jsonschema_rs.is_valid(manifest_schema(), manifest)
    assert not jsonschema_rs.is_valid(manifest_schema(), manifest | {"timeout": 0})
