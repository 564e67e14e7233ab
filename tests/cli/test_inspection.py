"""Everything that would stop a plugin or the daemon is found, where it stands, before anything is started."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hermes.cli.inspection import Findings, inspect
from tests.support.daemon import furnish, write_plugin
from tests.support.samples import SAMPLES


def look(home: Path, environ: Mapping[str, str] | None = None) -> Findings:
    return inspect(home / "hermes.yaml", environ or {})


def places(home: Path, environ: Mapping[str, str] | None = None) -> list[tuple[str, int | None, str | None]]:
    """Return file, line and key of every problem."""
    return [
        (str(Path(str(one.file)).relative_to(home)), one.line, one.key)
        for one in look(home, environ).problems
    ]


def write_manifest(home: Path, name: str, *lines: str) -> None:
    folder = write_plugin(home, name)
    (folder / "manifest.json").write_text("\n".join(lines), encoding="utf-8")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return furnish(tmp_path)


def test_the_sample_plugins_have_no_problem(home: Path) -> None:
    furnish(home, plugins=SAMPLES.values())
    findings = look(home)
    assert (findings.problems, findings.warnings) == ([], [])
    assert findings.plugins == list(SAMPLES)


def test_each_bad_keyword_is_found_on_its_own_line(home: Path) -> None:
    write_manifest(
        home,
        "mute",
        '{"name": "mute", "intents": [',
        '  {"name": "a", "keywords": {',
        '    "部署": 0.9,',
        '    "？！": 0.9,',
        '    "--": 0.5}},',
        '  {"name": "b", "keywords": [',
        '    "fine",',
        '    "…"]}',
        "]}",
    )
    assert places(home) == [
        ("plugins/mute/manifest.json", 4, "intents[0].keywords.？！"),
        ("plugins/mute/manifest.json", 5, "intents[0].keywords.--"),
        ("plugins/mute/manifest.json", 8, "intents[1].keywords[1]"),
    ]


def test_what_two_plugins_both_claim_is_found_at_the_second(home: Path) -> None:
    write_manifest(home, "a", '{"name": "same", "intents": ["web.open"]}')
    write_manifest(home, "b", '{"name": "same",', ' "intents": ["other"]}')
    write_manifest(home, "c", '{"name": "c", "intents": ["c.one",', ' "web.open"]}')
    assert places(home) == [
        ("plugins/b/manifest.json", 1, "name"),
        ("plugins/c/manifest.json", 2, "intents[1]"),
    ]


def test_missing_variables_and_a_wrong_section_are_both_found(home: Path) -> None:
    schema = {"type": "object", "properties": {"rows": {"type": "integer"}}}
    write_plugin(home, "needy", env=["HERMES_TEST_TOKEN"], config=schema)
    (home / "hermes.yaml").write_text("plugins:\n  needy:\n    rows: many\n")
    assert places(home) == [
        ("plugins/needy/manifest.json", None, "env"),
        ("hermes.yaml", 3, "plugins.needy.rows"),
    ]
    assert places(home, {"HERMES_TEST_TOKEN": "x"}) == [("hermes.yaml", 3, "plugins.needy.rows")]


@pytest.mark.parametrize(
    ("manifest", "line", "key"),
    [
        ({"name": "p", "intents": []}, 1, "intents"),
        ({"name": "p", "intents": ["a"], "runtime": "cobol"}, 1, "runtime"),
        ({"name": "p", "intents": ["a"], "entry": "nowhere:handle"}, 1, "entry"),
        ({"name": "p", "intents": [{"name": "a", "slots": {"x": "("}}]}, 1, "intents[0].slots.x"),
        (
            {"name": "p", "intents": [{"name": "a", "parameters": {"type": 5}}]},
            1,
            "intents[0].parameters.type",
        ),
    ],
)
def test_a_bad_manifest_is_found(home: Path, manifest: dict[str, Any], line: int, key: str) -> None:
    write_manifest(home, "p", json.dumps(manifest))
    assert ("plugins/p/manifest.json", line, key) in places(home)


def test_a_folder_without_a_manifest_and_one_with_a_broken_one_are_found(home: Path) -> None:
    (home / "plugins" / "empty").mkdir()
    write_manifest(home, "torn", '{"name": "torn",', ' "intents": [')
    write_plugin(home, "fine")
    (home / "plugins" / ".git").mkdir()
    assert places(home) == [
        ("plugins/empty/manifest.json", None, None),
        ("plugins/torn/manifest.json", 2, None),
    ]
    assert look(home).plugins == ["fine"]


def test_an_unknown_strategy_is_found_with_its_line(home: Path) -> None:
    (home / "hermes.yaml").write_text("router:\n  strategies:\n    - keyword\n    - guess\n")
    (problem,) = look(home).problems
    assert (problem.line, problem.key) == (4, "router.strategies[1]")
    assert "known: keyword, prefix" in problem.detail


def test_a_section_for_a_plugin_that_is_not_there_is_a_warning(home: Path) -> None:
    (home / "hermes.yaml").write_text("plugins:\n  echo: {}\n  torn: {}\n")
    write_manifest(home, "torn", "{")
    assert [(one.line, one.key) for one in look(home).warnings] == [(2, "plugins.echo")]


def test_intents_of_two_plugins_that_no_sentence_can_tell_apart_are_a_warning(home: Path) -> None:
    same = '{"部署": 0.9, "deploy": 0.8, "旧": -0.5}'
    write_manifest(
        home, "one", '{"name": "one", "intents": [', f'  {{"name": "a", "keywords": {same}}}', "]}"
    )
    write_manifest(
        home,
        "two",
        '{"name": "two", "intents": [',
        '  {"name": "b",',
        '   "keywords": {"ＤＥＰＬＯＹ": 0.8, "旧": -0.5, "部署": 0.9}},',
        f'  {{"name": "c", "keywords": {same}, "priority": 1}},',
        '  {"name": "d", "keywords": {"部署": 0.9, "deploy": 0.8}},',
        '  {"name": "e", "keywords": {}}, {"name": "f", "keywords": {}}',
        "]}",
    )
    write_manifest(home, "three", '{"name": "three", "intents": [{"name": "g", "keywords": {}}]}')
    findings = look(home)
    assert findings.problems == []
    (warning,) = findings.warnings
    assert (Path(str(warning.file)).parent.name, warning.line, warning.key) == (
        "two",
        3,
        "intents[0].keywords",
    )
    assert "b has the same keywords, weights and priority as a of plugin 'one'" in warning.detail
