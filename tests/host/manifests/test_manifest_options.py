from __future__ import annotations

from pathlib import Path

import pytest

from hermes.config import load_config
from hermes.errors import ConfigError
from hermes.host.manifests.manifest import Manifest, plugin_config

CONFIGURED = Manifest(
    "查询",
    (),
    config={
        "type": "object",
        "properties": {
            "database": {"type": "string", "format": "path"},
            "folders": {"type": "array", "items": {"type": "string", "format": "path"}},
            "nested": {"type": "object", "properties": {"file": {"type": "string", "format": "path"}}},
            "rows": {"type": "integer"},
        },
        "required": ["database"],
        "additionalProperties": False,
    },
)


def test_paths_in_a_plugins_options_become_absolute_wherever_they_stand() -> None:
    raw = {"database": "./data/应用.db", "folders": ["a", "/b"], "nested": {"file": "c"}, "rows": 5}
    assert plugin_config(CONFIGURED, raw, base_dir=Path("/etc/hermes")) == {
        "database": "/etc/hermes/data/应用.db",
        "folders": ["/etc/hermes/a", "/b"],
        "nested": {"file": "/etc/hermes/c"},
        "rows": 5,
    }


def test_wrong_options_are_told_all_at_once_by_their_key() -> None:
    with pytest.raises(ConfigError) as raised:
        plugin_config(CONFIGURED, {"rows": "many", "color": "红"}, base_dir=Path("/etc"))
    assert sorted(problem.key or "" for problem in raised.value.problems) == [
        "plugins.查询.color",
        "plugins.查询.database",
        "plugins.查询.rows",
    ]


def test_a_plugin_without_a_schema_takes_any_options() -> None:
    assert plugin_config(Manifest("a", ()), {"x": {"y": [1]}}, base_dir=Path("/etc")) == {"x": {"y": [1]}}
    assert plugin_config(Manifest("a", ()), {}, base_dir=Path("/etc")) == {}


def test_options_from_the_environment_fit_the_schema_and_stay_secret(tmp_path: Path) -> None:
    file = tmp_path / "hermes.yaml"
    file.write_text('plugins:\n  查询:\n    database: "${DB}"\n    rows: ${ROWS}\n', encoding="utf-8")
    config = load_config(file, {"DB": "x.db", "ROWS": "7"})
    options = plugin_config(
        CONFIGURED, config.plugins["查询"], base_dir=config.base_dir, source=config.source
    )
    assert options == {"database": f"{tmp_path}/x.db", "rows": 7}
    assert {type(value) for value in options.values()} == {str, int}

    config = load_config(file, {"DB": "x.db", "ROWS": "hunter2"})
    with pytest.raises(ConfigError) as raised:
        plugin_config(CONFIGURED, config.plugins["查询"], base_dir=config.base_dir, source=config.source)
    assert str(raised.value) == f"{file}:4: plugins.查询.rows: rows must be a whole number"


def test_options_that_are_wrong_as_a_whole_say_so() -> None:
    with pytest.raises(ConfigError) as raised:
        plugin_config(Manifest("a", (), config={"minProperties": 1}), {}, base_dir=Path("/etc"))
    assert str(raised.value) == "plugins.a: does not fit what the manifest asks for under config"
