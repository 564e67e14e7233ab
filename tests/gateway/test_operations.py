"""Health, readiness, metrics, and plugins that are broken: each says why, and everything else goes on."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.support.daemon import Daemon, furnish, plugin_folder, start, write_plugin
from tests.support.waiting import until

GOOD = "async def handle(message, context):\n    return 1\n"
BROKEN: dict[str, tuple[str, dict[str, object]]] = {
    "absent": ("import math\n\nimport a_module_that_is_not_there\n", {}),
    "partial": ("from helper import nothing\n", {}),
    "lost": ("from pathlib import Path\nPath('no/such/file').resolve().read_text()\n", {}),
    "clumsy": ("import math\n\ndef handle(:\n", {}),
    "sync": ("def handle(message, context):\n    return 1\n", {}),
    "empty": ("", {}),
    "raising": ("import helper\n", {}),
    "leaving": ("import sys\nsys.exit('no')\n", {}),
    "dying": ("import os\nos._exit(9)\n", {}),
    "poor": (GOOD, {"env": ["HERMES_TEST_TOKEN", "HERMES_TEST_URL"]}),
    "odd": (GOOD, {"colour": "red"}),
    "vague": (GOOD, {"intents": [{"name": "vague", "parameters": {"type": "object", "required": 5}}]}),
    "zealous": (GOOD, {"intents": ["lab.process"]}),
    "elsewhere": (GOOD, {"entry": "other:handle"}),
    "later": (GOOD, {"runtime": "http"}),
    "weighty": (GOOD, {"keywords": {"w": 7}}),
}


@pytest.fixture(scope="module")
def troubled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    """A daemon with one plugin that works among many that do not."""
    home = furnish(tmp_path_factory.mktemp("troubled"), plugins=[plugin_folder("lab")])
    for name, (code, manifest) in BROKEN.items():
        write_plugin(home, name, code, **manifest)
    (home / "plugins" / "partial" / "helper.py").touch()
    (home / "plugins" / "raising" / "helper.py").write_text("#\n#\n#\nraise RuntimeError('坏了')\n")
    (write_plugin(home, "torn", GOOD) / "manifest.json").write_text('{"name": "torn",\n "intents": [}\n')
    (write_plugin(home, "bare", GOOD) / "manifest.json").unlink()
    (home / "plugins" / "a-file.txt").write_text("not a plugin")
    (home / "plugins" / ".hidden").mkdir()
    running = start(home)
    until(lambda: len(_failed(running)) == len(BROKEN) + 2)
    yield running
    running.stop()


def _failed(daemon: Daemon) -> list[str]:
    return [row["name"] for row in daemon.get("/v1/plugins").json["items"] if row["state"] == "failed"]


@pytest.mark.parametrize(
    ("name", "file", "line", "words"),
    [
        ("absent", "plugin.py", 3, "a_module_that_is_not_there"),
        ("partial", "plugin.py", 1, "cannot import name 'nothing' from 'helper' (helper.py)"),
        ("lost", "plugin.py", 2, "No such file or directory: 'file'"),
        ("clumsy", "plugin.py", 3, "SyntaxError"),
        ("sync", None, None, "async def handle"),
        ("empty", None, None, "has no function 'handle'"),
        ("raising", "helper.py", 4, "RuntimeError: 坏了"),
        ("leaving", "plugin.py", 2, "SystemExit: no"),
        ("dying", None, None, "exit code 9"),
        ("poor", "manifest.json", None, "HERMES_TEST_TOKEN, HERMES_TEST_URL"),
        ("odd", "manifest.json", 1, "colour"),
        ("vague", "manifest.json", 1, "JSON Schema"),
        ("zealous", None, None, "the intent lab.process belongs to the plugin lab already"),
        ("elsewhere", "manifest.json", 1, "there is no other.py"),
        ("later", "manifest.json", 1, "http: is required"),
        ("weighty", "manifest.json", 1, "must be at most 1"),
        ("torn", "manifest.json", 2, "is not valid JSON"),
        ("bare", "manifest.json", None, ""),
    ],
)
def test_a_broken_plugin_is_listed_with_its_reason_and_place(
    troubled: Daemon, name: str, file: str | None, line: int | None, words: str
) -> None:
    row = troubled.plugin(name)
    error = row["last_error"]
    assert row["state"] == "failed"
    assert row["workers"] == []
    assert words in error["message"]
    assert (error["file"] if file else None, error["line"] if line else None) == (file, line)
    assert error["at"] > 0
    assert str(troubled.home) not in error["message"]


def test_the_others_go_on(troubled: Daemon) -> None:
    assert troubled.plugin("lab")["state"] == "ready"
    assert troubled.plugin("lab")["last_error"] is None
    assert troubled.send(intent="lab.process")["status"] == "succeeded"
    assert sorted([*_failed(troubled), "lab"]) == sorted([*BROKEN, "torn", "bare", "lab"])


@pytest.mark.parametrize("name", ["absent", "clumsy", "sync", "empty", "raising", "leaving", "dying"])
def test_a_message_for_a_plugin_that_did_not_start_ends_unavailable(troubled: Daemon, name: str) -> None:
    error = troubled.send(intent=name)["envelope"]["error"]
    assert (error["code"], error["retryable"]) == ("plugin_unavailable", True)
    assert "\n" not in error["message"]
    assert str(troubled.home) not in error["message"]


@pytest.mark.parametrize("name", ["poor", "odd", "torn"])
def test_a_message_for_a_plugin_that_was_not_taken_in_finds_nobody(troubled: Daemon, name: str) -> None:
    assert troubled.send(intent=name)["envelope"]["error"]["code"] == "no_match"


def test_a_refusal_is_logged_with_file_and_line(troubled: Daemon) -> None:
    line = troubled.line(event="plugin_refused", plugin="torn", level="error")
    assert re.search(r"torn/manifest\.json:2: is not valid JSON", line["problems"][0])
    started = troubled.line(event="plugin_not_started", plugin="absent", level="error")
    assert (started["file"], started["line"]) == ("plugin.py", 3)


def test_readiness_is_degraded_and_says_by_whom(troubled: Daemon) -> None:
    answer = troubled.get("/readyz")
    assert (answer.status, answer.json["status"]) == (200, "degraded")
    assert sorted(answer.json["reasons"]) == sorted(f"plugin {name} failed" for name in _failed(troubled))


def test_readiness_is_ok_if_all_is_well(daemon: Daemon) -> None:
    answer = daemon.get("/readyz")
    assert (answer.status, answer.json) == (200, {"status": "ok", "reasons": []})


def test_one_plugin_can_be_asked_for(daemon: Daemon) -> None:
    assert daemon.get("/v1/plugins/echo").json["name"] == "echo"


def test_a_row_has_all_members(daemon: Daemon) -> None:
    rows = daemon.get("/v1/plugins").json["items"]
    members = "name version hash state runtime intents loaded_at last_error breaker workers queue_depth calls failures"
    assert all(set(row) == {*members.split(), "p50_ms", "p95_ms", "reloads"} for row in rows)
    assert [row["name"] for row in rows] == sorted(row["name"] for row in rows)


def test_metrics_have_their_names_and_count(daemon: Daemon) -> None:
    def messages() -> float:
        text = daemon.get("/metrics").body.decode()
        found = re.search(
            r'^hermes_messages_total\{outcome="no_match",source="im"\} ([\d.]+)$', text, re.MULTILINE
        )
        return float(found[1]) if found else 0.0

    before = messages()
    daemon.send("没有人懂这句话", source="im")
    assert messages() == before + 1
    answer = daemon.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    text = answer.body.decode()
    for name in (
        'hermes_stage_seconds_count{stage="accept"}',
        'hermes_queue_depth{plugin="echo"} 0.0',
        "hermes_sse_subscribers",
        "hermes_journal_commit_seconds_count",
        "# TYPE hermes_worker_restarts_total counter",
        "# TYPE hermes_sse_dropped_total counter",
    ):
        assert name in text
