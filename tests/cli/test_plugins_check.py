"""`hermes plugins check`: an author sees everything that is wrong, without a daemon and without a start."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import Hermes
from tests.support.daemon import SAMPLES, furnish, write_plugin
from tests.support.samples import SAMPLES as NAMED

HANDLE = "async def handle(message, context):\n    return 1\n"
WORDS = ["部署", "deploy"]


def begins(lines: list[str]) -> list[str]:
    """Return file, line and key of every line."""
    return [": ".join(line.split(": ", 2)[:2]) for line in lines]


def test_a_right_plugin_is_one_line(lonely: Hermes, tmp_path: Path) -> None:
    write_plugin(tmp_path, "tool", HANDLE, version="1.2.0", keywords=WORDS)
    done = lonely("plugins", "check", "plugins/tool")
    assert (done.code, done.err) == (0, "")
    assert done.lines == ["ok: plugins/tool: tool 1.2.0: tool"]


@pytest.mark.parametrize("name", NAMED)
def test_the_samples_have_no_problem_and_all_their_examples_lead_to_them(lonely: Hermes, name: str) -> None:
    done = lonely("plugins", "check", str(NAMED[name]), JIRA_TOKEN="x", GITLAB_TOKEN="x", GITLAB_URL="x")
    assert (done.code, len(done.lines)) == (0, 1), done.out


def test_every_problem_is_told_at_once(lonely: Hermes, tmp_path: Path) -> None:
    write_plugin(
        tmp_path,
        "tool",
        "def handle(message, context):\n    return 1\n",
        timeout=-1,
        dependencies=["left-pad"],
        keywords={"！！": 0.9, "ok": 2},
        tiemout=3,
    )
    done = lonely("plugins", "check", "plugins/tool")
    assert done.code == 1
    assert sorted(begins(done.lines)) == [
        "plugins/tool/manifest.json:1: dependencies[0]",
        "plugins/tool/manifest.json:1: keywords.ok",
        "plugins/tool/manifest.json:1: keywords.！！",
        "plugins/tool/manifest.json:1: tiemout",
        "plugins/tool/manifest.json:1: timeout",
        "plugins/tool/plugin.py:1: handle is not async; write `async def handle(message, context)`",
    ]


def test_warnings_are_told_and_are_no_failure(lonely: Hermes, tmp_path: Path) -> None:
    folder = write_plugin(tmp_path, "tool", HANDLE, env=["HERMES_TEST_TOKEN"], writes=True, confirm=False)
    (folder / ".env").touch()
    done = lonely("plugins", "check", "plugins/tool")
    assert done.code == 0
    assert sorted(begins(done.lines)) == [
        "ok: plugins/tool",
        "plugins/tool/.env: warning",
        "plugins/tool/manifest.json:1: env",
        "plugins/tool/manifest.json:1: intents[0].confirm",
        "plugins/tool/manifest.json:1: intents[0].keywords",
    ]
    assert all(": warning: " in line for line in done.lines[:-1])
    assert len(lonely("plugins", "check", "plugins/tool", HERMES_TEST_TOKEN="x").lines) == 4


def test_examples_that_lead_elsewhere_are_told_with_where(lonely: Hermes, tmp_path: Path) -> None:
    write_plugin(
        tmp_path,
        "tool",
        HANDLE,
        intents=[
            {
                "name": "web.deploy",
                "keywords": {"部署": 0.9, "web": 0.4},
                "examples": ["部署一下", "web 怎么样", "天气好吗", "回滚", "部署后回滚"],
            },
            {"name": "web.undo", "keywords": {"回滚": 0.9}},
        ],
    )
    done = lonely("plugins", "check", "plugins/tool")
    assert [line.split(": ", 3)[1:] for line in done.lines[:-1]] == [
        ["intents[0].examples[1]", "warning", "the keywords in it come to 0.40, and 0.6 are needed"],
        ["intents[0].examples[2]", "warning", "the keywords find nothing in it"],
        ["intents[0].examples[3]", "warning", "goes to web.undo"],
        ["intents[0].examples[4]", "warning", "is asked back about: web.deploy or web.undo"],
    ]


def test_a_program_that_is_not_on_the_path_is_a_warning(lonely: Hermes, tmp_path: Path) -> None:
    command = ["no-such-program", "x"]
    write_plugin(tmp_path, "tool", runtime="process", command=command, keywords=WORDS)
    done = lonely("plugins", "check", "plugins/tool")
    assert done.code == 0
    assert done.lines[0].endswith("command[0]: warning: there is no program no-such-program on the PATH here")


def test_several_plugins_and_a_folder_of_them_are_looked_at_in_turn(lonely: Hermes, tmp_path: Path) -> None:
    for name in ("a", "b"):
        write_plugin(tmp_path, name, HANDLE, keywords=WORDS)
    folder = write_plugin(tmp_path, "c", HANDLE)
    (folder / "manifest.json").write_text('{"name": "a", "intents": [{"name": "c", "keywords": ["c"]}]}')
    (tmp_path / "plugins" / "no plugin").mkdir()
    done = lonely("plugins", "check", "plugins")
    assert done.code == 1
    assert done.lines == [
        "ok: plugins/a: a 0.0.0: a",
        "ok: plugins/b: b 0.0.0: b",
        ("plugins/c/manifest.json:1: name: another folder has a plugin named a already; rename one"),
    ]
    assert lonely("plugins", "check", "plugins/b", "plugins/c", ".").code == 1


def test_a_folder_without_a_manifest_is_a_problem(lonely: Hermes, tmp_path: Path) -> None:
    (tmp_path / "空").mkdir()
    done = lonely("plugins", "check", "空", "nowhere")
    assert (done.code, done.lines) == (
        1,
        ["空/manifest.json: there is no such file", "nowhere/manifest.json: there is no such file"],
    )


def test_a_section_and_variables_are_checked_with_the_configuration_that_has_them(
    lonely: Hermes, tmp_path: Path
) -> None:
    furnish(tmp_path, {"plugins": {"tool": {"rows": "many"}}})
    schema = {"type": "object", "properties": {"rows": {"type": "integer"}}}
    write_plugin(tmp_path, "tool", HANDLE, config=schema, env=["HERMES_TEST_TOKEN"], keywords=WORDS)
    assert lonely("plugins", "check", "plugins/tool").code == 0
    done = lonely("plugins", "check", "plugins/tool", "-c", "hermes.yaml")
    assert done.code == 1
    assert sorted(begins(done.lines)) == [
        "hermes.yaml:1: plugins.tool.rows",
        "plugins/tool/manifest.json: env",
    ]
    done = lonely("plugins", "check", "plugins/tool", "-c", "hermes.yaml", HERMES_TEST_TOKEN="x")
    assert begins(done.lines) == ["hermes.yaml:1: plugins.tool.rows"]


def test_a_wrong_configuration_is_told_before_anything(lonely: Hermes, tmp_path: Path) -> None:
    write_plugin(tmp_path, "tool", HANDLE)
    (tmp_path / "hermes.yaml").write_text("router: {min_confidence: 3}\n")
    done = lonely("plugins", "check", "plugins/tool", "-c", "hermes.yaml")
    assert (done.code, done.out) == (1, "")
    assert "router.min_confidence" in done.err


def test_json_has_the_same_for_scripts(lonely: Hermes, tmp_path: Path) -> None:
    write_plugin(tmp_path, "good", HANDLE, keywords=WORDS)
    write_plugin(tmp_path, "late", HANDLE, timeout=-1)
    done = lonely("plugins", "check", "--json", "plugins")
    found = json.loads(done.out)
    assert (done.code, found["ok"]) == (1, False)
    good, late = found["plugins"]
    assert (good["name"], good["intents"], good["problems"], good["warnings"]) == ("good", ["good"], [], [])
    assert [(one["line"], one["key"]) for one in late["problems"]] == [(1, "timeout")]
    assert late["directory"] == "plugins/late"


def test_a_look_leaves_nothing_behind(lonely: Hermes, tmp_path: Path) -> None:
    furnish(tmp_path, plugins=[SAMPLES / "echo"])
    before = sorted(tmp_path.rglob("*"))
    assert lonely("plugins", "check", "plugins", "-c", "hermes.yaml").code == 0
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_has_to_be_named(lonely: Hermes) -> None:
    done = lonely("plugins", "check")
    assert (done.code, done.out) == (2, "")
