"""A tool that does not answer in time is stopped; its caller hears so at once, and the next call works."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import StartDaemon
from tests.support.daemon import Daemon, write_plugin
from tests.support.waiting import until


@pytest.mark.parametrize(
    ("sentence", "message"),
    [("卡住了", "该工具执行超时（0.3 秒）"), ("it is stuck", "The tool timed out after 0.3 s")],
)
def test_a_timeout_is_told_in_the_language_of_the_request(
    daemon: Daemon, sentence: str, message: str
) -> None:
    record = daemon.send(intent="stuck.sleep", payload={"text": sentence})
    assert record["status"] == "failed"
    assert record["envelope"]["error"] == {"code": "plugin_timeout", "message": message, "retryable": True}
    assert record["attempts"] == 1


def test_a_handler_that_lets_go_keeps_its_process(daemon: Daemon) -> None:
    before = daemon.send(intent="stuck.not")["envelope"]["data"]["pid"]
    assert daemon.send(intent="stuck.sleep")["envelope"]["error"]["code"] == "plugin_timeout"
    assert daemon.send(intent="stuck.not")["envelope"]["data"]["pid"] == before


def test_a_handler_that_blocks_is_ended_with_its_process_and_the_next_call_works(daemon: Daemon) -> None:
    before = daemon.send(intent="stuck.not")["envelope"]["data"]["pid"]
    assert daemon.send(intent="stuck.block")["envelope"]["error"]["code"] == "plugin_timeout"
    after = daemon.send(intent="stuck.not")
    assert after["status"] == "succeeded"
    assert after["envelope"]["data"]["pid"] != before
    daemon.line(event="worker_exited", pid=before)


def test_meanwhile_the_other_plugins_go_on(daemon: Daemon) -> None:
    stuck = daemon.accept(intent="stuck.block")
    assert daemon.send("echo still here")["status"] == "succeeded"
    assert daemon.story(stuck)[-1].data["envelope"]["error"]["code"] == "plugin_timeout"


def test_the_operator_sets_the_time_for_plugins_that_set_none(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    code = "import asyncio\nasync def handle(message, context):\n    await asyncio.sleep(60)\n"
    write_plugin(tmp_path, "slow", code)
    write_plugin(tmp_path, "slower", code, timeout=0.4)
    daemon = start_daemon({"hermes": {"default_timeout": 0.2}})
    messages = [daemon.send(intent=name)["envelope"]["error"]["message"] for name in ("slow", "slower")]
    assert messages == ["The tool timed out after 0.2 s", "The tool timed out after 0.4 s"]


def test_a_call_that_waits_too_long_for_its_turn_never_runs(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    gate = {"gate": str(tmp_path / "gate")}
    daemon = start_daemon({"limits": {"queue_wait": 0.2}}, plugins=["gate"])
    until(lambda: daemon.plugin("gate")["workers"])  # its start may take longer than a call waits
    first = [daemon.accept(intent="gate.read", payload=gate) for _ in range(64)]
    until(lambda: all(daemon.runs(one) for one in first))
    late = daemon.send(intent="gate.write", payload=gate)
    (tmp_path / "gate").touch()
    assert (late["envelope"]["error"]["code"], late["envelope"]["warning"]) == ("plugin_unavailable", None)
    assert (late["attempts"], daemon.runs(late["request_id"])) == (0, 0)
    assert {daemon.story(one)[-1].event for one in first} == {"TOOL_SUCCEEDED"}
