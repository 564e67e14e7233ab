"""What a plugin sends is a message of its own, and its envelope is the answer."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from hermes.dispatch.rooms import PipelineSettings
from hermes.journal.base import Query
from tests.support.bench import HOLD, eventually
from tests.support.consent import ASKER, told
from tests.support.house import SETTINGS, House, shown
from tests.support.sending import Sender, error_of

ECHO = "async def handle(message, context):\n    return message['payload']\n"
TELL = "async def handle(message, context):\n    return {**message, **{k: context[k] for k in ('idempotency_key', 'principal', 'locale')}}\n"


async def test_what_a_plugin_sends_is_a_message_of_its_own_with_all_that_its_sender_has(house: House) -> None:
    sender = Sender(house)
    house.write("p", TELL, intents=[{"name": "p.tell", "slots": {"n": r"(?P<n>\d+)"}}])
    house.open()
    live = await sender.begin(
        ("p.tell", {"名": "磁盘", "text": "7"}), payload={"text": "看看"}, caller=ASKER, session_id="s9"
    )
    parent = await house.end(live)
    (envelope,) = parent["envelope"]["data"]
    assert set(envelope) == {"data", "error", "elapsed_ms", "warning"}
    assert (envelope["error"], envelope["warning"]) == (None, None)
    assert envelope["elapsed_ms"] > 0
    child = await sender.record("r1.1")
    assert {name: envelope["data"][name] for name in child["message"]} == child["message"]
    assert child["message"] == {
        "request_id": "r1.1",
        "session_id": "s9",
        "intent": "p.tell",
        "payload": {"名": "磁盘", "text": "7"},
        "source": "agent",
        "timestamp": child["received_at"],
    }
    assert child["decision"]["outcome"] == "given"
    assert (child["parent"], child["status"], child["attempts"]) == ("r1", "succeeded", 1)
    assert child["principal"] == parent["principal"] == envelope["data"]["principal"]
    assert (envelope["data"]["idempotency_key"], envelope["data"]["locale"]) == ("r1.1", "zh")
    assert child["envelope"] == envelope
    assert (child["metadata"]["hops"], child["metadata"]["locale"], parent["metadata"]) == (1, "zh", {})
    assert child["metadata"]["deadline"] > child["received_at"]
    listed = await house.journal.select(Query(owner="key:ci", session_id="s9"))
    assert [entry.request_id for entry in listed] == ["r1.1", "r1"]
    begin, end = ["TASK_RECEIVED", "TOOL_STARTED"], ["TOOL_SUCCEEDED"]
    assert await told(house) == begin + begin + end + end


async def test_messages_are_numbered_in_the_order_in_which_they_are_sent(house: House) -> None:
    sender = Sender(house)
    house.write("p", ECHO)
    house.open()
    sends = [("p", {"n": number}) for number in range(20)]
    for request_id, at_once in (("a", False), ("b", True)):
        answers = await sender.send(*sends, payload={"at once": at_once}, request_id=request_id)
        assert [answer["data"]["n"] for answer in answers] == list(range(20))
        for number in range(20):
            record = await sender.record(f"{request_id}.{number + 1}")
            assert record["message"]["payload"] == {"n": number}


async def test_of_many_messages_some_wait_for_their_turn_and_a_thousand_is_the_most(house: House) -> None:
    sender = Sender(house)
    house.write("hold", HOLD, concurrency=200)
    house.open(replace(SETTINGS, inline_bytes=1 << 20))
    live = await sender.begin(*[("hold", {})] * 1002, payload={"at once": True})
    await eventually(lambda: len(house.pipeline.live) == 65)
    await eventually(lambda: len(list(house.data("hold").glob("began *"))) == 64)
    assert len(house.pipeline.live) == 65
    (house.data("hold") / "go").touch()
    answers = (await house.end(live))["envelope"]["data"]
    assert [answer["data"] for answer in answers[:1000]] == [f"r1.{number}" for number in range(1, 1001)]
    assert answers[1000:] == ["SendRefused: one call may send 1000 messages"] * 2


async def test_a_result_too_large_to_be_shown_reaches_its_sender_whole(house: House) -> None:
    sender = Sender(house)
    house.write("p", "async def handle(message, context):\n    return 'x' * 500\n")
    house.open(replace(SETTINGS, inline_bytes=100))
    live = await sender.begin(("p", {}))
    await house.end(live)
    assert live.record.envelope is not None
    (envelope,) = live.record.envelope.data
    assert (envelope["data"], envelope["warning"]) == ("x" * 500, None)
    assert (await sender.record("r1.1"))["envelope"]["data"] is None


async def test_a_result_nested_as_deeply_as_can_be_written_is_told(house: House) -> None:
    code = "async def handle(message, context):\n    r = 1\n    for _ in range(250): r = [r]\n    return r\n"
    house.write("deep", code)
    house.write(
        "s", "async def handle(message, context):\n    return (await context['send']('deep', {}))['error']\n"
    )
    house.open()
    record = await house.send(None, "s")
    assert (record["status"], record["envelope"]["data"]) == ("succeeded", None)


async def test_what_is_sent_and_not_waited_for_runs_all_the_same(house: House) -> None:
    sender = Sender(house)
    house.write("hold", HOLD, concurrency=100)
    house.open()
    record = await house.end(await sender.begin(*[("hold", {})] * 70, payload={"leave": True}))
    assert record["envelope"]["data"] == "left"
    await eventually(lambda: len(list(house.data("hold").glob("began *"))) == 64)
    (house.data("hold") / "go").touch()
    await eventually(lambda: not len(house.pipeline.live))
    assert len(await house.journal.select(Query(limit=200))) == 65, (
        "what had to wait for its turn was not sent"
    )


async def test_a_plugin_may_send_while_it_tells_how_far_it_is(house: House) -> None:
    code = """
import asyncio
async def handle(message, context):
    waiting = asyncio.create_task(context["send"]("hold", {}))
    await asyncio.sleep(0)
    await context["progress"]("等另一个工具", 50)
    return (await waiting)["data"]
"""
    house.write("s", code)
    house.write("hold", HOLD)
    house.open()
    live = await house.begin(None, "s", request_id="r1")
    await house.reached(live, "PROGRESS")
    await eventually((house.data("hold") / "began r1.1").exists)
    (house.data("hold") / "go").touch()
    assert (await house.end(live))["envelope"]["data"] == "r1.1"


async def test_a_child_that_is_cancelled_by_somebody_is_an_error_for_its_sender(house: House) -> None:
    sender = Sender(house)
    house.write("hold", HOLD)
    house.open()
    live = await sender.begin(("hold", {}))
    child = await sender.child("r1.1")
    await house.reached(child, "TOOL_STARTED")
    house.pipeline.cancel(child)
    (envelope,) = (await house.end(live))["envelope"]["data"]
    assert error_of(envelope) == ("cancelled", "Cancelled.")


@pytest.mark.parametrize("settings", [SETTINGS, replace(SETTINGS, locale="zh")], ids=["auto", "zh"])
async def test_a_child_is_answered_in_the_language_of_what_came_in(
    house: House, settings: PipelineSettings
) -> None:
    sender, _ = Sender(house), house.write("p", TELL)
    house.open(settings)
    (envelope,) = await sender.send(("p", {"text": "中文"}), payload={"text": "please"})
    assert envelope["data"]["locale"] == ("en" if settings.locale == "auto" else "zh")


async def test_who_listens_to_a_child_hears_its_whole_story(house: House) -> None:
    sender = Sender(house)
    house.write("hold", HOLD)
    house.open()
    live = await sender.begin(("hold", {}))
    child = await sender.child("r1.1")
    await house.reached(child, "TOOL_STARTED")
    (house.data("hold") / "go").touch()
    await asyncio.gather(house.end(live), house.end(child))
    assert house.types(child) == ["TASK_RECEIVED", "TOOL_STARTED", "TOOL_SUCCEEDED"]
    assert [event["seq"] for event in house.story(child)] == [1, 2, 3]
    assert shown(child)["parent"] == "r1"
