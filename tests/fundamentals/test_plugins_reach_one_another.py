"""A plugin asks another one by a message of its own, which everybody can see, and which a kill does not double."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import StartDaemon
from tests.support.daemon import Daemon, write_plugin
from tests.support.waiting import until

REPORT = """
async def handle(message, context):
    await context["progress"]("先建工单 / a ticket first")
    ticket = await context["send"]("ticket.open", message["payload"])
    if ticket["error"] is not None:
        return ticket
    notice = await context["send"]("ticket.tell", {"ticket": ticket["data"]})
    return {"ticket": ticket["data"], "told": notice["data"]}
"""
TICKET = """
import asyncio
from pathlib import Path

async def handle(message, context):
    data = Path(context["data_dir"])
    if message["intent"] == "ticket.tell":
        return [message["payload"]["ticket"], context["locale"]]
    with (data / "opened").open("a") as opened:
        opened.write(message["request_id"] + "\\n")
    while not Path(message["payload"]["gate"]).exists():
        await asyncio.sleep(0.01)
    return "OPS-" + message["payload"]["title"]
"""


def opened(daemon: Daemon) -> list[str]:
    """Return the request_ids of the messages that have opened a ticket, once for each time."""
    file = daemon.state_dir / "plugins" / "ticket" / "opened"
    return file.read_text().split() if file.exists() else []


@pytest.fixture
def gate(tmp_path: Path) -> Path:
    """The file that tickets wait for, and the plugins of this story."""
    intents = [{"name": "ticket.open", "writes": True, "confirm": False}, {"name": "ticket.tell"}]
    write_plugin(tmp_path, "report", REPORT)
    write_plugin(tmp_path, "ticket", TICKET, intents=intents)
    return tmp_path / "gate"


def order(gate: Path) -> dict[str, Any]:
    return {"intent": "report", "session_id": "s1", "payload": {"title": "磁盘", "gate": str(gate)}}


def test_a_plugin_is_answered_by_another_and_everybody_can_see_how(
    start_daemon: StartDaemon, gate: Path
) -> None:
    daemon = start_daemon()
    gate.touch()
    with daemon.stream("/v1/events?session_id=s1") as stream:
        record = daemon.send(request_id="r1", **order(gate))
        told = [(frame.data["request_id"], frame.event) for frame in stream.until("TOOL_SUCCEEDED")]
    assert record["envelope"]["data"] == {"ticket": "OPS-磁盘", "told": ["OPS-磁盘", "zh"]}
    assert [request_id for request_id, event in told if event == "TASK_RECEIVED"] == ["r1", "r1.1"]
    items = daemon.get("/v1/messages?session_id=s1").json["items"]
    assert [(one["request_id"], one["parent"], one["message"]["source"]) for one in items] == [
        ("r1.2", "r1", "agent"),
        ("r1.1", "r1", "agent"),
        ("r1", None, "api"),
    ]
    assert [frame.event for frame in daemon.story("r1.1")] == [
        "TASK_RECEIVED",
        "TOOL_STARTED",
        "TOOL_SUCCEEDED",
    ]
    assert daemon.lines(event="TOOL_STARTED", request_id="r1.2", plugin="ticket") != []


def test_what_a_plugin_had_sent_when_hermes_was_killed_is_not_run_twice(
    start_daemon: StartDaemon, gate: Path
) -> None:
    daemon = start_daemon()
    daemon.accept(request_id="r1", **order(gate))
    until(lambda: opened(daemon))
    daemon.kill()
    daemon = start_daemon()
    assert daemon.story("r1")[-1].event == "TOOL_FAILED"
    record = daemon.record("r1")
    error = record["envelope"]["error"]
    assert (error["code"], record["attempts"]) == ("interrupted", 2), (
        "its own second attempt found what the first had sent"
    )
    assert record["envelope"]["warning"] == "该操作可能已经生效。"
    assert (opened(daemon), daemon.record("r1.1")["envelope"]["error"]) == (["r1.1"], error)
    assert daemon.get("/v1/messages/r1.2").status == 404


def test_what_runs_while_hermes_stops_is_still_answered_by_others(
    start_daemon: StartDaemon, gate: Path
) -> None:
    daemon = start_daemon()
    daemon.accept(request_id="r1", **order(gate))
    until(lambda: opened(daemon))
    daemon.process.send_signal(signal.SIGTERM)
    daemon.line(event="stopping")
    gate.touch()
    assert daemon.process.wait(20) == 0
    daemon = start_daemon()
    record = daemon.record("r1")
    assert (record["envelope"]["data"]["ticket"], record["attempts"]) == ("OPS-磁盘", 1)
    assert daemon.record("r1.2")["status"] == "succeeded"
