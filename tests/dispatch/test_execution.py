"""What a message comes to: who is meant, what is missing, and why a call must not run."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.house import House

ECHO = "async def handle(message, context):\n    return message['payload']\n"
DEPLOY = {
    "name": "ci.deploy",
    "description": "Deploy a project",
    "keywords": {"部署": 0.9, "deploy": 0.9, "项目": 0.3},
    "parameters": {
        "type": "object",
        "properties": {"project": {"type": "string"}, "count": {"type": "integer"}},
        "required": ["project"],
    },
    "slots": {"project": r"(?:project|项目)\s+(?P<project>[\w.-]+)"},
    "writes": True,
    "confirm": False,
    "ack": {"zh": "正在部署 {project}", "en": "Deploying {project}"},
}
LIST = {"name": "ci.list", "keywords": {"流水线": 0.9, "pipelines": 0.9}}
SHOW = {"name": "ci.show", "description": "显示一条流水线", "keywords": {"流水线": 0.9, "pipelines": 0.9}}


@pytest.mark.parametrize(
    ("text", "project", "ack"),
    [
        ("部署 项目 web 🚀", "web", "正在部署 web"),
        ("please deploy project web", "web", "Deploying web"),
        ("部署　项目　ｗｅｂ", "web", "正在部署 web"),
    ],
)
async def test_a_sentence_finds_its_plugin_and_its_parameters(
    house: House, text: str, project: str, ack: str
) -> None:
    house.write("p", ECHO, version="1.2.3", intents=[DEPLOY])
    house.open()
    live = await house.begin(text)
    assert house.pipeline.acknowledge(live) == ack
    record = await house.end(live)
    assert record["status"] == "succeeded"
    assert record["message"]["intent"] == record["decision"]["intent"] == "ci.deploy"
    assert record["decision"]["outcome"] == "dispatch"
    assert record["envelope"]["data"] == {"project": project, "text": text}
    assert record["digest"] == f"**project**: {project}\n**text**: {text}"
    assert record["plugin"] == {"name": "p", "version": "1.2.3", "hash": house.plugin("p")["hash"]}
    assert (record["attempts"], record["envelope"]["error"]) == (1, None)
    assert record["envelope"]["elapsed_ms"] > 0
    assert house.types(live) == ["TASK_RECEIVED", "TOOL_STARTED", "TOOL_SUCCEEDED"]
    assert house.story(live)[1]["attempt"] == 1


async def test_an_acknowledgement_without_its_parameters_is_a_plain_sentence(house: House) -> None:
    house.write("p", ECHO, intents=[DEPLOY])
    house.open()
    for text, sentence in (("部署", "已受理，正在执行 ci.deploy"), ("deploy", "Accepted, running ci.deploy")):
        assert house.pipeline.acknowledge(await house.begin(text)) == sentence
    assert house.pipeline.acknowledge(await house.begin("天气怎么样")) == "已受理"


async def failure(house: House, *message: str | None, **members: Any) -> tuple[str, str, Any]:
    """Send a message that is to fail before it runs; return code, sentence and data."""
    live = await house.begin(*message, **members)
    record = await house.end(live)
    assert house.types(live) == ["TASK_RECEIVED", "TOOL_FAILED"]
    assert (record["status"], record["attempts"], record["plugin"]) == ("failed", 0, None)
    error = record["envelope"]["error"]
    if error["code"] != "clarification_needed":
        assert record["digest"] == f"`{error['code']}` {error['message']}"
    return error["code"], error["message"], record["envelope"]["data"]


async def test_what_nobody_serves_ends_as_no_match_in_the_language_of_the_request(house: House) -> None:
    house.write("p", ECHO, intents=[DEPLOY])
    house.open()
    code, sentence, _ = await failure(house, "今天天气怎么样")
    assert (code, sentence) == ("no_match", "无法确定这句话要用哪个工具。试试 /help。")
    code, sentence, _ = await failure(house, "这个项目")
    assert (code, sentence) == (
        "no_match",
        "无法确定这句话要用哪个工具。最接近的是：ci.deploy（Deploy a project）。试试 /help。",
    )
    code, sentence, _ = await failure(house, "what is the weather")
    assert (code, sentence) == ("no_match", "Cannot tell which tool this is for. Try /help.")
    code, sentence, _ = await failure(house, None, "ci.unknown", payload={"title": "x"})
    assert (code, sentence) == ("no_match", "Cannot tell: there is no intent named ci.unknown. Try /help.")


async def test_what_may_mean_several_things_is_asked_back_with_its_options(house: House) -> None:
    house.write("p", ECHO, intents=[LIST, SHOW])
    house.open()
    code, sentence, data = await failure(house, "流水线")
    assert code == "clarification_needed"
    assert sentence == "您指的是哪一个？1. ci.list；2. 显示一条流水线"
    assert data["question"] == "您指的是哪一个？"
    assert data["options"] == [
        {"n": 1, "intent": "ci.list", "label": "ci.list"},
        {"n": 2, "intent": "ci.show", "label": "显示一条流水线"},
    ]
    assert data["missing"] == []
    assert data["expires_at"] > 1_700_000_000


async def test_parameters_that_are_missing_are_asked_for_if_the_text_was_routed(house: House) -> None:
    house.write("p", ECHO, intents=[DEPLOY])
    house.open()
    code, sentence, data = await failure(house, "deploy")
    assert (code, sentence) == ("clarification_needed", "Still needed: project")
    assert (data["missing"], data["options"]) == (["project"], [])
    code, sentence, _ = await failure(house, "部署", payload={"count": "x"})
    assert code == "invalid_payload"
    assert "project" in sentence
    assert "count" in sentence


async def test_parameters_that_are_missing_are_an_error_if_the_intent_was_given(house: House) -> None:
    house.write("p", ECHO, intents=[DEPLOY])
    house.open()
    code, sentence, _ = await failure(house, None, "ci.deploy", payload={"count": "many"})
    assert code == "invalid_payload"
    assert sentence.startswith("The parameters do not fit: ")
    assert "project" in sentence
    assert "count" in sentence


async def test_what_changes_things_needs_a_confirmation_that_the_sender_may_give_at_once(
    house: House,
) -> None:
    house.write("p", ECHO, intents=[{"name": "db.drop", "writes": True}])
    house.open()
    record = await house.send(None, "db.drop", payload={"表": "用户"}, approve=True)
    assert record["status"] == "succeeded"
    assert record["confirmation"] == {
        "intent": "db.drop",
        "plugin": "p",
        "payload": {"表": "用户"},
        "expires_at": None,
        "by": [],
        "other_than_asker": False,
        "approved": True,
        "decided_by": {"kind": "local", "id": "local", "person": None},
        "decided_at": 1e9,
    }


async def test_a_plugin_that_cannot_start_is_unavailable_with_the_reason(house: House) -> None:
    house.write("p", "import not_there_at_all\n")
    house.open()
    code, sentence, _ = await failure(house, None, "p", payload={"text": "中文"})
    assert code == "plugin_unavailable"
    assert "该工具目前不可用：ModuleNotFoundError: No module named 'not_there_at_all'" in sentence
