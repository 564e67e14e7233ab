"""How many messages may wait for one plugin: what is over that is refused before it is kept, and what was kept runs."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from hermes.dispatch.live import Live
from hermes.errors import RateLimited
from tests.support.bench import HOLD, eventually
from tests.support.consent import ask, write_deploy
from tests.support.house import SETTINGS, House, Shown

THREE = replace(SETTINGS, plugin_queue=3)
ECHO = "async def handle(message, context):\n    return message['payload']\n"


async def fill(house: House, count: int, intent: str = "p", **members: Any) -> list[Live]:
    """Hand in as many messages as there is room for, and see that there is none for another."""
    taken = [await house.begin(None, intent, **members) for _ in range(count)]
    with pytest.raises(RateLimited, match=f"{count} messages for p are waiting already") as refused:
        await house.begin(None, intent, **members)
    assert refused.value.retry_after
    return taken


async def let_go(house: House, messages: list[Live]) -> list[Shown]:
    (house.data("p") / "go").touch()
    return [await house.end(one) for one in messages]


async def test_beside_what_a_plugin_runs_at_a_time_only_so_many_messages_may_wait_for_it(
    house: House,
) -> None:
    house.write("p", HOLD, concurrency=2)
    house.open(THREE)
    taken = await fill(house, 5)
    await house.reached(taken[0], "TOOL_STARTED")
    first = taken[0].record.message.request_id
    (house.data("p") / f"go {first}").touch()
    await house.end(taken[0])
    taken.append(await house.begin(None, "p"))
    with pytest.raises(RateLimited):
        await house.begin(None, "p")
    records = await let_go(house, taken)
    assert [one["status"] for one in records] == ["succeeded"] * 6
    assert sorted((house.data("p")).glob("began *")) == sorted(
        house.data("p") / f"began {one['message']['request_id']}" for one in records
    )
    assert (await house.send(None, "p"))["status"] == "succeeded"


async def test_what_a_plugin_may_run_at_a_time_is_that_of_all_its_workers_even_before_they_are_there(
    house: House,
) -> None:
    house.write("p", HOLD, concurrency=2, workers={"min": 0, "max": 3})
    house.open(THREE)
    records = await let_go(house, await fill(house, 9))
    assert {one["status"] for one in records} == {"succeeded"}


async def test_others_have_room_all_the_while(house: House) -> None:
    house.write("p", HOLD, concurrency=1)
    house.write("q", ECHO, intents=[{"name": "q", "keywords": {"复述": 0.9, "repeat": 0.9}}])
    house.open(THREE)
    taken = await fill(house, 4)
    assert (await house.send(None, "q"))["status"] == "succeeded"
    for sentence in ("复述一遍", "repeat it", "什么都不是"):
        assert (await house.send(sentence))["status"] in {"succeeded", "failed"}
    assert (await house.send(None, "nobody"))["envelope"]["error"]["code"] == "no_match"
    await let_go(house, taken)


async def test_all_intents_of_a_plugin_wait_in_one_queue_however_they_were_asked_for(house: House) -> None:
    intents: list[dict[str, Any]] = [
        {"name": "p", "keywords": {"等": 0.9, "hold": 0.9}},
        {"name": "p.other", "keywords": {"另": 0.9}},
    ]
    house.write("p", HOLD, concurrency=1, intents=intents)
    house.open(THREE)
    taken = [await house.begin(None, "p"), await house.begin("等一下"), await house.begin("另一个")]
    taken.append(await house.begin(None, "p.other"))
    for members in ({"intent": "p.other"}, {"text": "hold on"}, {"text": "/p"}):
        with pytest.raises(RateLimited):
            await house.begin(**members)
    assert {one["status"] for one in await let_go(house, taken)} == {"succeeded"}


async def test_what_waits_for_a_person_takes_nobodys_place(house: House) -> None:
    write_deploy(house, plugin="p")
    house.open(THREE)
    asked = [await ask(house) for _ in range(12)]
    assert [one.parked is not None for one in asked] == [True] * 12
    assert (await house.send(None, "deploy", approve=True))["status"] == "succeeded"


async def test_a_repetition_is_found_although_there_is_no_room_for_more(house: House) -> None:
    house.write("p", HOLD, concurrency=1)
    house.open(THREE)
    known = await house.begin(None, "p", request_id="r1")
    taken = [await house.begin(None, "p") for _ in range(3)]
    with pytest.raises(RateLimited):
        await house.begin(None, "p", request_id="r2")
    receipt = await house.submit(None, "p", request_id="r1")
    assert (receipt.message, receipt.replayed) == (known, True)
    await let_go(house, [known, *taken])


async def test_a_retry_for_which_there_is_no_room_holds_up_no_other(house: House) -> None:
    code = HOLD.replace(
        "    data, name", "    if message['payload'].get('fail'): return {'error': 'no'}\n    data, name"
    )
    house.write("p", code, concurrency=1)
    house.open(THREE)
    await house.send(None, "p", payload={"fail": True}, request_id="r1")
    taken = await fill(house, 4)
    with pytest.raises(RateLimited):
        await house.begin(retry_of="r1", request_id="r2")
    await let_go(house, taken)
    record = await house.send(retry_of="r1", request_id="r2")
    assert (record["retry_of"], record["envelope"]["error"]["message"]) == ("r1", "no")


async def test_what_a_plugin_sends_to_one_that_has_no_room_is_overloaded_and_nobody_waits(
    house: House,
) -> None:
    house.write("sender", "async def handle(message, context):\n    return await context['send']('p', {})\n")
    house.write("p", HOLD, concurrency=1)
    house.open(THREE)
    taken = await fill(house, 4)
    error = (await house.send(None, "sender"))["envelope"]["error"]
    assert (error["code"], error["retryable"]) == ("overloaded", True)
    await let_go(house, taken)
    (house.data("p") / "go").unlink()
    assert house.metric("hermes_messages_refused_total", code="rate_limited") == 2


async def test_of_many_at_the_same_moment_just_as_many_are_taken_as_there_is_room_for(house: House) -> None:
    house.write("p", HOLD, concurrency=4)
    house.open(THREE)
    answers = await asyncio.gather(*(house.begin(None, "p") for _ in range(60)), return_exceptions=True)
    taken = [one for one in answers if isinstance(one, Live)]
    assert len(taken) == 7
    assert {type(one) for one in answers if one not in taken} == {RateLimited}
    assert {one["status"] for one in await let_go(house, taken)} == {"succeeded"}
    assert len(house.pipeline.live) == 0
    records = await asyncio.gather(*(house.send(None, "p") for _ in range(7)))
    assert {one["status"] for one in records} == {"succeeded"}


async def test_what_an_earlier_process_had_accepted_runs_however_much_it_is(durable: House) -> None:
    durable.write("p", HOLD, concurrency=1)
    durable.open()
    sent = [await durable.begin(None, "p") for _ in range(20)]
    await durable.stop()
    again = House(durable.home, durable.book)
    again.journal = durable.journal
    again.open(THREE)
    await again.pipeline.recover()
    (again.data("p") / "go").touch()
    await eventually(lambda: again.plugin("p")["calls"] == 20)
    await eventually(lambda: len(again.pipeline.live) == 0)
    for one in sent:
        entry = await again.journal.find(one.record.message.request_id, owner=one.owner)
        assert entry is not None
        assert entry.status == "succeeded"
    assert (await again.send(None, "p"))["status"] == "succeeded"
    await again.stop()
