"""Stopping and starting again: what was accepted goes on, and nothing runs that must not."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from functools import partial

import pytest

from hermes.dispatch.live import Live
from hermes.errors import RateLimited, Unavailable
from tests.support.bench import HOLD, eventually
from tests.support.house import SETTINGS, House, shown
from tests.support.logbook import Logbook

ECHO = "async def handle(message, context):\n    return message['payload']\n"


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
    assert [entry.id for entry in await house.journal.replay(after=0, limit=9)] == [waiting.id]


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
    (entry,) = await house.journal.replay(after=0, limit=9)
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
    assert [entry.id for entry in await house.journal.replay(after=0, limit=9)] == [live.id]


async def test_an_entry_that_cannot_be_read_keeps_no_other_from_going_on(house: House, book: Logbook) -> None:
    house.write("p", HOLD)
    house.open()
    first, second = [await house.begin(None, "p", request_id=name) for name in ("r1", "r2")]
    await house.reached(second, "TOOL_STARTED")
    await house.journal.claim(replace(first.to_entry(None), record=b'{"no":"record"}'))
    again = await next_start(house, book, recovered=2)
    (again.data("p") / "go").touch()
    await worked_off(again, but=1)
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


async def worked_off(house: House, *, but: int = 0) -> None:
    """Wait until all that was left by an earlier process has ended, `but` for so many that cannot."""
    await eventually(lambda: not house.pipeline.backlog.waiting and not len(house.pipeline.live))
    assert await house.journal.unfinished() == but


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
    await worked_off(again)
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
    house.write("p", HOLD, intents=[{"name": "p", "writes": True, "idempotent": True, "confirm": False}])
    house.open()
    live = await house.begin(None, "p", request_id="r1")
    for _ in range(2):
        await house.reached(live, "TOOL_STARTED")
        house = await next_start(house, book, recovered=1)
        (live,) = await eventually(partial(list, house.pipeline.live))
    await house.reached(live, "TOOL_STARTED")
    house = await next_start(house, book, recovered=1)
    await worked_off(house)
    record = shown(await house.shelf.find("r1", owner=None))
    assert (record["attempts"], record["envelope"]["error"]["code"]) == (3, "plugin_crashed")
    assert record["envelope"]["warning"] == "It may have taken effect."
    await house.stop()


async def test_what_is_under_way_is_bounded_in_bytes_too(house: House) -> None:
    house.write("p", HOLD)
    house.open(replace(SETTINGS, pending_bytes=5000))
    live = await house.begin(None, "p", payload={"text": "部署" * 1000})
    with pytest.raises(RateLimited):
        await house.submit(None, "p")
    (house.data("p") / "go").touch()
    await house.end(live)
    assert house.pipeline.live.size == 0
    assert (await house.send(None, "p"))["status"] == "succeeded"
