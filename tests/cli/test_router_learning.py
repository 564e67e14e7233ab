"""`hermes router learn`: which rows are learned, and what is told of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hermes.routing.weights import read_weights
from tests.cli.command import Hermes
from tests.support.daemon import furnish, write_plugin

TALK = [
    ("show the logs", "log.show"),
    ("看日志", "log.show"),
    ("restart web", "web.up"),
    ("重启网站", "web.up"),
]
LIGHTS = [("light on", "light.on"), ("开灯", "light.on"), ("light off", "light.off"), ("关灯", "light.off")]


def write_rows(folder: Path, rows: Sequence[tuple[str, str]], name: str = "rows.jsonl") -> None:
    lines = (json.dumps({"text": text, "label": label}, ensure_ascii=False) for text, label in rows)
    (folder / name).write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with a configuration and a plugin whose manifest has examples."""
    furnish(tmp_path)
    intents = [
        {"name": "log.show", "keywords": {"logs": 0.9}, "examples": ["错误日志给我看看"]},
        {"name": "disk.usage", "keywords": {"disk": 0.9}, "examples": ["磁盘满了吗", "how full is the disk"]},
    ]
    write_plugin(tmp_path, "tools", intents=intents)
    return tmp_path


def learned(hermes: Hermes, *words: str) -> dict[str, Any]:
    done = hermes("router", "learn", *words, "--json")
    assert (done.code, done.err) == (0, "")
    told: dict[str, Any] = json.loads(done.out)
    return told


def test_without_a_file_the_examples_of_manifests_are_learned(lonely: Hermes, home: Path) -> None:
    assert learned(lonely)["rows"] == 3
    weights = read_weights(home / "router-weights.json")
    assert weights.intents.keys() == {"log.show", "disk.usage"}
    assert "磁盘" in weights.intents["disk.usage"].keywords


def test_the_examples_of_manifests_are_learned_beside_rows_for_their_intents_alone(
    lonely: Hermes, home: Path
) -> None:
    write_rows(home, TALK)
    assert learned(lonely, "rows.jsonl")["rows"] == 7
    write_rows(home, LIGHTS)
    assert learned(lonely, "rows.jsonl")["rows"] == 4
    assert read_weights(home / "router-weights.json").intents.keys() == {"light.on", "light.off"}


def test_several_files_are_learned_together_and_contradictions_told(lonely: Hermes, home: Path) -> None:
    write_rows(home, TALK)
    write_rows(home, [*LIGHTS, ("看日志", "oos")], "more.jsonl")
    done = lonely("router", "learn", "rows.jsonl", "more.jsonl", "--out", "all.json")
    assert (done.code, done.err) == (0, "")
    assert done.lines[0] == "labelled in several ways, log.show, oos: 看日志"
    assert done.lines[-1] == "wrote all.json"
    assert len(read_weights(home / "all.json").intents) == 5
    assert not (home / "router-weights.json").exists()


def test_a_plugin_that_is_wrong_is_told_and_the_others_are_learned(lonely: Hermes, home: Path) -> None:
    (home / "plugins" / "broken").mkdir()
    (home / "plugins" / "broken" / "manifest.json").write_text("{")
    write_plugin(home, "twin", intents=[{"name": "log.show", "keywords": {"log": 0.9}, "examples": ["x"]}])
    done = lonely("router", "learn")
    assert done.code == 0
    first, second = done.err.splitlines()
    assert first.startswith("plugins/broken/manifest.json:1: not learned: ")
    assert second == "plugins/twin: not learned: log.show belongs to plugin 'tools' already"
    assert read_weights(home / "router-weights.json").rows == 3


def test_a_place_that_cannot_be_written_to_is_told_before_anything_is_learned(
    lonely: Hermes, home: Path
) -> None:
    write_rows(home, [("a", "b")])
    for place in ("plugins", "none/weights.json"):
        done = lonely("router", "learn", "rows.jsonl", "--out", place)
        assert (done.code, done.out) == (1, "")
        assert done.err.startswith(f"Error: {place}: ")
