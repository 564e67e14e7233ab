"""One ticket for a message, whatever dies or is slow: the tool, Hermes, or the system behind the tool."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import StartDaemon
from tests.support.daemon import SAMPLES, Daemon
from tests.support.jira import TOKEN, FakeJira
from tests.support.waiting import until

TIMEOUT = 1  # second
ORDER: dict[str, Any] = {"text": "给 OPS 建个工单：磁盘满了", "approve": True}

Start = Callable[[], Daemon]


@pytest.fixture
def start(start_daemon: StartDaemon, jira: FakeJira, tmp_path: Path) -> Start:
    """Start a daemon with ticket-create, whose calls may take a second; and again on the same folder."""
    folder = tmp_path / "plugins" / "ticket-create"
    shutil.copytree(SAMPLES / "ticket-create", folder, ignore=shutil.ignore_patterns("__pycache__"))
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(json.dumps(manifest | {"timeout": TIMEOUT}))
    plugin = {"base_url": jira.url, "token": TOKEN}
    return lambda: start_daemon({"plugins": {"ticket-create": plugin}})


def again(daemon: Daemon, record: dict[str, Any]) -> dict[str, Any]:
    """Try a message again and return the envelope of that."""
    envelope: dict[str, Any] = daemon.send(retry_of=record["request_id"], approve=True)["envelope"]
    return envelope


def tickets(jira: FakeJira) -> list[tuple[str, str]]:
    return [(issue["key"], issue["fields"]["summary"]) for issue in jira.issues]


@pytest.mark.parametrize("seconds", [TIMEOUT + 0.6, 60], ids=["within the grace", "never"])
def test_a_ticket_whose_answer_comes_after_the_time_out_is_found_by_the_retry(
    start: Start, jira: FakeJira, seconds: float
) -> None:
    daemon = start()
    jira.start_day(answer_after=seconds)
    late = daemon.send(request_id="order-1", **ORDER)
    assert late["envelope"]["error"]["code"] == "plugin_timeout"
    assert late["envelope"]["error"]["message"] == "该工具执行超时（1 秒）"
    assert late["envelope"]["warning"] == "该操作可能已经生效。"
    with ThreadPoolExecutor(3) as hands:
        same = list(hands.map(lambda _: daemon.send(request_id="order-1", **ORDER), range(3)))
    assert same == [late] * 3, "the same id runs nothing"
    envelope = again(daemon, late)
    assert (envelope["error"], envelope["data"]["key"]) == (None, "OPS-1")
    assert tickets(jira) == [("OPS-1", "磁盘满了")]
    asked = [request["method"] for request in jira.seen]
    assert asked == (["POST"] if seconds < 60 else ["POST", "GET"])


def test_a_ticket_that_was_being_created_when_hermes_was_killed_is_found_by_the_retry(
    start: Start, jira: FakeJira
) -> None:
    daemon = start()
    jira.start_day(answer_after=60)
    request_id = daemon.accept(**ORDER)
    until(lambda: jira.issues)
    daemon.kill()
    daemon = start()
    end = daemon.story(request_id)[-1].data["envelope"]
    assert (end["error"]["code"], end["warning"]) == ("interrupted", "该操作可能已经生效。")
    first = again(daemon, daemon.record(request_id))
    assert (first["error"], first["data"]["key"]) == (None, "OPS-1")
    assert again(daemon, daemon.record(request_id))["data"] == first["data"]
    assert tickets(jira) == [("OPS-1", "磁盘满了")]
    assert [request["method"] for request in jira.seen] == ["POST", "GET"], (
        "the result is kept, not looked up again"
    )


def test_a_ticket_that_jira_refused_can_be_tried_again_and_is_created_once(
    start: Start, jira: FakeJira
) -> None:
    daemon = start()
    jira.start_day(status=429, creates=False)
    refused = daemon.send(**ORDER)
    assert refused["envelope"]["error"]["code"] == "upstream_unavailable"
    jira.start_day()
    assert [again(daemon, refused)["data"]["key"] for _ in range(2)] == ["OPS-1", "OPS-1"]
    assert len(jira.issues) == 1
