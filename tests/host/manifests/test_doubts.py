"""What is legal and likely not meant is told where it stands, and what is meant is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hermes.config.json_file import read_json
from hermes.host.manifests.doubts import doubts
from hermes.host.manifests.manifest import load_manifest
from tests.support.samples import SAMPLES


def told(folder: Path, *intents: dict[str, Any]) -> list[str]:
    """Return what is doubtful about a plugin with these intents, as `key: what`."""
    (folder / "plugin.py").touch()
    named = [
        {"name": f"i{number}", "keywords": [f"word {number}"]} | one for number, one in enumerate(intents)
    ]
    file = folder / "manifest.json"
    file.write_text(json.dumps({"name": "p", "intents": named}, ensure_ascii=False), encoding="utf-8")
    found = doubts(load_manifest(folder), read_json(file), directory=folder)
    return [f"{one.key or Path(str(one.file)).name}: {one.detail}" for one in found]


@pytest.mark.parametrize("name", SAMPLES)
def test_there_is_no_doubt_about_the_samples(name: str) -> None:
    folder = SAMPLES[name]
    assert list(doubts(load_manifest(folder), read_json(folder / "manifest.json"), directory=folder)) == []


def test_a_write_that_nobody_confirms(tmp_path: Path) -> None:
    assert told(tmp_path, {"writes": True}, {"writes": True, "confirm": False}) == [
        "intents[1].confirm: a call changes something, and nobody is asked before; is that meant?"
    ]


def test_an_intent_that_no_sentence_leads_to(tmp_path: Path) -> None:
    assert told(tmp_path, {"keywords": {}}, {"keywords": {}, "examples": ["部署"]}) == [
        "intents[0].keywords: without keywords no sentence leads to i0, only /i0 does",
        (
            "intents[1].keywords: without keywords no sentence leads to i1, only /i1 does, "
            "unless hermes router learn has learned its examples"
        ),
    ]


def test_a_keyword_that_speaks_for_two_intents_alike(tmp_path: Path) -> None:
    assert told(
        tmp_path,
        {"keywords": {"Deploy": 0.8, "部署": 0.8, "上线": 0.7, "not": -0.5}},
        {"keywords": {"ｄｅｐｌｏｙ": 0.8, "部署": 0.7, "上线": 0.7, "not": -0.5}},
        {"keywords": {"上线": 0.7}, "priority": 1},
    ) == [
        "intents[1].keywords.ｄｅｐｌｏｙ: weighs 0.8 for i0 too; a text with nothing else is asked back about",
        "intents[1].keywords.上线: weighs 0.7 for i0 too; a text with nothing else is asked back about",
    ]


def test_an_ack_that_names_no_parameter(tmp_path: Path) -> None:
    known = {"type": "object", "properties": {"project": {}}}
    assert told(
        tmp_path,
        {"parameters": known, "ack": {"zh": "查询 {project}", "en": "Looking up {projct}"}},
        {"ack": {"zh": "好 {who}", "en": "fine {{really}}"}},
    ) == [
        "intents[0].ack: {projct} in 'en' is no parameter, so a plain sentence is said instead",
        "intents[1].ack: {who} in 'zh' is no parameter, so a plain sentence is said instead",
    ]


def test_a_file_that_is_not_there_when_the_plugin_runs(tmp_path: Path) -> None:
    for name in (".env", "seed.log", ".git", "__pycache__", "plugin.py~", ".plugin.py.swp", "数据.json"):
        (tmp_path / name).touch()
    assert [line.partition(":")[0] for line in told(tmp_path, {})] == [".env", "seed.log"]
