"""Everything that keeps a plugin from being taken in is found in one look, and nothing is started for it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from hermes.config.document import Document
from hermes.errors import ConfigError
from hermes.host.manifests.inspection import Inspection, Look
from hermes.host.manifests.manifest import Intent
from hermes.host.plugin import Places
from tests.support.samples import SAMPLES

BROKEN = """\
{
  "name": "Broken",
  "tiemout": 3,
  "timeout": -1,
  "entry": "tool:run",
  "intents": [
    {"name": "a", "keywords": {"？！": 0.9, "部署": 2}, "slots": {"x": "("},
     "parameters": {"properties": {"y": {}}}},
    {"name": "a",
     "keywords": ["!!"]},
    {"name": "b", "parameters": {"properties": {"y": {}}},
     "slots": {"z": "(?P<z>.)"}}
  ],
  "env": ["HERMES_TEST_TOKEN", "A B"],
  "dependencies": ["no such",
    "left-pad>=2"],
  "config": {"properties": {"rows": {"type": "integer"}}},
  "limits": {"cpu_seconds": 3}
}
"""


def refuse_marks(plugin: str, intent: Intent, *, keyword: str) -> None:
    """Refuse what the router would."""
    if not any(letter.isalnum() for letter in keyword):
        raise ConfigError(f"{plugin} {intent.name} {keyword} would never match")


def places(home: Path, **sections: Any) -> Places:
    return Places(
        plugins_dir=home,
        state_dir=home / "state",
        base_dir=home,
        configs=sections,
        environment={},
        source=Document(file="hermes.yaml"),
    )


def write(home: Path, name: str, manifest: Any) -> Path:
    folder = home / name
    folder.mkdir()
    (folder / "plugin.py").touch()
    text = manifest if isinstance(manifest, str) else json.dumps(manifest)
    (folder / "manifest.json").write_text(text, encoding="utf-8")
    return folder


def keys(look: Look) -> list[tuple[int | None, str | None]]:
    return [(one.line, one.key) for one in look.problems]


def test_a_fault_of_one_kind_hides_none_of_another(tmp_path: Path) -> None:
    look = Inspection(refuse_marks).look(write(tmp_path, "broken", BROKEN))
    assert keys(look) == [
        (2, "name"),
        (3, "tiemout"),
        (4, "timeout"),
        (5, "entry"),
        (7, "intents[0].keywords.部署"),
        (7, "intents[0].slots.x"),
        (7, "intents[0].keywords.？！"),
        (9, "intents[1]"),
        (10, "intents[1].keywords[0]"),
        (12, "intents[2].slots.z"),
        (14, "env[1]"),
        (15, "dependencies[0]"),
        (16, "dependencies[1]"),
        (18, "limits.cpu_seconds"),
    ]
    assert {one.file for one in look.problems} == {str(tmp_path / "broken" / "manifest.json")}
    assert look.name == "broken"


def test_with_the_daemons_surroundings_the_section_and_the_variables_are_looked_at_too(
    tmp_path: Path,
) -> None:
    manifest = json.loads(BROKEN) | {"name": "needy", "env": ["HERMES_TEST_TOKEN"]}
    inspection = Inspection(refuse_marks, places(tmp_path, needy={"rows": "many"}))
    look = inspection.look(write(tmp_path, "needy", manifest))
    assert {(None, "env"), (None, "plugins.needy.rows")} < set(keys(look))


@pytest.mark.parametrize("name", SAMPLES)
def test_nothing_is_wrong_with_the_samples(name: str) -> None:
    inspection = Inspection(refuse_marks)
    look = inspection.look(SAMPLES[name])
    assert (look.problems, look.name, inspection.plugins) == ((), name, [name])


def test_what_one_plugin_has_no_other_gets(tmp_path: Path) -> None:
    inspection = Inspection(refuse_marks)
    first = inspection.look(write(tmp_path, "a", {"name": "same", "intents": ["web.open"]}))
    second = inspection.look(write(tmp_path, "b", {"name": "same", "intents": ["other"]}))
    third = inspection.look(write(tmp_path, "c", {"name": "c", "intents": ["c.one", "web.open"]}))
    assert first.problems == ()
    assert [str(one) for one in second.problems] == [
        f"{tmp_path}/b/manifest.json:1: name: another folder has a plugin named same already; rename one"
    ]
    assert [str(one) for one in third.problems] == [
        f"{tmp_path}/c/manifest.json:1: intents[1]: the intent web.open belongs to the plugin same already; rename one"
    ]


def test_a_wrong_plugin_takes_no_names(tmp_path: Path) -> None:
    inspection = Inspection(refuse_marks)
    inspection.look(write(tmp_path, "a", {"name": "same", "intents": ["web.open"], "timeout": -1}))
    assert inspection.look(write(tmp_path, "b", {"name": "same", "intents": ["web.open"]})).problems == ()
    assert inspection.plugins == ["same"]


@pytest.mark.parametrize(
    ("manifest", "detail"),
    [
        ("[]", "must hold an object such as"),
        ('{"name": "torn"', "is not valid JSON"),
        ("", "is not valid JSON"),
    ],
)
def test_a_manifest_that_cannot_be_read_is_one_problem(tmp_path: Path, manifest: str, detail: str) -> None:
    look = Inspection(refuse_marks).look(write(tmp_path, "torn", manifest))
    assert (look.manifest, look.name, len(look.problems)) == (None, "torn", 1)
    assert look.problems[0].detail.startswith(detail)


def test_a_key_that_is_there_twice_hides_nothing(tmp_path: Path) -> None:
    text = '{"name": "twice", "timeout": 1,\n"timeout": 2,\n"intents": [{"name": "a", "keywords": ["!!"]}]}'
    assert keys(Inspection(refuse_marks).look(write(tmp_path, "twice", text))) == [
        (2, "timeout"),
        (3, "intents[0].keywords[0]"),
    ]


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    folder = write(tmp_path, "a", {"name": "a", "intents": ["a"]})
    (folder / "manifest.json").unlink()
    (folder / "manifest.json").mkdir()
    (problem,) = Inspection(refuse_marks).look(folder).problems
    assert problem.detail.startswith("cannot be read: ")


def test_a_manifest_that_is_a_pipe_is_told_and_not_waited_for(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    os.mkfifo(folder / "manifest.json")
    (problem,) = Inspection(refuse_marks).look(folder).problems
    assert (problem.file, problem.detail) == (str(folder / "manifest.json"), "is no file")
