"""What a plugin cannot send, and what it is told then."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hermes.journal.base import Query
from tests.support.consent import NOTE, keys, runs, write_deploy
from tests.support.house import SETTINGS, House
from tests.support.sending import Sender, error_of

ECHO = "async def handle(message, context):\n    return message['payload']\n"


BAD: list[tuple[dict[str, Any], str]] = [
    ({"payload": {}}, "intent must be a text of 1 to 200 characters"),
    ({"intent": "", "payload": {}}, "intent must be a text of 1 to 200 characters"),
    ({"intent": 7, "payload": {}}, "intent must be a text of 1 to 200 characters"),
    ({"intent": "x" * 201, "payload": {}}, "intent must be a text of 1 to 200 characters"),
    ({"intent": "p"}, "payload must be an object"),
    ({"intent": "p", "payload": None}, "payload must be an object"),
    ({"intent": "p", "payload": [1]}, "payload must be an object"),
    ({"intent": "p", "payload": "部署"}, "payload must be an object"),
    (
        {"intent": "p", "payload": {"text": "部" * 400}},
        "the payload has 1211 bytes, and may have 1000 (limits.body_bytes)",
    ),
]


async def test_what_is_no_message_is_refused_to_a_worker_of_any_kind(house: House) -> None:
    sender = Sender(house)
    house.write("p", ECHO)
    house.open(replace(SETTINGS, payload_bytes=1000))
    said = [params for params, _ in BAD] + [{"intent": "p", "payload": {"n": 1}}]
    *refusals, good = await sender.send(payload={"say": said})
    assert refusals == [[-32602, reason] for _, reason in BAD]
    assert (good["data"], good["error"]) == ({"n": 1}, None)
    assert {entry.request_id for entry in await house.journal.select(Query())} == {"r1", f"r1.{len(said)}"}


async def test_a_payload_nested_as_deeply_as_it_likes_is_an_error_of_its_message_alone(house: House) -> None:
    code = """
async def handle(message, context):
    answers = []
    for depth in range(240, 260):
        payload = {}
        for _ in range(depth):
            payload = {"a": payload}
        try:
            answers.append((await context["send"]("p", payload))["error"])
        except Exception as error:
            answers.append(type(error).__name__)
    return answers
"""
    house.write("s", code)
    house.write("p", ECHO)
    house.open()
    answers = (await house.send(None, "s"))["envelope"]["data"]
    assert (answers[0], answers[-1]) == (None, "SendRefused")
    assert all(one in (None, "SendRefused") or one["code"] == "plugin_error" for one in answers)


@pytest.mark.parametrize(
    ("intent", "payload", "end"),
    [
        ("nobody", {}, ("no_match", "无法确定：没有名为 nobody 的意图。")),
        ("need", {}, ("invalid_payload", "参数不符合要求：")),
        (
            "deploy",
            {"env": 1},
            ("confirmation_required", "deploy 需要有人确认才会执行，不能由工具发起；没有执行。"),
        ),
    ],
)
async def test_what_cannot_run_fails_at_once_and_has_a_record(
    house: House, intent: str, payload: dict[str, Any], end: tuple[str, str]
) -> None:
    sender = Sender(house)
    needs = {"type": "object", "properties": {"project": {"type": "string"}}, "required": ["project"]}
    house.write("need", ECHO, intents=[{"name": "need", "parameters": needs}])
    write_deploy(house)
    house.open()
    (envelope,) = await sender.send((intent, payload), payload={"text": "中文"})
    code, sentence = error_of(envelope)
    assert (code, sentence.startswith(end[1])) == (end[0], True), sentence
    record = await sender.record("r1.1")
    assert (record["status"], record["attempts"], record["confirmation"]) == ("failed", 0, None)
    assert runs(house) == []


async def test_what_was_refused_for_want_of_a_confirmation_can_be_sent_again_by_a_person(
    house: House,
) -> None:
    sender = Sender(house)
    write_deploy(house)
    house.open()
    await sender.send(("deploy", {"env": "生产"}))
    record = await house.send(retry_of="r1.1", approve=True)
    assert (record["status"], record["parent"], runs(house), keys(house)) == (
        "succeeded",
        None,
        [record["request_id"]],
        ["r1.1"],
    )


async def test_tools_that_send_for_one_another_without_end_are_stopped(house: House) -> None:
    code = "async def handle(message, context):\n    return [context['request_id'], await context['send']('{}', {{}})]\n"
    for name, other in (("ping", "pong"), ("pong", "ping")):
        house.write(name, code.format(other))
    house.open(replace(SETTINGS, hops=3))
    record = await house.send(None, "ping", request_id="r1")
    depth, envelope = 0, record["envelope"]
    while envelope["error"] is None:
        request_id, envelope = envelope["data"]
        assert request_id == "r1" + ".1" * depth
        depth += 1
    assert (depth, error_of(envelope)) == (
        4,
        ("loop_detected", "Tools have sent for one another more than 3 levels deep; it has not run."),
    )


async def test_without_room_a_message_that_is_sent_is_told_so_and_nobody_waits(house: House) -> None:
    sender = Sender(house)
    house.write("p", ECHO)
    house.open(replace(SETTINGS, pending=1))
    (envelope,) = await sender.send(("p", {}))
    assert error_of(envelope) == (
        "overloaded",
        "Hermes cannot take this message in at present, and it has not run; try again later.",
    )
    assert (envelope["error"]["retryable"], envelope["data"], envelope["elapsed_ms"]) == (True, None, 0.0)
    assert len(await house.journal.select(Query())) == 1
    assert house.metric("hermes_messages_refused_total", code="rate_limited") == 1


async def test_an_id_that_somebody_else_has_used_is_not_taken_for_what_was_sent(house: House) -> None:
    sender = Sender(house)
    house.write("p", NOTE)
    house.open()
    await house.send(None, "p", request_id="r1.1", payload={"n": 1})
    (answer,) = await sender.send(("p", {"n": 1}))
    assert answer == "SendRefused: send 1: r1.1 was sent before with another intent or payload"
    assert runs(house, "p") == ["r1.1"]
