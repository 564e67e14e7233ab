"""`hermes plugins reload|disable|enable`: what becomes of a plugin is told in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.command import Hermes
from tests.cli.scripted import Scripted
from tests.conftest import StartDaemon
from tests.support.daemon import Daemon, furnish, write_plugin
from tests.support.waiting import until

GOOD = "async def handle(message, context):\n    return {number}\n"


@pytest.fixture
def daemon(start_daemon: StartDaemon, tmp_path: Path) -> Daemon:
    """A daemon that does not notice by itself what changes, with one plugin."""
    furnish(tmp_path, {"reload": {"watch": "off"}})
    write_plugin(tmp_path, "tool", GOOD.format(number=1), version="1.0.0")
    daemon = start_daemon({"reload": {"watch": "off"}})
    until(lambda: daemon.plugin("tool")["state"] == "ready")
    return daemon


@pytest.fixture
def hermes(tmp_path: Path, daemon: Daemon) -> Hermes:
    """The command, calling that daemon."""
    return Hermes(tmp_path, HERMES_URL=daemon.url)


def test_a_reload_says_which_version_serves_then(hermes: Hermes, daemon: Daemon, tmp_path: Path) -> None:
    before = daemon.plugin("tool")["hash"]
    (tmp_path / "plugins" / "tool" / "plugin.py").write_text(GOOD.format(number=2))
    done = hermes("plugins", "reload", "tool")
    row = daemon.plugin("tool")
    assert row["hash"] != before
    assert (done.code, done.lines) == (0, [f"tool 1.0.0 ({row['hash']}) serves, ready"])
    assert daemon.send(intent="tool")["envelope"]["data"] == 2


def test_a_reload_that_fails_says_why_and_what_serves_on(
    hermes: Hermes, daemon: Daemon, tmp_path: Path
) -> None:
    (tmp_path / "plugins" / "tool" / "plugin.py").write_text("import os\nasync def handle(m, c)\n")
    done = hermes("plugins", "reload", "tool")
    assert (done.code, done.out) == (1, "")
    (line,) = done.err.splitlines()
    assert line.startswith("Error: conflict: plugin.py:2: SyntaxError: expected ':'")
    assert f"1.0.0 ({daemon.plugin('tool')['hash']}) serves on" in line


def test_a_plugin_is_disabled_and_enabled(hermes: Hermes, daemon: Daemon) -> None:
    done = hermes("plugins", "disable", "tool")
    assert (done.code, done.lines) == (
        0,
        ["tool is disabled and takes no calls; hermes plugins enable tool lets it"],
    )
    assert daemon.plugin("tool")["state"] == "disabled"
    done = hermes("plugins", "enable", "tool", "--json")
    assert (done.code, json.loads(done.out)["state"]) == (0, "ready")


def test_what_cannot_be_kept_in_the_state_folder_is_a_problem_and_not_done(
    hermes: Hermes, daemon: Daemon
) -> None:
    (daemon.state_dir / "disabled").write_text("a file where a folder is to be")
    done = hermes("plugins", "disable", "tool")
    assert (done.code, done.out) == (1, "")
    assert "unavailable: tool stays as it is: " in done.err
    assert "disabled cannot be written" in done.err
    assert daemon.plugin("tool")["state"] == "ready"


@pytest.mark.parametrize("verb", ["reload", "disable", "enable"])
def test_a_plugin_that_is_not_there_is_named(hermes: Hermes, verb: str) -> None:
    done = hermes("plugins", verb, "工具")
    assert (done.code, done.out) == (1, "")
    assert done.err == "Error: not_found: there is no plugin '工具'\n"


def test_a_name_goes_out_as_one_part_of_the_path(lonely: Hermes, scripted: Scripted) -> None:
    scripted.say_json({"name": "a/b ?", "state": "failed", "version": None, "hash": None})
    done = lonely("plugins", "reload", "a/b ?", HERMES_URL=scripted.start())
    assert (done.code, done.lines) == (0, ["a/b ? is failed"])
    (asked,) = scripted.asked
    assert (asked.method, asked.path, asked.body) == ("POST", "/v1/plugins/a%2Fb%20%3F/reload", None)
