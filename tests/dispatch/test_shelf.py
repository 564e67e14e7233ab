from __future__ import annotations

import json
from typing import Any

import pytest

from hermes.auth.policy import Caller
from hermes.dispatch.live import Live
from hermes.dispatch.shelf import has_ended, raw_json
from hermes.errors import NotFound
from hermes.journal.base import Query
from hermes.messages import Principal
from tests.support.bench import HOLD, eventually
from tests.support.consent import ask, write_deploy
from tests.support.house import House, shown
from tests.support.logbook import Logbook

CI = Caller(Principal("key", "ci"), frozenset({"messages", "read"}))


async def page(house: House, **wanted: Any) -> tuple[list[str], int | None]:
    """Return the request_ids of a page, and where the next one starts."""
    records, cursor = await house.shelf.page(Query(**wanted))
    return [json.loads(record)["request_id"] for record in records], cursor


async def a_mixture(house: House) -> None:
    """Leave two messages that have ended, one that runs and one that waits."""
    house.write("p", HOLD, concurrency=1)
    house.open()
    await house.send(None, "nobody", request_id="failed", session_id="s1")
    (house.data("p") / "go done").touch()
    await house.send(None, "p", request_id="done", session_id="s2")
    running = await house.begin(None, "p", request_id="running", session_id="s1", caller=CI)
    await house.reached(running, "TOOL_STARTED")
    await house.begin(None, "p", request_id="waiting", session_id="s2")
    await eventually(lambda: house.plugin("p")["queue_depth"] == 1)


async def test_messages_are_listed_newest_first_by_what_they_are_now(house: House) -> None:
    await a_mixture(house)
    assert await page(house) == (["waiting", "running", "done", "failed"], None)
    for wanted, found in [
        ({"status": "running"}, ["running"]),
        ({"status": "accepted"}, ["waiting"]),
        ({"status": "succeeded"}, ["done"]),
        ({"status": "failed"}, ["failed"]),
        ({"code": "no_match"}, ["failed"]),
        ({"session_id": "s2"}, ["waiting", "done"]),
        ({"owner": "key:ci"}, ["running"]),
        ({"owner": "key:ci", "status": "running"}, ["running"]),
        ({"owner": "local:local", "status": "running"}, []),
        ({"status": "awaiting_confirmation"}, []),
    ]:
        assert await page(house, **wanted) == (found, None), wanted


async def test_a_record_in_a_list_is_the_record_by_itself(house: House) -> None:
    await a_mixture(house)
    records, _ = await house.shelf.page(Query())
    for record in map(json.loads, records):
        assert record == shown(await house.shelf.find(record["request_id"], owner=None))


@pytest.mark.parametrize("status", [None, "accepted"])
async def test_pages_follow_each_other(house: House, status: str | None) -> None:
    house.write("p", HOLD, concurrency=1)
    house.open()
    lives = [await house.begin(None, "p", request_id=f"r{number}") for number in range(6)]
    await house.reached(lives[0], "TOOL_STARTED")  # before the worker is there, all six wait
    await eventually(lambda: house.plugin("p")["queue_depth"] == 5)
    found: list[str] = []
    cursor: int | None = None
    for _ in range(6):
        some, cursor = await page(house, status=status, limit=2, before=cursor)
        found += some
        if cursor is None:
            break
    assert found == [f"r{number}" for number in range(5, 0 if status else -1, -1)]


async def test_only_the_owner_and_who_sees_everything_finds_a_message(house: House) -> None:
    await a_mixture(house)
    for request_id, owner in (("running", "key:ci"), ("done", "local:local")):
        assert has_ended(await house.shelf.find(request_id, owner=owner)) == (request_id == "done")
        await house.shelf.find(request_id, owner=None)
        with pytest.raises(NotFound, match=request_id):
            await house.shelf.find(request_id, owner="key:other")


async def test_the_raw_data_is_there_once_a_message_has_ended(house: House) -> None:
    await a_mixture(house)
    raw = {one: raw_json(await house.shelf.find(one, owner=None)) for one in ("done", "failed", "running")}
    assert raw == {"done": b'"done"', "failed": None, "running": None}


async def pages(house: House, limit: int, **wanted: Any) -> list[str]:
    """Return the request_ids of all pages of a list, one after the other."""
    found: list[str] = []
    cursor: int | None = None
    for _ in range(20):
        some, cursor = await page(house, limit=limit, before=cursor, **wanted)
        assert len(some) <= limit
        found += some
        if cursor is None:
            return found
    raise AssertionError(f"there is no last page: {found}")


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
async def test_what_earlier_processes_left_is_listed_with_what_is_under_way_now(
    house: House, book: Logbook, limit: int
) -> None:
    write_deploy(house)
    house.write("p", HOLD, concurrency=1)
    house.open()
    old = [await house.begin(None, "p", request_id=f"old{number}") for number in range(6)]
    await house.reached(old[0], "TOOL_STARTED")
    for number in range(3):
        await ask(house, request_id=f"ask{number}", caller=CI)
    await house.stop()
    again = House(house.home, book)
    again.journal = house.journal
    again.open()
    assert await again.pipeline.backlog.open() == 9  # it is not begun to be worked off
    try:
        new = await again.begin(None, "p", request_id="new0")
        await again.reached(new, "TOOL_STARTED")
        await again.begin(None, "p", request_id="new1")
        for request_id in ("old4", "old2", "ask1"):  # who asks for a message has it taken up
            assert isinstance(await again.shelf.find(request_id, owner=None), Live)
        await eventually(lambda: again.plugin("p")["queue_depth"] == 3)
        under_way = {
            "accepted": ["new1", "old5", "old4", "old3", "old2", "old1"],
            "running": ["new0", "old0"],
            "awaiting_confirmation": ["ask2", "ask1", "ask0"],
        }
        for status, expected in under_way.items():
            assert await pages(again, limit, status=status) == expected
        everything = [
            "new1",
            "new0",
            "ask2",
            "ask1",
            "ask0",
            *(f"old{number}" for number in range(5, -1, -1)),
        ]
        assert await pages(again, limit) == everything
        assert await pages(again, limit, status="awaiting_confirmation", owner="local:local") == []
        await again.pipeline.confirm(await again.shelf.find("ask0", owner=None), CI, approve=False)
        assert await pages(again, limit, status="awaiting_confirmation") == ["ask2", "ask1"]
    finally:
        await again.stop()
