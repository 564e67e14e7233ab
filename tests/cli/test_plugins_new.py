"""`hermes plugins new`: what it makes works at once, whatever the name and however it is run."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hermes.cli.address import DEFAULT_URL
from hermes.cli.inspection import check_keyword
from hermes.cli.plugins.examples import lost_examples
from hermes.cli.plugins.scaffold import kinds, scaffold
from hermes.entries import entries_of
from hermes.host.files.fingerprint import content_hash
from hermes.host.manifests.inspection import Inspection
from hermes.host.manifests.manifest import load_manifest
from hermes.host.manifests.manifest_schema import manifest_schema
from hermes.routing.decision import Thresholds
from hermes.routing.router import Router
from tests.cli.command import Hermes
from tests.conftest import StartDaemon
from tests.support.daemon import furnish, write_plugin
from tests.support.samples import SAMPLES
from tests.support.waiting import until

KINDS = kinds()
FILES = {
    "executable": ["manifest.json", "run.sh", "test_tool.py"],
    "http": ["manifest.json", "test_tool.py"],
    "process": ["manifest.json", "test_tool.py", "worker.mjs"],
    "python": ["manifest.json", "plugin.py", "test_tool.py"],
}

every_kind = pytest.mark.parametrize("kind", KINDS)


def made(home: Path, name: str = "tool") -> dict[str, Any]:
    """Return the manifest of what was made."""
    manifest: dict[str, Any] = json.loads((home / "plugins" / name / "manifest.json").read_text("utf-8"))
    return manifest


def own_test(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a plugin's test as its author would, outside of this project and without what its tests have beside pytest."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "."]
    plain = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        command, cwd=folder, env=plain, capture_output=True, text=True, timeout=50, check=False
    )


def test_there_is_a_template_for_every_way_to_run_a_plugin() -> None:
    assert sorted(FILES) == KINDS


@every_kind
def test_what_is_made_has_no_problem_and_passes_its_own_test(
    lonely: Hermes, tmp_path: Path, kind: str
) -> None:
    done = lonely("plugins", "new", "tool", "--runtime", kind)
    assert (done.code, done.err) == (0, "")
    assert done.lines[0] == f"made plugins/tool: {', '.join(FILES[kind])}"
    assert sorted(path.name for path in (tmp_path / "plugins" / "tool").iterdir()) == FILES[kind]
    checked = lonely("plugins", "check", "plugins/tool")
    assert (checked.code, len(checked.lines)) == (0, 1), checked.out
    tested = own_test(tmp_path / "plugins" / "tool")
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert " passed" in tested.stdout
    assert "skipped" not in tested.stdout


@every_kind
@pytest.mark.parametrize("name", ["greet", "say-hello", "where-does", "7", "a_b--c_", "x" * 64])
def test_the_examples_lead_to_it_whatever_its_name(tmp_path: Path, kind: str, name: str) -> None:
    scaffold(name, tmp_path, kind=kind, url=DEFAULT_URL)
    look = Inspection(check_keyword).look(tmp_path / name)
    assert look.problems == ()
    assert look.manifest is not None
    assert look.manifest.intents[0].examples
    assert list(lost_examples(look.manifest, look.document)) == []


@every_kind
@pytest.mark.parametrize("name", ["hello", "greet", "my-tool"])
def test_its_examples_arrive_also_where_the_samples_are(tmp_path: Path, kind: str, name: str) -> None:
    scaffold(name, tmp_path, kind=kind, url=DEFAULT_URL)
    mine = load_manifest(tmp_path / name)
    manifests = (mine, *map(load_manifest, SAMPLES.values()))
    entries = [entry for one in manifests for entry in entries_of(one)]
    router = Router(("prefix", "keyword"), Thresholds(), entries=entries)
    for text in mine.intents[0].examples:
        decision = router.route(text).decision
        assert (decision.outcome, decision.intent, decision.warning) == (
            "dispatch",
            mine.intents[0].name,
            None,
        )


def test_the_tests_of_several_run_together(lonely: Hermes, tmp_path: Path) -> None:
    for name in ("one", "an-other"):
        assert lonely("plugins", "new", name).code == 0
    tested = own_test(tmp_path)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    assert "6 passed" in tested.stdout


def test_what_asks_the_daemon_asks_the_one_of_this_folder(lonely: Hermes, tmp_path: Path) -> None:
    (tmp_path / "hermes.yaml").write_text("hermes: {bind: 0.0.0.0:18200}\n")
    done = lonely("plugins", "new", "tool", "--runtime", "http")
    assert made(tmp_path)["http"]["url"] == "http://127.0.0.1:18200/v1/route"
    assert done.lines[-1] == (
        "It asks the daemon at http://127.0.0.1:18200; url in manifest.json is where to change that."
    )


@every_kind
def test_it_is_found_in_chinese_and_in_english_and_says_so_in_both(
    lonely: Hermes, tmp_path: Path, kind: str
) -> None:
    lonely("plugins", "new", "disk-check", "--runtime", kind)
    manifest = made(tmp_path, "disk-check")
    (intent,) = manifest["intents"]
    assert (manifest["name"], manifest["runtime"]) == ("disk-check", kind)
    assert intent["name"].startswith("disk-check.")
    for texts in (intent["keywords"], intent["examples"]):
        assert any(text.isascii() for text in texts)
        assert any(not text.isascii() for text in texts)
    assert set(intent["ack"]) == {"zh", "en"}
    files = list((tmp_path / "plugins" / "disk-check").iterdir())
    assert {file.name for file in files} >= {"manifest.json", "test_disk_check.py"}
    for file in files:
        assert "{{" not in file.read_text("utf-8")


def test_the_schema_that_an_editor_needs_lies_where_the_manifest_says(lonely: Hermes, tmp_path: Path) -> None:
    line = "made plugins/manifest.schema.json, by which editors complete and check manifests"
    assert line in lonely("plugins", "new", "tool").lines
    assert line not in lonely("plugins", "new", "other").lines
    schema = tmp_path / "plugins" / "tool" / made(tmp_path)["$schema"]
    assert json.loads(schema.read_text("utf-8")) == manifest_schema()
    assert load_manifest(tmp_path / "plugins" / "tool").name == "tool"


def test_an_old_schema_is_made_anew_and_one_of_somebody_elses_is_left(lonely: Hermes, tmp_path: Path) -> None:
    lonely("plugins", "new", "a")
    schema = tmp_path / "plugins" / "manifest.schema.json"
    old = json.loads(schema.read_text("utf-8"))
    old["properties"].pop("name")
    schema.write_text(json.dumps(old), encoding="utf-8")
    assert lonely("plugins", "new", "b").code == 0
    assert json.loads(schema.read_text("utf-8")) == manifest_schema()
    for own in ('{"title": "ours"}', "not JSON"):
        schema.write_text(own)
        assert lonely("plugins", "new", "c" if own[0] == "{" else "d").code == 0
        assert schema.read_text() == own


def test_scripts_can_be_run_and_others_can_read_everything(lonely: Hermes, tmp_path: Path) -> None:
    lonely("plugins", "new", "tool", "--runtime", "executable")
    folder = tmp_path / "plugins" / "tool"
    assert os.access(folder / "run.sh", os.X_OK)
    assert not os.access(folder / "manifest.json", os.X_OK)
    assert stat.S_IMODE(folder.stat().st_mode) & 0o055 == 0o055


def test_it_goes_where_the_configuration_has_its_plugins_or_where_it_is_told_to(
    lonely: Hermes, tmp_path: Path
) -> None:
    (tmp_path / "hermes.yaml").write_text("hermes: {plugins_dir: ./工具}\n", encoding="utf-8")
    assert lonely("plugins", "new", "tool").lines[0].startswith("made 工具/tool: ")
    assert (
        lonely("plugins", "new", "tool", "--dir", "else where/deep")
        .lines[0]
        .startswith("made else where/deep/tool: ")
    )
    assert (tmp_path / "else where" / "deep" / "tool" / "plugin.py").exists()


@pytest.mark.parametrize("name", ["Tool", "a b", "../up", "-x", "工具", "", "a/b", "x" * 65, "a\n"])
def test_a_name_that_no_plugin_may_have_is_refused(lonely: Hermes, tmp_path: Path, name: str) -> None:
    done = lonely("plugins", "new", "--", name)
    assert (done.code, done.out) == (2, "")
    assert "a name has 1 to 64 characters of a-z 0-9 - _ and begins with a letter or digit" in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_left_as_it_is(lonely: Hermes, tmp_path: Path) -> None:
    furnish(tmp_path)
    (tmp_path / "plugins" / "tool").mkdir()
    (tmp_path / "plugins" / "gone").symlink_to(tmp_path / "nowhere")
    for name in ("tool", "gone"):
        done = lonely("plugins", "new", name)
        assert (done.code, done.out) == (1, "")
        assert done.err == f"Error: plugins/{name} is there already; choose another name\n"
    assert sorted(path.name for path in (tmp_path / "plugins").rglob("*")) == ["gone", "tool"]


def test_a_name_that_another_folders_plugin_has_is_refused(lonely: Hermes, tmp_path: Path) -> None:
    (write_plugin(tmp_path, "other") / "manifest.json").write_text('{"name": "tool"')
    assert lonely("plugins", "new", "mine").code == 0
    (tmp_path / "plugins" / "other" / "manifest.json").write_text('{"name": "tool"}')
    done = lonely("plugins", "new", "tool")
    assert (done.code, done.err) == (
        1,
        "Error: plugins/other has a plugin named tool already; choose another name\n",
    )


def test_a_place_that_cannot_be_is_told_in_one_line(lonely: Hermes, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = lonely("plugins", "new", "tool", "--dir", "file/below")
    assert (done.code, done.out) == (1, "")
    assert done.err == "Error: file/below cannot be written: Not a directory\n"


def test_an_unknown_way_to_run_is_refused_with_the_known_ones(lonely: Hermes) -> None:
    done = lonely("plugins", "new", "tool", "--runtime", "cobol")
    assert done.code == 2
    assert "'executable', 'http', 'process', 'python'" in done.err


@every_kind
def test_a_running_daemon_takes_it_in_and_answers_in_the_language_of_the_question(
    start_daemon: StartDaemon, tmp_path: Path, kind: str
) -> None:
    daemon = start_daemon()
    hermes = Hermes(tmp_path, HERMES_URL=daemon.url)
    assert hermes("plugins", "new", "tool", "--runtime", kind).code == 0
    file = tmp_path / "plugins" / "tool" / "manifest.json"
    # The template asks the daemon at its usual address.
    file.write_text(file.read_text("utf-8").replace("http://127.0.0.1:8080", daemon.url), encoding="utf-8")
    whole = content_hash(file.parent)
    until(lambda: [row for row in daemon.get("/v1/plugins").json["items"] if row["hash"] == whole])
    english, chinese = made(tmp_path)["intents"][0]["examples"]
    if kind == "http":
        for text in (english, chinese):
            assert daemon.send(text)["envelope"]["data"]["outcome"] == "no_match"
        return
    assert daemon.send(english)["envelope"]["data"] == {"greeting": "Hello, Ada"}
    assert daemon.send(chinese)["envelope"]["data"] == {"greeting": "你好，小明"}
