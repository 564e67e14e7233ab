from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hermes.errors import ConfigError
from hermes.host.manifests.manifest import (
    Confirm,
    Intent,
    Manifest,
    ProcessLimits,
    Summary,
    Workers,
    load_manifest,
)
from hermes.host.runtimes.python import PythonOptions

FULL = """\
{
  "name": "gitlab-pipeline", "version": "1.0.0", "description": "State of a GitLab pipeline",
  "runtime": "python", "entry": "plugin:handle",
  "intents": [{
    "name": "ci.pipeline.status", "description": "Show the last pipeline of a project",
    "keywords": {"流水线": 0.9, "pipeline": 0.9, "build": -0.5}, "priority": 10,
    "examples": ["web 的流水线过了吗", "did the web pipeline pass"],
    "parameters": {"type": "object", "properties": {"project": {"type": "string"}}, "required": ["project"]},
    "slots": {"project": "(?:project|项目)\\\\s+(?P<project>[\\\\w.-]+)"},
    "writes": false, "idempotent": false, "confirm": false,
    "ack": {"zh": "正在查询 {project} 的流水线", "en": "Looking up the pipeline of {project}"}
  }],
  "timeout": 20, "concurrency": 4, "workers": 1,
  "summary": {"fields": ["pipeline_id", "status"], "max_chars": 800},
  "config": {"type": "object", "properties": {"base_url": {"type": "string"}}},
  "env": ["GITLAB_URL", "GITLAB_TOKEN"], "dependencies": ["aiohttp"],
  "limits": {"memory_mb": 512, "open_files": 256, "processes": 32}
}
"""


def load(folder: Path, manifest: Any) -> Manifest:
    """Load a manifest, given as text or as a value, that lies beside a plugin.py."""
    (folder / "plugin.py").touch()
    text = manifest if isinstance(manifest, str) else json.dumps(manifest, ensure_ascii=False)
    (folder / "manifest.json").write_bytes(text.encode())
    return load_manifest(folder)


def refusal(folder: Path, manifest: Any) -> list[str]:
    """Return what is wrong with a manifest, as `line key: what`."""
    with pytest.raises(ConfigError) as raised:
        load(folder, manifest)
    assert {problem.file for problem in raised.value.problems} == {str(folder / "manifest.json")}
    return [f"{problem.line} {problem.key}: {problem.detail}" for problem in raised.value.problems]


def intent(folder: Path, **keys: Any) -> Intent:
    return load(folder, {"name": "a", "intents": [{"name": "a.b", **keys}]}).intents[0]


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_full_manifest_is_read_whole(tmp_path: Path, mark: str, newline: str) -> None:
    manifest = load(tmp_path, mark + FULL.replace("\n", newline))
    (only,) = manifest.intents
    assert only == Intent(
        name="ci.pipeline.status",
        description="Show the last pipeline of a project",
        keywords={"流水线": 0.9, "pipeline": 0.9, "build": -0.5},
        priority=10,
        examples=("web 的流水线过了吗", "did the web pipeline pass"),
        parameters={"type": "object", "properties": {"project": {"type": "string"}}, "required": ["project"]},
        slots={"project": r"(?:project|项目)\s+(?P<project>[\w.-]+)"},
        ack={"zh": "正在查询 {project} 的流水线", "en": "Looking up the pipeline of {project}"},
    )
    assert (manifest.name, manifest.version, manifest.timeout) == ("gitlab-pipeline", "1.0.0", 20)
    assert manifest.summary == Summary(("pipeline_id", "status"), 800)
    assert manifest.limits == ProcessLimits(512, 256, 32)
    assert manifest.options == PythonOptions(entry="plugin:handle")
    assert manifest.env == ("GITLAB_URL", "GITLAB_TOKEN")
    assert manifest.dependencies == ("aiohttp",)


def test_a_name_and_intents_are_enough(tmp_path: Path) -> None:
    manifest = load(tmp_path, {"name": "a", "intents": [{"name": "a.b"}]})
    assert manifest == Manifest("a", (Intent("a.b"),), options=PythonOptions(entry="plugin:handle"))


def test_the_documented_defaults_hold() -> None:
    manifest = Manifest("a", ())
    assert (manifest.runtime, manifest.version) == ("python", "0.0.0")
    assert (manifest.concurrency, manifest.workers, manifest.timeout) == (4, Workers(1, 1), None)
    assert manifest.summary.fields == ()


def test_plain_names_of_intents_take_what_stands_at_the_top(tmp_path: Path) -> None:
    manifest = load(
        tmp_path,
        {
            "name": "a",
            "description": "天气",
            "intents": ["a.b", {"name": "a.c", "keywords": ["x"]}],
            "keywords": ["天气", "weather"],
            "priority": 3,
            "writes": True,
            "confirm": False,
        },
    )
    assert manifest.intents == (
        Intent("a.b", "天气", {"天气": 0.8, "weather": 0.8}, priority=3, writes=True),
        Intent("a.c", "天气", {"x": 0.8}),
    )


def test_what_stands_at_the_top_without_anyone_to_take_it_is_refused(tmp_path: Path) -> None:
    manifest = {"name": "a", "intents": [{"name": "a.b"}], "keywords": ["x"], "writes": True}
    assert [line.partition(":")[0] for line in refusal(tmp_path, manifest)] == ["1 keywords", "1 writes"]


@pytest.mark.parametrize(
    ("keys", "confirm"),
    [
        ({}, None),
        ({"writes": True}, Confirm()),
        ({"writes": True, "confirm": False}, None),
        ({"confirm": True}, Confirm()),
        ({"confirm": {}}, Confirm()),
        (
            {"confirm": {"by": ["admin", "slack:U1"], "other_than_asker": True, "expires": 60}},
            Confirm(("admin", "slack:U1"), other_than_asker=True, expires=60),
        ),
    ],
)
def test_a_call_is_confirmed_when_it_writes_unless_told_otherwise(
    tmp_path: Path, keys: dict[str, Any], confirm: Confirm | None
) -> None:
    assert intent(tmp_path, **keys).confirm == confirm


@pytest.mark.parametrize(
    ("written", "workers"),
    [
        (3, Workers(3, 3)),
        ({}, Workers(1, 1)),
        ({"min": 0}, Workers(0, 1)),
        ({"min": 2}, Workers(2, 2)),
        ({"min": 0, "max": 2, "idle_stop": 5}, Workers(0, 2, 5)),
    ],
)
def test_workers_are_a_number_or_a_range(tmp_path: Path, written: Any, workers: Workers) -> None:
    assert load(tmp_path, {"name": "a", "intents": ["b"], "workers": written}).workers == workers


def test_everything_that_is_wrong_is_told_at_once_with_line_key_and_remedy(tmp_path: Path) -> None:
    text = """\
{
  "name": "Gitlab",
  "nam": 3,
  "runtime": "executable",
  "command": ["./gone.sh"],
  "entry": "plugin:handle",
  "intents": [
    {"name": "c d",
     "keywords": {"x": 0, "y": 2,
       "z": "1"},
     "parameters": {"type": "object",
       "properties": {"a": {"type": "objekt"}}},
     "slots": {"q": "(?=x)",
       "r": "x"},
     "confirm": "yes"},
    {"keywords": ["a", 3],
     "ack": {"fr": ""},
     "confirm": {"by": "me"}}
  ],
  "workers": {"min": 3, "max": 2},
  "env": ["A B"],
  "timeout": 0,
  "timeout": 1,
  "config": {"type": "string"}
}
"""
    lines = refusal(tmp_path, text)
    assert [line.partition(":")[0] for line in lines] == [
        "2 name",
        "3 nam",
        "5 command[0]",
        "6 entry",
        "8 intents[0].name",
        "9 intents[0].keywords.x",
        "9 intents[0].keywords.y",
        "10 intents[0].keywords.z",
        "12 intents[0].parameters.properties.a.type",
        "13 intents[0].slots.q",
        "14 intents[0].slots.r",
        "15 intents[0].confirm",
        "16 intents[1].name",
        "16 intents[1].keywords[1]",
        "17 intents[1].ack.fr",
        "18 intents[1].confirm.by",
        "20 workers.max",
        "21 env[0]",
        "23 timeout",
        "24 config.type",
    ]
    assert "did you mean name?" in lines[1]
    assert "there is no file ./gone.sh in the plugin's folder" in lines[2]
    assert "belongs to the runtime python; remove it" in lines[3]
    assert "invalid perl operator" in lines[9]


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"name": "a" * 65}, "name"),
        ({"name": "../a"}, "name"),
        ({"name": ""}, "name"),
        ({"version": 1}, "version"),
        ({"entry": "plugin.py"}, "entry"),
        ({"entry": "../plugin:handle"}, "entry"),
        ({"intents": []}, "intents"),
        ({"intents": "a.b"}, "intents"),
        ({"intents": [3]}, "intents[0]"),
        ({"intents": ["a/b"]}, "intents[0].name"),
        ({"intents": [{"name": "b", "keywords": {" ": 0.5}}]}, "intents[0].keywords. "),
        ({"intents": [{"name": "b", "parameters": True}]}, "intents[0].parameters"),
        ({"intents": [{"name": "b", "slots": {"x": 1}}]}, "intents[0].slots.x"),
        ({"intents": [{"name": "b", "writes": "no"}]}, "intents[0].writes"),
        ({"intents": [{"name": "b", "confirm": None}]}, "intents[0].confirm"),
        ({"workers": 0}, "workers"),
        ({"workers": True}, "workers"),
        ({"concurrency": 0}, "concurrency"),
        ({"concurrency": 1.5}, "concurrency"),
        ({"summary": {"max_chars": 0}}, "summary.max_chars"),
        ({"limits": {"memory_mb": "512"}}, "limits.memory_mb"),
        ({"http": {}}, "http"),
        ({"runtime": "pyhton"}, "runtime"),
        ({"runtime": 3}, "runtime"),
        ({"limits": {"cpu_seconds": 3}}, "limits.cpu_seconds"),
    ],
)
def test_a_bad_value_is_refused_at_its_key(tmp_path: Path, change: dict[str, Any], key: str) -> None:
    lines = refusal(tmp_path, {"name": "a", "intents": ["b"], **change})
    assert [line.removeprefix("1 ").rpartition(": ")[0].partition(": ")[0] for line in lines] == [key]


def test_an_intent_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    text = '{"name": "a", "intents": [\n"b",\n{"name": "c"},\n{"name": "b"}]}'
    assert refusal(tmp_path, text) == ["4 intents[2]: the intent b is there twice; remove one"]


@pytest.mark.parametrize("text", ["[]", "3", '"a"', "null"])
def test_a_manifest_that_is_no_object_is_refused(tmp_path: Path, text: str) -> None:
    assert "must hold an object" in refusal(tmp_path, text)[0]


def test_a_folder_without_a_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"manifest\.json: there is no such file"):
        load_manifest(tmp_path)


def test_an_editor_may_be_pointed_at_the_schema(tmp_path: Path) -> None:
    manifest = {"$schema": "../../docs/manifest.schema.json", "name": "a", "intents": ["b"]}
    assert load(tmp_path, manifest).name == "a"
