"""A plugin that is edited is served as it was saved; one that is broken goes on as it was before that."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import StartDaemon
from tests.support.saving import (
    PATIENT,
    answer,
    make,
    nth_reload,
    save_by_truncating,
    save_in_pieces,
    save_like_sed,
    save_like_vim,
    says,
)
from tests.support.waiting import until

SLOW_SWEEP = {"reload": {"sweep": 0.3, "watch": "auto"}}


@pytest.mark.parametrize("save", [save_like_vim, save_like_sed, save_by_truncating, save_in_pieces])
def test_a_save_of_any_editor_is_one_reload_and_the_next_call_has_the_new_code(
    start_daemon: StartDaemon, tmp_path: Path, save: Callable[[Path, str], None]
) -> None:
    folder = make(tmp_path)
    daemon = start_daemon(PATIENT)
    assert answer(daemon) == "one"
    for count, word in enumerate(("two", "six"), 1):  # of one size
        save(folder / "plugin.py", says(word))
        line = nth_reload(daemon, count)
        assert answer(daemon) == word
        row = daemon.plugin("p")
        assert (row["reloads"], row["hash"], row["last_error"]) == (count, line["hash"], None)


def test_a_broken_save_is_told_with_its_place_and_the_old_code_goes_on_until_it_is_mended(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    folder = make(tmp_path)
    daemon = start_daemon(PATIENT)
    serving = daemon.plugin("p")["hash"]
    (folder / "plugin.py").write_text("async def handle(message, context):\n    return (\n")
    row = until(lambda: (row := daemon.plugin("p"))["last_error"] and row)
    assert (row["state"], row["hash"], row["reloads"]) == ("ready", serving, 0)
    assert (row["last_error"]["file"], row["last_error"]["line"]) == ("plugin.py", 2)
    assert answer(daemon) == "one"
    refused = daemon.post("/v1/plugins/p/reload", None)
    assert refused.problem == (409, "conflict")
    detail = refused.json["detail"]
    assert "plugin.py:2" in detail
    assert f"version 0.0.0 ({serving}) serves on" in detail
    (folder / "plugin.py").write_text(says("mended"))
    until(lambda: daemon.plugin("p")["reloads"] == 1)
    assert answer(daemon) == "mended"
    assert daemon.plugin("p")["last_error"] is None


def test_a_folder_that_is_dropped_in_works_and_one_that_is_taken_away_does_not(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    (tmp_path / "plugins").mkdir()
    daemon = start_daemon(PATIENT)
    ready = make(tmp_path / "elsewhere")
    shutil.copytree(ready, tmp_path / "plugins" / "p")
    until(lambda: [row["name"] for row in daemon.get("/v1/plugins").json["items"]] == ["p"])
    assert answer(daemon) == "one"
    shutil.rmtree(tmp_path / "plugins" / "p")
    until(lambda: daemon.get("/v1/plugins").json["items"] == [])
    assert daemon.send(intent="p")["envelope"]["error"]["code"] == "no_match"
    assert daemon.line(event="plugin_removed")["plugin"] == "p"


def test_a_config_map_that_swaps_its_data_link_is_noticed(start_daemon: StartDaemon, tmp_path: Path) -> None:
    ready = make(tmp_path / "elsewhere")
    folder = tmp_path / "plugins" / "p"
    shutil.copytree(ready, folder / "..2026_11_01")
    (folder / "..data").symlink_to("..2026_11_01")
    for name in ("manifest.json", "plugin.py"):
        (folder / name).symlink_to(f"..data/{name}")
    daemon = start_daemon(PATIENT)
    assert answer(daemon) == "one"
    shutil.copytree(ready, folder / "..2026_11_02")
    (folder / "..2026_11_02" / "plugin.py").write_text(says("two"))
    (folder / "..data_tmp").symlink_to("..2026_11_02")
    (folder / "..data_tmp").replace(folder / "..data")
    shutil.rmtree(folder / "..2026_11_01")
    until(lambda: daemon.plugin("p")["reloads"] == 1)
    assert answer(daemon) == "two"


def test_git_switching_between_branches_is_one_reload_each(start_daemon: StartDaemon, tmp_path: Path) -> None:
    folder = make(tmp_path)

    def git(*words: str) -> None:
        options = ("-c", "user.name=t", "-c", "user.email=t@localhost")
        subprocess.run(["git", *options, *words], cwd=tmp_path / "plugins", check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-qm", "one")
    git("checkout", "-qb", "other")
    (folder / "plugin.py").write_text("import helper\n" + says("two").replace("'two'", "helper.WORD"))
    (folder / "helper.py").write_text("WORD = 'two'\n")
    git("add", ".")
    git("commit", "-qm", "two")
    git("checkout", "-q", "main")
    daemon = start_daemon(PATIENT)
    assert answer(daemon) == "one"
    for count, (branch, word) in enumerate((("other", "two"), ("main", "one"), ("other", "two")), 1):
        git("checkout", "-q", branch)
        nth_reload(daemon, count)
        assert answer(daemon) == word
    assert [row["name"] for row in daemon.get("/v1/plugins").json["items"]] == ["p"]


def test_plugins_that_swap_their_intents_in_one_save_are_one_reload_each_and_nobody_is_turned_away(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    folders = {name: make(tmp_path, name, name) for name in "pq"}
    daemon = start_daemon(PATIENT)
    assert [answer(daemon, name) for name in "pq"] == ["p", "q"]
    for name, other in ("pq", "qp"):
        (folders[name] / "manifest.json").write_text(json.dumps({"name": name, "intents": [other]}))
    until(lambda: [answer(daemon, name) for name in "pq"] == ["q", "p"])
    rows = {name: daemon.plugin(name) for name in "pq"}
    assert [(row["reloads"], row["last_error"]) for row in rows.values()] == [(1, None)] * 2


def test_without_events_the_sweep_finds_the_change(start_daemon: StartDaemon, tmp_path: Path) -> None:
    """A folder behind a link to a place that is replaced gives no event that could be heard."""
    real = make(tmp_path / "real")
    (tmp_path / "plugins").mkdir()
    (tmp_path / "plugins" / "p").symlink_to(tmp_path / "current")
    (tmp_path / "current").symlink_to(real)
    daemon = start_daemon(SLOW_SWEEP)
    assert answer(daemon) == "one"
    other = make(tmp_path / "other", word="two")
    (tmp_path / "next").symlink_to(other)
    (tmp_path / "next").replace(tmp_path / "current")
    until(lambda: daemon.plugin("p")["reloads"] == 1)
    assert answer(daemon) == "two"


def test_polling_can_be_asked_for_and_says_so(start_daemon: StartDaemon, tmp_path: Path) -> None:
    folder = make(tmp_path)
    daemon = start_daemon({"reload": {"watch": "polling", "sweep": 3600}})
    assert daemon.line(event="watching")["mode"] == "polling"
    (folder / "plugin.py").write_text(says("two"))
    until(lambda: daemon.plugin("p")["reloads"] == 1)
    assert answer(daemon) == "two"


def test_a_change_of_its_section_in_the_configuration_replaces_a_plugin(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    folder = make(tmp_path)
    schema = {"type": "object", "properties": {"word": {"type": "string"}}}
    manifest = {"name": "p", "intents": ["p"], "config": schema}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    (folder / "plugin.py").write_text(
        "async def handle(message, context):\n    return context['config']['word']\n"
    )
    daemon = start_daemon({"plugins": {"p": {"word": "one"}}, **PATIENT})
    assert answer(daemon) == "one"
    file = tmp_path / "hermes.yaml"
    before = file.read_text()
    file.write_text(before.replace("one", "two"))
    until(lambda: daemon.plugin("p")["reloads"] == 1)
    assert answer(daemon) == "two"
    file.write_text(before + "\nnonsense: [\n")
    assert "hermes.yaml" in daemon.line(event="config_refused")["problems"][0]
    assert answer(daemon) == "two"


def test_an_admin_can_disable_a_plugin_over_restarts_and_enable_it(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    make(tmp_path)
    daemon = start_daemon(PATIENT)
    answered = daemon.post("/v1/plugins/p/disable", None)
    assert (answered.status, answered.json["state"]) == (200, "disabled")
    error = daemon.send(intent="p")["envelope"]["error"]
    assert error["code"] == "plugin_unavailable"
    daemon.stop()
    daemon = start_daemon()
    assert daemon.plugin("p")["state"] == "disabled"
    answered = daemon.post("/v1/plugins/p/enable", None)
    assert (answered.status, answered.json["state"]) == (200, "ready")
    assert answer(daemon) == "one"
    assert daemon.post("/v1/plugins/nobody/reload", None).problem == (404, "not_found")


def test_a_hangup_signal_has_everything_looked_at(start_daemon: StartDaemon, tmp_path: Path) -> None:
    folder = make(tmp_path)
    daemon = start_daemon({"reload": {"watch": "off", "sweep": 3600}})
    (folder / "plugin.py").write_text(says("two"))
    daemon.process.send_signal(signal.SIGHUP)
    nth_reload(daemon, 1)
    assert answer(daemon) == "two"
