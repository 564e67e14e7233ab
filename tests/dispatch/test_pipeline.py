"""Messages are accepted once, kept before they run, and ended whatever happens."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from hermes.dispatch.live import Live
from hermes.dispatch.pipeline import PipelineSettings
from hermes.dispatch.records import replay
from hermes.errors import Conflict, InvalidField, NotFound, RateLimited, Unavailable
from hermes.journal.base import Entry, Query
from hermes.journal.sqlite import SqliteJournal
from hermes.messages import Principal
from tests.support.bench import HOLD, eventually
from tests.support.disk import no_room
from tests.support.house import House, shown
from tests.support.logbook import Logbook

ECHO = "async def handle(message, context):\n    return message['payload']\n"
CI = Principal("key", "ci")


@pytest.fixture
async def durable(tmp_path: Path, book: Logbook) -> AsyncIterator[House]:
    """A house whose journal is a file."""
    house = House(tmp_path, book)
    house.journal = SqliteJournal(tmp_path / "journal.db", sync="normal", on_commit=lambda _s, _n: None)
    await house.journal.open()
    yield house
    await house.stop()
    await house.journal.close()


async def test_a_message_is_in_the_journal_before_its_sender_hears_of_it(durable: House) -> None:
    durable.write("p", HOLD)
    durable.open()
    live = await durable.begin(None, "p", payload={"text": "部署"})
    (entry,) = await durable.journal.unfinished(after=0, limit=10)
    assert (entry.id, json.loads(entry.record)["message"]["payload"]) == (live.id, {"text": "部署"})
    (durable.data("p") / "go").touch()
    await durable.end(live)
    assert await durable.journal.unfinished(after=0, limit=10) == []


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
    theirs = await house.send(None, "p", request_id="r1", payload={"who": "them"}, principal=CI)
    for owner, record in (("local:local", mine), ("key:ci", theirs), (None, theirs)):
        assert shown(await house.shelf.find("r1", owner=owner)) == record
    with pytest.raises(NotFound):
        await house.shelf.find("r1", owner="key:other")


async def test_no_more_is_accepted_than_may_be_under_way(house: House) -> None:
    house.write("p", HOLD)
    house.open(
        PipelineSettings(
            pending=2, pending_bytes=1 << 20, result_bytes=1000, inline_bytes=1000, locale="auto"
        )
    )
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


async def test_stopping_accepts_nothing_more_and_lets_what_runs_end(house: House) -> None:
    house.write("p", HOLD, concurrency=1)
    house.open()
    running, waiting = [await house.begin(None, "p") for _ in range(2)]
    await house.reached(running, "TOOL_STARTED")
    stopping = asyncio.ensure_future(house.pipeline.stop(20))
    await eventually(lambda: house.plugin("p")["queue_depth"] == 0)
    with pytest.raises(Unavailable, match="shutting down"):
        await house.submit(None, "p")
    (house.data("p") / "go").touch()
    await stopping
    assert shown(running)["status"] == "succeeded"
    assert house.types(waiting) == ["TASK_RECEIVED"]
    assert [entry.id for entry in await house.journal.unfinished(after=0, limit=9)] == [waiting.id]


async def test_stopping_leaves_what_does_not_end_in_time_to_the_next_start(house: House) -> None:
    house.write("p", HOLD)
    house.open()
    live = await house.begin(None, "p")
    await house.reached(live, "TOOL_STARTED")
    waiting = asyncio.ensure_future(house.pipeline.wait(live, 20))
    await asyncio.sleep(0)
    await house.pipeline.stop(0)
    await waiting
    assert house.types(live) == ["TASK_RECEIVED", "TOOL_STARTED"]
    (entry,) = await house.journal.unfinished(after=0, limit=9)
    assert (entry.id, entry.status) == (live.id, "running")


async def test_what_is_made_safe_while_hermes_stops_is_not_begun(durable: House) -> None:
    house = durable
    house.write("p", ECHO)
    house.open()
    submitted = asyncio.ensure_future(house.submit(None, "p"))
    await asyncio.sleep(0)  # it was admitted, and its commit is under way
    await house.pipeline.stop(0)
    live = (await submitted).message
    assert isinstance(live, Live)
    await house.pipeline.wait(live, 20)
    assert (house.types(live), live.task) == ([], None)
    assert [entry.id for entry in await house.journal.unfinished(after=0, limit=9)] == [live.id]


async def test_an_entry_that_cannot_be_read_keeps_no_other_from_going_on(house: House, book: Logbook) -> None:
    house.write("p", HOLD)
    house.open()
    first, second = [await house.begin(None, "p", request_id=name) for name in ("r1", "r2")]
    await house.reached(second, "TOOL_STARTED")
    await house.journal.update(replace(first.to_entry(None), record=b'{"no":"record"}'))
    again = await next_start(house, book, recovered=1)
    (again.data("p") / "go").touch()
    await eventually(lambda: not len(again.pipeline.live))
    assert shown(await again.shelf.find("r2", owner=None))["status"] == "succeeded"
    assert [line["request_id"] for line in book.lines(event="entry_unreadable")] == ["r1"]
    await again.stop()


async def next_start(house: House, book: Logbook, *, recovered: int) -> House:
    """Leave a house as a kill would, and open another on the same journal and folders."""
    await house.stop()
    again = House(house.home, book)
    again.journal = house.journal
    again.open()
    assert await again.pipeline.recover() == recovered
    return again


async def test_after_a_restart_what_may_be_repeated_is_run_and_all_else_is_told(
    house: House, book: Logbook
) -> None:
    for name, intent in (("reads", {}), ("writes", {"writes": True, "confirm": False})):
        house.write(name, HOLD, concurrency=1, intents=[{"name": name, **intent}])
    house.open()
    lives = {}
    for name in ("reads", "writes"):
        for state in ("running", "waiting"):
            lives[name, state] = await house.begin(
                None, name, request_id=f"{name}-{state}", payload={"text": "重启"}
            )
        await house.reached(lives[name, "running"], "TOOL_STARTED")
    await eventually(lambda: house.plugin("writes")["queue_depth"] == 1)
    again = await next_start(house, book, recovered=4)
    for name in ("reads", "writes"):
        (again.data(name) / "go").touch()
    await eventually(lambda: not len(again.pipeline.live))
    ends = {}
    for key, live in lives.items():
        record = shown(await again.shelf.find(live.record.message.request_id, owner=None))
        error = record["envelope"]["error"]
        ends[key] = (record["attempts"], error and error["code"], record["envelope"]["warning"])
    assert ends == {
        ("reads", "running"): (2, None, None),
        ("reads", "waiting"): (1, None, None),
        ("writes", "running"): (1, "interrupted", "该操作可能已经生效。"),
        ("writes", "waiting"): (1, None, None),
    }
    await again.stop()


async def test_a_message_that_three_daemons_did_not_survive_is_given_up(house: House, book: Logbook) -> None:
    house.write("p", HOLD)
    house.open()
    live = await house.begin(None, "p", request_id="r1")
    for _ in range(2):
        await house.reached(live, "TOOL_STARTED")
        house = await next_start(house, book, recovered=1)
        (live,) = house.pipeline.live
    await house.reached(live, "TOOL_STARTED")
    house = await next_start(house, book, recovered=1)
    await eventually(lambda: not len(house.pipeline.live))
    record = shown(await house.shelf.find("r1", owner=None))
    assert (record["attempts"], record["envelope"]["error"]["code"]) == (3, "plugin_crashed")
    await house.stop()


async def test_what_is_under_way_is_bounded_in_bytes_too(house: House) -> None:
    house.write("p", HOLD)
    house.open(
        PipelineSettings(
            pending=100, pending_bytes=5000, result_bytes=1 << 20, inline_bytes=1 << 16, locale="auto"
        )
    )
    live = await house.begin(None, "p", payload={"text": "部署" * 1000})
    with pytest.raises(RateLimited):
        await house.submit(None, "p")
    (house.data("p") / "go").touch()
    await house.end(live)
    assert house.pipeline.live.size == 0
    assert (await house.send(None, "p"))["status"] == "succeeded"
