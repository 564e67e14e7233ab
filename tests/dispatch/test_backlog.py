"""What an earlier process left is worked off once each, beside what is new, and what is asked for has its turn at once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from hermes.dispatch.live import Live
from hermes.dispatch.shelf import has_ended
from hermes.errors import Conflict
from hermes.journal.base import Entry, Query
from tests.support.bench import HOLD, eventually
from tests.support.house import ME, House, shown
from tests.support.leftovers import Leftovers
from tests.support.logbook import Logbook

RUN = """
from pathlib import Path

async def handle(message, context):
    with (Path(context["data_dir"]) / "runs").open("a") as runs:
        runs.write(message["request_id"] + "\\n")
    return message["request_id"]
"""
"""A plugin that takes note of every run."""
WRITES = [{"name": "p", "writes": True}]


@pytest.fixture
def journal() -> Leftovers:
    return Leftovers()


@pytest.fixture
async def house(tmp_path: Path, book: Logbook, journal: Leftovers) -> AsyncIterator[House]:
    """A house after a restart: what was left is in `journal`."""
    house = House(tmp_path, book)
    house.journal = journal
    yield house
    journal.finds.set()
    journal.replays.set()
    await house.stop()


@pytest.fixture
async def again(house: House, book: Logbook, journal: Leftovers) -> AsyncIterator[House]:
    """The house after that one."""
    again = House(house.home, book)
    again.journal = journal
    yield again
    await again.stop()


def names(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


def runs(house: House, name: str = "p") -> list[str]:
    file = house.data(name) / "runs"
    return file.read_text().split() if file.exists() else []


async def begin(house: House) -> int:
    """Start a house, and return how many messages were left for it."""
    house.open()
    return await house.pipeline.recover()


async def worked_off(house: House) -> None:
    await eventually(lambda: not house.pipeline.backlog.waiting and not len(house.pipeline.live))


async def test_everything_that_was_left_ends_once_in_the_order_in_which_it_came(
    house: House, journal: Leftovers
) -> None:
    house.write("p", RUN, concurrency=1)
    house.write("q", RUN, concurrency=1)
    for number in range(60):
        journal.leave(f"p{number}", intent="p")
        journal.leave(f"q{number}", intent="q")
        journal.leave(f"n{number}", intent="nobody")
    assert await begin(house) == 180
    await worked_off(house)
    assert (runs(house), runs(house, "q")) == (names("p", 60), names("q", 60))
    assert await journal.unfinished() == 0
    assert len(await journal.select(Query(status="succeeded", limit=500))) == 120
    assert len(await journal.select(Query(code="no_match", limit=500))) == 60


async def test_a_plugin_that_hangs_holds_up_neither_the_backlog_of_others_nor_what_is_new(
    house: House, journal: Leftovers
) -> None:
    house.write("p", HOLD, concurrency=1)
    house.write("q", RUN)
    journal.leave(*names("p", 100))
    journal.leave(*names("q", 20), intent="q")
    await begin(house)
    await eventually(lambda: len(runs(house, "q")) == 20)
    assert (await house.send(None, "q", request_id="new"))["status"] == "succeeded"
    assert len(house.pipeline.live) == 1, "as many as the plugin can run"
    mine = await house.begin(None, "p", request_id="mine")
    for name in ("p0", "mine"):
        (house.data("p") / f"go {name}").touch()
    assert (await house.end(mine))["status"] == "succeeded", "after the one that was before it"
    assert await journal.unfinished() >= 98
    (house.data("p") / "go").touch()
    await worked_off(house)


async def test_what_is_asked_for_has_its_turn_at_once_and_only_once(house: House, journal: Leftovers) -> None:
    house.write("p", HOLD, concurrency=8)
    journal.leave(*names("p", 100))
    await begin(house)
    await eventually(lambda: len(house.pipeline.live) == 8)
    found = [await house.shelf.find("p99", owner="local:local") for _ in range(2)]
    assert isinstance(found[0], Live)
    assert found[0] is found[1]
    again = await house.submit(None, "p", request_id="p98")
    assert (isinstance(again.message, Live), again.replayed) == (True, True)
    with pytest.raises(Conflict, match="not ended yet"):
        await house.submit(None, None, retry_of="p97", request_id="retry")
    assert len(house.pipeline.live) == 10
    (house.data("p") / "go").touch()
    assert (await house.end(found[0]))["attempts"] == 1
    await worked_off(house)
    ends = await journal.select(Query(limit=500))
    assert {(entry.status, json.loads(entry.record)["attempts"]) for entry in ends} == {("succeeded", 1)}


async def test_what_is_asked_for_can_be_waited_for_and_cancelled_at_once(
    house: House, journal: Leftovers
) -> None:
    house.write("p", HOLD, concurrency=1)
    journal.leave(*names("p", 50))
    await begin(house)
    live = await house.shelf.find("p49", owner="local:local")
    assert isinstance(live, Live)
    house.pipeline.cancel(live)
    await house.pipeline.wait(live, 20)
    assert shown(live)["envelope"]["error"]["code"] == "cancelled"


async def test_a_question_that_is_asked_for_can_be_answered_at_once(house: House, journal: Leftovers) -> None:
    house.write("p", RUN, intents=WRITES)
    journal.replays.clear()
    journal.leave("p0", "p1", status="awaiting_confirmation")
    await begin(house)
    for name in ("p0", "p1"):
        live = await house.shelf.find(name, owner="local:local")
        assert isinstance(live, Live)
        await house.pipeline.wait(live, 20)  # not at all: it waits for a person
        await house.pipeline.confirm(live, ME, approve=name == "p0")
        await house.pipeline.wait(live, 20)
    assert runs(house) == ["p0"]
    journal.replays.set()
    await worked_off(house)
    assert runs(house) == ["p0"]


async def test_what_was_read_before_it_ended_is_not_run_again_by_who_read_it(
    house: House, journal: Leftovers
) -> None:
    house.write("p", RUN)
    journal.leave(*names("p", 3))
    journal.finds.clear()
    house.open()
    asked = [asyncio.ensure_future(house.shelf.find(name, owner=None)) for name in ("p0", "p2")]
    await eventually(lambda: journal.read == 2)
    await house.pipeline.recover()
    await worked_off(house)
    journal.finds.set()
    found = await asyncio.gather(*asked)
    assert [has_ended(one) for one in found] == [True, True]
    assert [shown(one)["status"] for one in found] == ["succeeded", "succeeded"]
    await worked_off(house)
    assert sorted(runs(house)) == names("p", 3)


async def test_what_is_asked_for_before_it_is_known_is_taken_up_once_too(
    house: House, journal: Leftovers
) -> None:
    house.write("p", RUN)
    journal.leave(*names("p", 120))
    journal.replays.clear()
    await begin(house)
    await asyncio.sleep(0)  # the first page has been read
    for name in ("p7", "p110"):
        live = await house.shelf.find(name, owner="local:local")
        assert isinstance(live, Live)
        await house.end(live)
    assert runs(house) == ["p7", "p110"]
    journal.replays.set()
    await worked_off(house)
    assert sorted(runs(house)) == sorted(names("p", 120))


async def test_what_waits_for_a_person_takes_nobodys_place(house: House, journal: Leftovers) -> None:
    house.write("p", RUN, concurrency=1, intents=[*WRITES, {"name": "reads"}])
    journal.leave(*names("parked", 30), status="awaiting_confirmation")
    journal.leave(*names("asks", 30))
    journal.leave(*names("reads", 5), intent="reads")
    await begin(house)
    await eventually(lambda: runs(house) == names("reads", 5))
    waiting = await journal.select(Query(status="awaiting_confirmation", limit=500))
    assert len(waiting) == 60
    assert not house.pipeline.backlog.waiting
    await eventually(lambda: len(house.pipeline.live) == 60)


async def test_a_journal_that_cannot_be_read_for_a_while_is_read_later(
    house: House, journal: Leftovers, book: Logbook
) -> None:
    house.write("p", RUN)
    journal.leave(*names("p", 10))
    journal.broken = 2
    await begin(house)
    await worked_off(house)
    assert runs(house) == names("p", 10)
    (reason,) = {line["reason"] for line in book.lines(event="backlog_not_read")}
    assert reason == "the journal cannot be read: disk I/O error"


async def test_a_stop_in_the_middle_leaves_the_rest_to_the_next_start(
    house: House, journal: Leftovers, again: House
) -> None:
    house.write("p", HOLD, concurrency=1)
    journal.leave(*names("p", 30))
    await begin(house)
    await eventually((house.data("p") / "began p0").exists)
    assert len(house.pipeline.live) == 1
    await house.pipeline.stop(0)
    assert isinstance(await house.shelf.find("p29", owner="local:local"), Entry)
    assert not house.pipeline.backlog.waiting
    await house.stop()
    assert await journal.unfinished() == 30
    (house.data("p") / "go").touch()
    assert await begin(again) == 30
    await worked_off(again)
    ends = await journal.select(Query(limit=500))
    attempts = [json.loads(entry.record)["attempts"] for entry in ends]
    assert ({entry.status for entry in ends}, sorted(attempts)) == ({"succeeded"}, [1] * 29 + [2])


async def test_a_message_of_this_process_is_none_of_the_backlog(house: House, journal: Leftovers) -> None:
    house.write("p", HOLD)
    journal.leave("old")
    journal.replays.clear()
    await begin(house)
    live = await house.begin(None, "p", request_id="new")
    entry = live.to_entry(None)
    assert house.pipeline.backlog.ask_for(entry) is None
    (house.data("p") / "go").touch()
    await house.end(live)
    assert house.pipeline.backlog.ask_for(entry) is None
    journal.replays.set()
    await worked_off(house)
    ends = await journal.select(Query())
    assert [json.loads(entry.record)["attempts"] for entry in ends] == [1, 1]


UNREADABLE = [
    {"record": b"\xff not json"},
    {"record": b'{"no":"record"}'},
    {"events": b"\xff not json"},
    {"events": b'[{"type":"TASK_RECEIVED"}]'},
    {"events": b"5"},
]


@pytest.mark.parametrize("members", UNREADABLE, ids=str)
async def test_what_cannot_be_read_is_told_and_takes_nobodys_place(
    house: House, journal: Leftovers, book: Logbook, members: dict[str, Any]
) -> None:
    house.write("p", RUN, concurrency=1)
    journal.leave(*names("bad", 5), **members)
    journal.leave(*names("bad", 5), intent="nobody", owner="key:ci", **members)
    journal.leave(*names("good", 5))
    await begin(house)
    await worked_off(house)
    assert runs(house) == names("good", 5)
    told = [line["request_id"] for line in book.lines(event="entry_unreadable")]
    assert sorted(told) == sorted(names("bad", 5) * 2)
    assert await journal.unfinished() == 10
    assert [line for line in book.lines(level="error") if "logger" in line] == []


async def test_a_large_backlog_is_worked_off_beside_what_is_new(house: House, journal: Leftovers) -> None:
    house.write("p", RUN)
    journal.leave(*names("n", 10_000), intent="nobody")
    await begin(house)
    assert (await house.send(None, "p"))["status"] == "succeeded"
    await worked_off(house)
    assert await journal.unfinished() == 0
