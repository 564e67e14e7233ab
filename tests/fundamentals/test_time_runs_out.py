"""A tool that does not answer in time is stopped; its caller hears so at once, and the next call works."""

from __future__ import annotations

import pytest

from tests.support.daemon import Daemon


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
    assert record["envelope"]["elapsed_ms"] >= 300
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
