"""The router never guesses: it runs, asks back, or says that it cannot tell."""

from __future__ import annotations

import pytest

from hermes.messages import new_id
from tests.conftest import StartDaemon
from tests.support.daemon import Daemon


@pytest.mark.parametrize(
    ("text", "question", "how"),
    [
        ("马上上线", "您指的是哪一个？", "请回复编号或名称。"),
        ("deploy it now", "Which one do you mean?", "Answer with its number or its name."),
    ],
)
def test_if_two_are_meant_equally_hermes_asks_back(
    daemon: Daemon, text: str, question: str, how: str
) -> None:
    record = daemon.send(text)
    assert (record["status"], record["attempts"], record["plugin"]) == ("failed", 0, None)
    assert record["decision"]["outcome"] == "clarify"
    assert record["message"]["intent"] == ""
    assert record["envelope"]["error"]["code"] == "clarification_needed"
    lines = ["1. 上线应用 / bring out the app", "2. 上线网站 / bring out the website"]
    assert record["digest"] == "\n\n".join((question, "\n".join(lines), how))
    for line in (question, *lines):
        assert line in record["envelope"]["error"]["message"]
    asked = record["envelope"]["data"]
    assert asked["question"] == question
    assert asked["missing"] == []
    assert asked["expires_at"] > record["received_at"]
    assert asked["options"] == [
        {"n": 1, "intent": "deploy.app", "label": "上线应用 / bring out the app"},
        {"n": 2, "intent": "deploy.web", "label": "上线网站 / bring out the website"},
    ]


@pytest.mark.parametrize(
    ("text", "beginning"),
    [("帮我订一张去上海的机票", "无法确定"), ("book me a flight 🛫", "Cannot tell"), ("🤷", "Cannot tell")],
)
def test_if_nobody_is_meant_hermes_says_that_it_cannot_tell(
    daemon: Daemon, text: str, beginning: str
) -> None:
    record = daemon.send(text)
    assert record["decision"]["outcome"] == "no_match"
    assert record["envelope"]["error"]["code"] == "no_match"
    assert record["envelope"]["error"]["message"].startswith(beginning)
    assert [frame.event for frame in daemon.story(record["request_id"])] == ["TASK_RECEIVED", "TOOL_FAILED"]


@pytest.mark.parametrize(("text", "beginning"), [("你好", "无法确定"), ("hello", "Cannot tell")])
def test_a_given_intent_that_nobody_serves_is_no_match_too(daemon: Daemon, text: str, beginning: str) -> None:
    record = daemon.send(text, intent="no.such.intent")
    assert record["envelope"]["error"]["code"] == "no_match"
    assert record["envelope"]["error"]["message"].startswith(beginning)


def test_missing_parameters_of_a_given_intent_are_an_invalid_payload_that_names_each(daemon: Daemon) -> None:
    record = daemon.send(intent="deploy.web")
    error = record["envelope"]["error"]
    assert error["code"] == "invalid_payload"
    assert "version" in error["message"]
    assert "region" in error["message"]
    assert record["attempts"] == 0


def test_wrong_parameters_are_named_with_what_is_allowed(daemon: Daemon) -> None:
    payload = {"version": 2, "region": "moon", "count": "many"}
    error = daemon.send(intent="deploy.web", payload=payload)["envelope"]["error"]
    assert error["code"] == "invalid_payload"
    for words in ("version must be text", 'region must be one of "cn", "eu"', "count must be a whole number"):
        assert words in error["message"]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("网站上线", "还需要：version；region（cn、eu）"),
        ("deploy the website", "Still needed: version; region (cn, eu)"),
    ],
)
def test_missing_parameters_of_a_sentence_are_asked_for(daemon: Daemon, text: str, question: str) -> None:
    record = daemon.send(text)
    assert record["decision"]["outcome"] == "dispatch"
    assert record["envelope"]["error"]["code"] == "clarification_needed"
    asked = record["envelope"]["data"]
    assert (asked["question"], asked["missing"], asked["options"]) == (question, ["version", "region"], [])


def test_parameters_are_found_in_the_sentence(daemon: Daemon) -> None:
    record = daemon.send("把网站 v2.1 上线到 cn")
    assert record["status"] == "succeeded"
    assert record["envelope"]["data"] == {"text": "把网站 v2.1 上线到 cn", "version": "2.1", "region": "cn"}


@pytest.mark.parametrize(
    ("text", "rest"),
    [("/echo 你好 👋", "你好 👋"), ("／ＥＣＨＯ　hi", "hi"), ("/gate.read now", "now"), ("/lab.context", "")],
)
def test_a_command_names_its_tool_and_the_rest_is_the_text(daemon: Daemon, text: str, rest: str) -> None:
    record = daemon.send(text)
    assert (record["status"], record["decision"]["confidence"]) == ("succeeded", 1.0)
    assert record["message"]["payload"]["text"] == rest


def test_a_dry_run_tells_the_decision_and_runs_nothing(daemon: Daemon) -> None:
    newest = daemon.accept(intent="lab.process")
    calls = daemon.plugin("echo")["calls"]
    decision = daemon.post("/v1/route", {"text": "echo 试一下"}).json
    assert set(decision) == {"outcome", "intent", "confidence", "candidates", "warning", "reason"}
    assert (decision["outcome"], decision["intent"], decision["confidence"]) == ("dispatch", "echo", 0.9)
    assert decision["candidates"] == [
        {"intent": "echo", "plugin": "echo", "score": 0.9, "matched": [{"keyword": "echo", "weight": 0.9}]}
    ]
    assert decision["reason"] == "echo 得 0.9，达到 clarify_threshold（0.8），没有别的候选。"
    assert daemon.plugin("echo")["calls"] == calls
    assert daemon.get("/v1/messages?limit=1").json["items"][0]["request_id"] == newest


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("先不要触发 web 的流水线", "这句话像是在说不要做，而 ci.pipeline.run 会改动数据，所以先问一下。"),
        (
            "please don't trigger the web pipeline",
            "This seems to say not to, and ci.pipeline.run changes something, so it is asked first.",
        ),
    ],
)
def test_what_a_sentence_says_not_to_do_is_asked_about(daemon: Daemon, text: str, why: str) -> None:
    told = daemon.post("/v1/route", {"text": text}).json
    record = daemon.send(text)
    for decision in (told, record["decision"]):
        assert (decision["outcome"], decision["intent"], decision["warning"]) == ("clarify", "", why)
    assert [one["intent"] for one in record["envelope"]["data"]["options"]] == ["ci.pipeline.run"]
    assert record["envelope"]["error"]["code"] == "clarification_needed"


def test_how_sure_hermes_must_be_is_the_operators_choice(start_daemon: StartDaemon) -> None:
    router = {"min_confidence": 0.95, "clarify_threshold": 0.95, "strategies": ["keyword"]}
    strict = start_daemon({"router": router, "hermes": {"locale": "zh"}}, plugins=["echo"])
    for text in ("echo hello", "/echo hello"):
        record = strict.send(text)
        assert (record["decision"]["outcome"], record["decision"]["confidence"]) == ("no_match", 0.9)
        assert record["envelope"]["error"]["message"].startswith("无法确定")
        assert "echo" in record["envelope"]["error"]["message"]
        told = strict.post("/v1/route", {"text": text}).json
        assert told["outcome"] == "no_match"
        assert told["reason"] == "最高的 echo 只有 0.9，低于 min_confidence（0.95）。"


def test_what_changes_things_runs_only_with_the_callers_approval(daemon: Daemon) -> None:
    refused, approved = new_id(), new_id()
    record = daemon.post("/v1/messages?wait=20", {"intent": "gate.sign", "request_id": refused}).json
    assert record["status"] == "awaiting_confirmation"
    assert daemon.send(intent="gate.sign", request_id=approved, approve=True)["status"] == "succeeded"
    assert (daemon.runs(refused), daemon.runs(approved)) == (0, 1)
