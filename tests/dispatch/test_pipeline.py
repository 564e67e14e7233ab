"""Messages are accepted once, kept before they run, and ended whatever happens."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace

import pytest

from hermes.auth.policy import Caller
from hermes.dispatch.records import replay
from hermes.errors import Conflict, InvalidField, NotFound, RateLimited, Unavailable
from hermes.journal.base import Entry, Query
from hermes.messages import Principal
from tests.support.bench import HOLD, eventually
from tests.support.consent import ask, write_deploy
from tests.support.disk import no_room
from tests.support.house import SETTINGS, House, shown

ECHO = "async def handle(message, context):\n    return message['payload']\n"
CI = Caller(Principal("key", "ci"), frozenset({"messages", "read"}))


async def test_a_message_is_in_the_journal_before_its_sender_hears_of_it(durable: House) -> None:
    durable.write("p", HOLD)
    durable.open()
    live = await durable.begin(None, "p", payload={"text": "部署"})
    (entry,) = await durable.journal.replay(after=0, limit=10)
    assert (entry.id, json.loads(entry.record)["message"]["payload"]) == (live.id, {"text": "部署"})
    (durable.data("p") / "go").touch()
    await durable.end(live)
    assert await durable.journal.replay(after=0, limit=10) == []


async def test_a_message_that_ended_is_told_the_same_live_and_from_the_journal(durable: House) -> None:
    code = """
async def handle(message, context):
    for number in range(20):
        await context["progress"](f"步骤 {number}")
    return message["payload"]
"""
    durable.write("p", code)
    durable.open()
    live = await durable.begin(None, "p", payload={"text": "大" * 30_000})
    record = await durable.end(live)
    found = await durable.shelf.find(record["request_id"], owner="local:local")
    assert isinstance(found, Entry)
    assert shown(found) == record
    events = [json.loads(frame.split(b"\ndata: ")[1]) for frame in replay(found, after=0)]
    assert events == durable.story(live)


async def test_a_request_id_is_run_once_and_gives_the_same_message_while_it_runs_and_after(
    durable: House,
) -> None:
    durable.write("p", HOLD)
    durable.open()
    live = await durable.begin(None, "p", request_id="r1")
    again = await durable.submit(None, "p", request_id="r1")
    assert (again.message, again.replayed) == (live, True)
    with pytest.raises(Conflict, match="r1 was used before with another body"):
        await durable.submit(None, "p", request_id="r1", payload={"other": 1})
    (durable.data("p") / "go").touch()
    record = await durable.end(live)
    again = await durable.submit(None, "p", request_id="r1")
    assert isinstance(again.message, Entry)
    assert (shown(again.message), again.replayed) == (record, True)
    with pytest.raises(Conflict):
        await durable.submit(None, "p", request_id="r1", payload={"other": 1})
    assert record["attempts"] == 1


async def test_of_many_at_once_with_one_request_id_one_runs(durable: House) -> None:
    durable.write("p", HOLD)
    durable.open()
    receipts = await asyncio.gather(*(durable.submit(None, "p", request_id="r1") for _ in range(10)))
    assert [receipt.replayed for receipt in receipts] == [False] + [True] * 9
    assert {id(receipt.message) for receipt in receipts} == {id(receipts[0].message)}
    (durable.data("p") / "go").touch()
    await eventually(lambda: not len(durable.pipeline.live))
    late = await asyncio.gather(*(durable.submit(None, "p", request_id="r1") for _ in range(10)))
    assert all(isinstance(receipt.message, Entry) and receipt.replayed for receipt in late)
    assert len(durable.pipeline.live) == 0
    assert len(await durable.journal.select(Query())) == 1


async def test_two_principals_may_use_one_request_id_and_see_only_their_own(house: House) -> None:
    house.write("p", ECHO)
    house.open()
    mine = await house.send(None, "p", request_id="r1", payload={"who": "me"})
    theirs = await house.send(None, "p", request_id="r1", payload={"who": "them"}, caller=CI)
    for owner, record in (("local:local", mine), ("key:ci", theirs), (None, theirs)):
        assert shown(await house.shelf.find("r1", owner=owner)) == record
    with pytest.raises(NotFound):
        await house.shelf.find("r1", owner="key:other")


async def test_no_more_is_accepted_than_may_be_under_way(house: House) -> None:
    house.write("p", HOLD)
    house.open(replace(SETTINGS, pending=2, pending_bytes=1 << 20, result_bytes=1000, inline_bytes=1000))
    lives = [await house.begin(None, "p", request_id=f"r{number}") for number in range(2)]
    with pytest.raises(RateLimited) as refused:
        await house.submit(None, "p")
    assert refused.value.retry_after > 0
    assert (await house.submit(None, "p", request_id="r1")).replayed
    assert house.metric("hermes_pending_messages") == 2
    (house.data("p") / "go").touch()
    for live in lives:
        await house.end(live)
    assert (await house.send(None, "p"))["status"] == "succeeded"


async def test_what_waits_for_people_keeps_nobody_out_until_there_is_twice_as_much(house: House) -> None:
    write_deploy(house)
    house.write("p", ECHO)
    house.open(replace(SETTINGS, pending=2, pending_bytes=1 << 20, result_bytes=1000, inline_bytes=1000))
    for _ in range(3):
        await ask(house)
        assert (await house.send(None, "p"))["status"] == "succeeded"
    await ask(house)
    with pytest.raises(RateLimited):
        await house.submit(None, "p")


async def test_a_payload_that_cannot_be_kept_is_refused_and_leaves_nothing_behind(house: House) -> None:
    house.write("p", ECHO)
    house.open()
    nested: dict[str, object] = {}
    for _ in range(400):
        nested = {"a": nested}
    with pytest.raises(InvalidField) as refused:
        await house.submit(None, "p", payload=nested, request_id="r1")
    assert refused.value.field == "payload"
    assert (len(house.pipeline.live), await house.journal.select(Query())) == (0, [])
    assert (await house.send(None, "p", request_id="r1"))["status"] == "succeeded"


async def test_while_the_disk_is_full_nothing_is_accepted_and_no_end_is_told(durable: House) -> None:
    durable.write("p", HOLD)
    durable.open()
    live = await durable.begin(None, "p")
    await durable.reached(live, "TOOL_STARTED")
    with no_room(durable.home):
        with pytest.raises(Unavailable, match="the journal cannot be written"):
            await durable.submit(None, "p", request_id="r1")
        (durable.data("p") / "go").touch()
        await eventually(lambda: durable.book.lines(event="not_written"))
        assert shown(live)["status"] == "running"
        assert durable.types(live) == ["TASK_RECEIVED", "TOOL_STARTED"]
    assert (await durable.end(live))["status"] == "succeeded"
    assert (await durable.send(None, "p", request_id="r1"))["status"] == "succeeded"


async def test_waiting_ends_with_the_message_or_with_the_patience(house: House) -> None:
    house.write("p", HOLD)
    house.open()
    live = await house.begin(None, "p")
    await house.pipeline.wait(live, 0.05)
    assert shown(live)["status"] in {"accepted", "running"}
    both = asyncio.gather(house.pipeline.wait(live, 20), house.pipeline.wait(live, 20))
    (house.data("p") / "go").touch()
    await both
    assert shown(live)["status"] == "succeeded"
    await house.pipeline.wait(live, 20)


async def test_ends_are_counted_by_outcome_and_source(house: House) -> None:
    house.write("p", ECHO)
    house.open()
    await house.send(None, "p", source="im")
    await house.send(None, "nobody")
    assert house.metric("hermes_messages_total", outcome="succeeded", source="im") == 1
    assert house.metric("hermes_messages_total", outcome="no_match", source="api") == 1
    for stage, count in (("accept", 2), ("tool", 1), ("finish", 2)):
        assert house.metric("hermes_stage_seconds_count", stage=stage) == count
