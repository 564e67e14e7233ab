"""One search of the log for a request_id shows a message's whole way, its events and the plugin's own lines included."""

from __future__ import annotations

from tests.support.daemon import Daemon


def test_the_five_events_and_the_plugins_lines_carry_the_request_id(daemon: Daemon) -> None:
    worked = daemon.send(intent="lab.log", payload={"name": "订单 7"})
    told = daemon.send(intent="lab.progress", payload={"lines": 1})
    failed = daemon.send(intent="lab.raise")
    daemon.line(event="TOOL_FAILED", request_id=failed["request_id"])
    assert _grep(daemon, worked["request_id"]) == [
        "TASK_RECEIVED",
        "TOOL_STARTED",
        "looked up 订单 7",
        "it was not quite there",
        "TOOL_SUCCEEDED",
    ]
    assert _grep(daemon, told["request_id"]) == [
        "TASK_RECEIVED",
        "TOOL_STARTED",
        "PROGRESS",
        "TOOL_SUCCEEDED",
    ]
    assert _grep(daemon, failed["request_id"])[-1] == "TOOL_FAILED"


def test_the_line_of_an_event_says_whose_it_is(daemon: Daemon) -> None:
    record = daemon.send("复述 日志", session_id="log-session")
    for event in ("TASK_RECEIVED", "TOOL_STARTED", "TOOL_SUCCEEDED"):
        line = daemon.line(event=event, request_id=record["request_id"])
        assert (line["session_id"], line["intent"]) == ("log-session", "echo")
        assert line["time"].endswith("Z")
    assert line["plugin"] == "echo"


def test_what_a_user_said_is_not_in_the_events_lines(daemon: Daemon) -> None:
    record = daemon.send("echo my password is swordfish-2041")
    daemon.line(event="TOOL_SUCCEEDED", request_id=record["request_id"])
    assert "swordfish-2041" not in (daemon.home / "log").read_text()


def _grep(daemon: Daemon, request_id: str) -> list[str]:
    found = [line for line in (daemon.home / "log").read_text().splitlines() if request_id in line]
    assert found
    return [
        line["text"] if line["event"] == "plugin_log" else line["event"]
        for line in daemon.lines(request_id=request_id)
    ]
