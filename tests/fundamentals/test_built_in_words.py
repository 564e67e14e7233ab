"""/help, /status, /cancel and /reset, and their Chinese twins, are answered by Hermes itself, whatever plugins there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hermes.messages import new_id
from tests.conftest import StartDaemon
from tests.support.client import Client
from tests.support.daemon import Daemon, write_plugin
from tests.support.waiting import until

TELL = (
    "async def handle(message, context):\n    return message['intent'] + ': ' + message['payload']['text']\n"
)


def held(daemon: Daemon, session: str, gate: Path, *, intent: str = "gate.read") -> str:
    """Have a call under way in a session until `gate` is there; return its id."""
    request_id = daemon.accept(
        intent=intent, session_id=session, payload={"gate": str(gate), "text": "在门口"}
    )
    until(lambda: daemon.runs(request_id))
    return request_id


def code(record: dict[str, Any]) -> str | None:
    error = record["envelope"]["error"]
    return None if error is None else str(error["code"])


@pytest.mark.parametrize(
    ("text", "intent", "begins"),
    [
        ("/help", "/help", "This is what I can do:"),
        (" ／ＨＥＬＰ！ ", "/help", "This is what I can do:"),
        ("帮助", "/help", "我能做这些："),
        ("「幫助」。", "/help", "我能做这些："),
        ("/帮助", "/help", "我能做这些："),
        ("/status", "/status", "Nothing is under way."),
        ("状态？", "/status", "没有进行中的任务。"),
        ("狀態", "/status", "没有进行中的任务。"),
        ("/cancel", "/cancel", "There is nothing to cancel in this session."),
        ("取消", "/cancel", "这个会话里没有可取消的。"),
        ("/reset", "/reset", "All right, we begin anew."),
        ("重来", "/reset", "好的，重新开始。"),
        ("重來", "/reset", "好的，重新开始。"),
    ],
)
def test_each_word_is_answered_in_its_language(daemon: Daemon, text: str, intent: str, begins: str) -> None:
    record = daemon.send(text, session_id=new_id())
    if intent != "/status":  # others may have something under way
        assert record["digest"].startswith(begins)
    assert (record["status"], record["envelope"]["error"], record["plugin"]) == ("succeeded", None, None)
    assert (record["decision"]["outcome"], record["decision"]["intent"]) == ("given", intent)
    assert (record["message"]["intent"], record["message"]["payload"]) == (intent, {"text": text})
    assert isinstance(record["envelope"]["data"], dict)
    story = daemon.story(record["request_id"])
    assert [frame.event for frame in story] == ["TASK_RECEIVED", "TOOL_SUCCEEDED"]
    assert story[-1].data["digest"] == record["digest"]


@pytest.mark.parametrize(
    "text", ["帮助我重启", "请 取消 订单", "help", "/helpme", "//help", "/status 全部", "/etc/help"]
)
def test_a_text_that_says_more_is_none(daemon: Daemon, text: str) -> None:
    assert daemon.send(text)["message"]["intent"] != text
    assert daemon.send(text)["decision"]["outcome"] != "given"


def test_a_word_is_kept_and_said_again_under_its_id_is_the_same_message(daemon: Daemon) -> None:
    body = {"text": "/help", "session_id": new_id(), "request_id": new_id()}
    first = daemon.post("/v1/messages?wait=20", body)
    again = daemon.post("/v1/messages?wait=20", body)
    assert first.json["status"] == "succeeded"
    assert again.headers["idempotent-replayed"] == "true"
    assert again.json == first.json == daemon.record(body["request_id"])
    assert daemon.post("/v1/messages", body | {"text": "/status"}).problem == (409, "conflict")


def test_a_word_may_be_given_as_an_intent(daemon: Daemon) -> None:
    assert daemon.send(intent="/help")["digest"].startswith("This is what I can do:")


def test_help_tells_of_each_tool_with_examples_in_the_language_of_the_reader(daemon: Daemon) -> None:
    english, chinese = daemon.send("/help"), daemon.send("帮助")
    assert (
        "- Show load, memory, disk and uptime of this machine (`system.status`): “how is the server”"
        in english["digest"]
    )
    assert "（`system.status`）：“系统状态怎么样”" in chinese["digest"]
    assert "`/cancel`" in english["digest"]
    assert len(english["digest"]) <= 4000
    assert "system.status" in english["envelope"]["data"]["intents"]


@pytest.mark.parametrize(
    "text", ["/help deploy.web", "/help DEPLOY.WEB", "/help /deploy.web", "／帮助　deploy.web"]
)
def test_help_about_one_tool_tells_what_it_takes(daemon: Daemon, text: str) -> None:
    digest = daemon.send(text)["digest"]
    assert "上线网站 / bring out the website" in digest
    assert "`region`" in digest
    assert "`cn`" in digest
    assert "`/deploy.web`" in digest


def test_help_about_a_plugin_a_word_or_nothing_known_says_so(daemon: Daemon) -> None:
    assert daemon.send("/help deploy")["envelope"]["data"] == {"intents": ["deploy.app", "deploy.web"]}
    assert daemon.send("/help cancel")["digest"] == "`/cancel`: stop what runs or waits in this session"
    digest = daemon.send("/help deploy.wbe")["digest"]
    assert digest.startswith("There is no tool named “deploy.wbe”. The nearest are: `deploy.web`")


def test_help_and_status_name_plugins_that_are_not_available(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    write_plugin(tmp_path, "broken", TELL, intents=[{"name": "b", "keyword": 1}])
    write_plugin(tmp_path, "resting", TELL)
    daemon = start_daemon()
    daemon.post("/v1/plugins/resting/disable", {})
    told = "broken (could not be loaded), resting (disabled)"
    assert f"Plugins that are not available now: {told}" in daemon.send("/help")["digest"]
    assert f"Plugins that are not ready: {told}" in daemon.send("/status")["digest"]
    assert "broken（加载失败）、resting（已停用）" in daemon.send("状态")["digest"]
    assert daemon.send("/status")["envelope"]["data"]["unready"] == ["broken", "resting"]


def test_status_tells_what_is_under_way_and_what_is_asked_and_changes_neither(
    daemon: Daemon, tmp_path: Path
) -> None:
    session = new_id()
    running = held(daemon, session, tmp_path / "gate")
    asked = daemon.send("马上上线", session_id=session)
    for text, words in (("/status", ("running", "Waiting for")), ("状态", ("运行中", "等待你回答"))):
        record = daemon.send(text, session_id=session)
        assert record["envelope"]["data"]["under_way"] == [running]
        assert record["envelope"]["data"]["question"] == asked["request_id"]
        assert "`gate.read`" in record["digest"]
        assert "在门口" in record["digest"]
        assert all(one in record["digest"] for one in words)
    elsewhere = daemon.send("/status", session_id=new_id())
    assert running in elsewhere["envelope"]["data"]["under_way"]
    assert "in others of yours" in elsewhere["digest"]
    assert daemon.send("2", session_id=session)["resumes"] == asked["request_id"]
    (tmp_path / "gate").touch()
    assert daemon.story(running)[-1].event == "TOOL_SUCCEEDED"


@pytest.mark.parametrize(("text", "told"), [("/cancel", "Cancelling 2:"), ("取消", "正在取消 2 个：")])
def test_cancel_stops_what_runs_and_waits_in_the_session_and_nothing_else(
    daemon: Daemon, tmp_path: Path, text: str, told: str
) -> None:
    session = new_id()
    running = held(daemon, session, tmp_path / "gate", intent="gate.write")
    waiting = daemon.accept(intent="gate.sign", session_id=session, payload={})
    until(lambda: daemon.record(waiting)["status"] == "awaiting_confirmation")
    other = held(daemon, new_id(), tmp_path / "gate")
    record = daemon.send(text, session_id=session)
    assert record["envelope"]["data"] == {"cancelled": [running, waiting], "question_closed": False}
    assert record["digest"].startswith(told)
    assert daemon.story(running)[-1].data["envelope"]["error"]["code"] == "cancelled"
    assert daemon.story(waiting)[-1].data["envelope"]["error"]["code"] == "cancelled"
    assert daemon.record(other)["status"] == "running"
    (tmp_path / "gate").touch()
    assert daemon.story(other)[-1].event == "TOOL_SUCCEEDED"


@pytest.mark.parametrize("text", ["/cancel", "取消", "/reset", "重来"])
def test_cancel_and_reset_close_the_open_question(daemon: Daemon, text: str) -> None:
    session = daemon.send("马上上线")["session_id"]
    record = daemon.send(text, session_id=session)
    assert record["envelope"]["data"]["question_closed"] is True
    assert record["resumes"] is None
    assert code(daemon.send("2", session_id=session)) == "no_match"
    assert daemon.send(text, session_id=session)["envelope"]["data"]["question_closed"] is False


def test_reset_stops_nothing(daemon: Daemon, tmp_path: Path) -> None:
    session = new_id()
    running = held(daemon, session, tmp_path / "gate")
    daemon.send("/reset", session_id=session)
    assert daemon.record(running)["status"] == "running"
    (tmp_path / "gate").touch()
    assert daemon.story(running)[-1].event == "TOOL_SUCCEEDED"


def test_a_plugin_that_is_called_like_a_word_keeps_what_is_said_behind_its_name(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    write_plugin(tmp_path, "status", TELL, intents=["status.show"])
    write_plugin(tmp_path, "helper", TELL, intents=["help"])
    daemon = start_daemon()
    assert daemon.send("/status all")["envelope"]["data"] == "status.show: all"
    assert daemon.send("/help me")["envelope"]["data"] == "help: me"
    assert daemon.send("/status")["message"]["intent"] == "/status"
    assert daemon.send("/help")["message"]["intent"] == "/help"


def test_what_an_earlier_process_left_can_be_cancelled(start_daemon: StartDaemon, tmp_path: Path) -> None:
    first = start_daemon(plugins=["gate"])
    waiting = first.accept(intent="gate.sign", session_id="s", payload={})
    until(lambda: first.record(waiting)["status"] == "awaiting_confirmation")
    running = held(first, "s", tmp_path / "gate")
    first.kill()
    second = start_daemon(plugins=["gate"])
    assert second.send("/cancel", session_id="s")["envelope"]["data"]["cancelled"] == [waiting, running]
    for one in (waiting, running):
        assert second.story(one)[-1].data["envelope"]["error"]["code"] == "cancelled"


def test_the_work_of_another_caller_is_neither_shown_nor_stopped(
    start_daemon: StartDaemon, tmp_path: Path
) -> None:
    local = start_daemon(plugins=["gate"])
    waiting = local.accept(intent="gate.sign", session_id="s", payload={})
    until(lambda: local.record(waiting)["status"] == "awaiting_confirmation")
    local.stop()
    config = (tmp_path / "hermes.yaml").read_text()
    (tmp_path / "hermes.yaml").write_text(config.replace("127.0.0.1:0", "0.0.0.0:0"))
    daemon = start_daemon()
    keyed = Client(daemon.url, {"x-api-key": (daemon.state_dir / "admin.key").read_text().strip()})
    assert keyed.send("/status", session_id="s")["envelope"]["data"]["under_way"] == []
    assert keyed.send("/cancel", session_id="s")["envelope"]["data"]["cancelled"] == []
    assert keyed.record(waiting)["status"] == "awaiting_confirmation"


def test_a_dry_run_says_that_a_text_is_a_word(daemon: Daemon) -> None:
    for text, reason in (("/help", "This is the built-in word /help"), ("帮助", "这是内置命令 /help")):
        answer = daemon.post("/v1/route", {"text": text}).json
        assert (answer["outcome"], answer["intent"], answer["candidates"]) == ("given", "/help", [])
        assert answer["reason"].startswith(reason)
