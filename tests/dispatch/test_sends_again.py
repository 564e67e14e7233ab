"""A message that is run or tried again finds what it has sent before."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hermes.errors import Conflict
from hermes.journal.base import Query
from tests.support.bench import HOLD, eventually
from tests.support.consent import ADMIN, ASKER, NOTE, keys, runs
from tests.support.doer import Doer
from tests.support.house import House, shown
from tests.support.sending import Sender, error_of

Restart = Callable[[House], Awaitable[House]]
WRITES = {"intents": [{"name": "p", "writes": True, "confirm": False}]}


async def test_a_message_that_is_run_again_is_given_what_has_become_of_what_it_sent(durable: House) -> None:
    house, sender = durable, Sender(durable)
    house.write("p", NOTE, **WRITES)
    house.write("hold", HOLD, intents=[{"name": "hold", "writes": True, "confirm": False}])
    house.open()
    live = await sender.begin(("p", {"n": 1}), ("hold", {}))
    child = await sender.child("r1.2")
    await house.reached(child, "TOOL_STARTED")
    await sender.fall()
    await eventually(lambda: house.types(live).count("TOOL_STARTED") == 2)
    (house.data("hold") / "go").touch()
    record = await house.end(live)
    assert [(one["data"], one["error"]) for one in record["envelope"]["data"]] == [
        ({"n": 1}, None),
        ("r1.2", None),
    ]
    assert (record["attempts"], shown(child)["attempts"], runs(house, "p")) == (2, 1, ["r1.1"])
    assert len(await house.journal.select(Query())) == 3


async def test_another_message_in_the_place_of_one_that_was_sent_is_refused(house: House) -> None:
    sender = Sender(house)
    house.write("p", NOTE)
    house.write("hold", HOLD)
    house.open()
    live = await sender.begin(("p", {"n": 1, "名": "甲"}), ("p", {"n": 2}), ("hold", {}))
    await house.reached(await sender.child("r1.3"), "TOOL_STARTED")
    sender.day(send=[("hold", {"n": 1}), ("p", {"n": 3}), ("p", {}), ("p", {"n": 4})])
    await sender.fall()
    answers = (await house.end(live))["envelope"]["data"]
    assert answers[:3] == [
        f"SendRefused: send {n}: r1.{n} was sent before with another intent or payload" for n in (1, 2, 3)
    ]
    assert answers[3]["data"] == {"n": 4}
    assert runs(house, "p") == ["r1.1", "r1.2", "r1.4"]


async def test_the_same_with_its_members_in_another_order_is_the_same(house: House) -> None:
    sender = Sender(house)
    house.write("p", NOTE)
    house.write("hold", HOLD)
    house.open()
    live = await sender.begin(("p", {"a": 1, "b": {"c": 2, "d": 3}}), ("hold", {}))
    await house.reached(await sender.child("r1.2"), "TOOL_STARTED")
    sender.day(send=[("p", {"b": {"d": 3, "c": 2}, "a": 1})])
    await sender.fall()
    (envelope,) = (await house.end(live))["envelope"]["data"]
    assert (envelope["data"], runs(house, "p")) == ({"a": 1, "b": {"c": 2, "d": 3}}, ["r1.1"])


@pytest.mark.parametrize("writes", [False, True])
async def test_what_was_sent_before_a_restart_is_waited_for_or_its_end_is_told(
    durable: House, restart: Restart, *, writes: bool
) -> None:
    sender = Sender(durable)
    durable.write("p", NOTE, **WRITES)
    durable.write("hold", HOLD, intents=[{"name": "hold", "writes": writes, "confirm": False}])
    durable.open()
    await sender.begin(("p", {"n": 1}), ("hold", {}), payload={"text": "中文"})
    await durable.reached(await sender.child("r1.2"), "TOOL_STARTED")
    again = await restart(durable)
    sender.house = again
    live = await sender.child("r1")
    await again.reached(live, "TOOL_STARTED")
    (again.data("hold") / "go").touch()
    first, second = (await again.end(live))["envelope"]["data"]
    assert (first["data"], runs(again, "p")) == ({"n": 1}, ["r1.1"])
    record = await sender.record("r1.2")
    if writes:
        assert error_of(second)[0] == "interrupted"
        assert (second["warning"], record["attempts"]) == ("该操作可能已经生效。", 1)
    else:
        assert (second["data"], second["error"], record["attempts"]) == ("r1.2", None, 2)
    assert second == record["envelope"]


async def test_what_waited_before_a_restart_is_waited_for_afterwards_and_speaks_its_language(
    durable: House, restart: Restart
) -> None:
    sender = Sender(durable)
    code = HOLD.replace("return name", "return [context['locale'], context['deadline']]")
    durable.write("hold", code, concurrency=1, timeout=500)
    durable.open()
    first = await durable.begin(None, "hold", request_id="r0")
    await durable.reached(first, "TOOL_STARTED")
    await sender.begin(("hold", {"n": "one"}), payload={"text": "中文"})
    await eventually(lambda: durable.plugin("hold")["queue_depth"] == 1)
    again = await restart(durable)
    sender.house = again
    live, child = await sender.child("r1"), await sender.child("r1.1")
    (again.data("hold") / "go").touch()
    (envelope,) = (await again.end(live))["envelope"]["data"]
    record = await again.end(child)
    assert (record["parent"], record["attempts"], record["metadata"]["hops"]) == ("r1", 1, 1)
    locale, deadline = envelope["data"]
    assert locale == "zh"
    assert deadline < record["finished_at"] + 20.5, "it has no more time than what sent it"


async def test_what_was_too_large_to_be_shown_is_whole_after_a_restart_as_well(
    durable: House, restart: Restart
) -> None:
    sender = Sender(durable)
    durable.write(
        "p", "async def handle(message, context):\n    return {'data': '部' * 50000, 'warning': 'tired'}\n"
    )
    durable.write("hold", HOLD)
    sender.day(send=[("p", {}), ("hold", {})])
    durable.open()
    await sender.begin()
    await durable.reached(await sender.child("r1.2"), "TOOL_STARTED")
    again = await restart(durable)
    sender.house = again
    live = await sender.child("r1")
    (again.data("hold") / "go").touch()
    await again.end(live)
    assert live.record.envelope is not None
    assert (live.record.attempts, live.record.envelope.error) == (2, None)
    first = live.record.envelope.data[0]
    assert (first["data"], first["error"], first["warning"]) == ("部" * 50000, None, "tired")


async def test_a_step_of_a_child_is_done_once_whatever_is_tried_again(house: House) -> None:
    sender, doer = Sender(house), Doer(house)
    Sender(house, "middle")
    house.open()
    down: list[tuple[str, Any]] = [("middle", {"send": [("p", {})]})]
    for number in (1, 2, 3):
        members = {"request_id": f"r{number}"} | ({"retry_of": f"r{number - 1}"} if number > 1 else {})
        if number == 1:
            live = await sender.begin(*down, payload={"then": "fail"})
        else:
            live = await house.begin(**members)
        await house.end(live)
    assert doer.effects == ["r1.1.1"]
    ids = {entry.request_id for entry in await house.journal.select(Query())}
    assert ids == {f"r{number}{child}" for number in (1, 2, 3) for child in ("", ".1", ".1.1")}
    for number in (1, 2, 3):
        record = await sender.record(f"r{number}.1.1")
        assert record["envelope"]["data"] == {"ticket": "OPS-7", "n": 1}


async def test_the_key_of_a_child_stays_the_same_over_the_retries_of_its_parent(durable: House) -> None:
    house, sender = durable, Sender(durable)
    house.write("p", NOTE)
    house.open()
    sender.day(then="fail")
    await house.end(await sender.begin(caller=ASKER))
    sender.day(send=[("p", {})], then="fail")
    await house.send(retry_of="r1", request_id="r2", caller=ASKER)
    await house.send(retry_of="r2", request_id="r3", caller=ADMIN)
    await house.send(retry_of="r1", request_id="r4", caller=ASKER)
    assert (runs(house, "p"), keys(house, "p")) == (["r2.1", "r3.1", "r4.1"], ["r1.1"] * 3)
    origins = {entry.origin for entry in await house.journal.select(Query()) if "." in entry.request_id}
    assert origins == {"key:ci/r1.1@1000000000.000"}


async def test_of_a_child_and_its_retries_one_is_under_way_at_a_time(durable: House) -> None:
    house, sender = durable, Sender(durable)
    hold = HOLD.replace("return name", "return {'error': name}")
    house.write("hold", hold)
    house.open()
    (house.data("hold")).mkdir(parents=True, exist_ok=True)
    (house.data("hold") / "go r1.1").touch()
    await house.end(await sender.begin(("hold", {}), payload={"then": "fail"}))
    parent = await house.begin(retry_of="r1", request_id="r2")
    await house.reached(await sender.child("r2.1"), "TOOL_STARTED")
    with pytest.raises(Conflict, match="under way"):
        await house.submit(retry_of="r1.1")
    (house.data("hold") / "go r2.1").touch()
    await house.end(parent)
    by_hand = await house.begin(retry_of="r1.1", request_id="x1")
    await house.reached(by_hand, "TOOL_STARTED")
    sender.day(send=[("hold", {})], then="")
    record = await house.send(retry_of="r2", request_id="r3")
    assert record["envelope"]["data"] == [
        "StillRunning: a retry of r1.1 is under way already: x1, which may wait for a confirmation"
    ]
    (house.data("hold") / "go").touch()
    await house.end(by_hand)


async def test_a_child_that_outlives_its_parent_holds_up_the_same_child_of_a_retry(house: House) -> None:
    sender = Sender(house)
    house.write("hold", HOLD)
    house.open()
    record = await house.end(await sender.begin(("hold", {}), payload={"leave": True, "then": "fail"}))
    assert record["status"] == "failed"
    child = await sender.child("r1.1")
    sender.day(leave=False, then="")
    record = await house.send(retry_of="r1", request_id="r2")
    assert record["envelope"]["data"] == ["StillRunning: r1.1, which an earlier try sent, is under way still"]
    (house.data("hold") / "go").touch()
    assert (await house.end(child))["status"] == "succeeded"


async def test_in_the_chain_of_a_child_there_is_no_message_of_anybody_else(house: House) -> None:
    sender = Sender(house)
    house.write("p", NOTE)
    house.open()
    sender.day(then="fail")
    await house.end(await sender.begin())
    await house.send(None, "p", request_id="r1.1")
    sender.day(send=[("p", {})], then="")
    record = await house.send(retry_of="r1", request_id="r2")
    assert record["envelope"]["data"] == ["SendRefused: send 1: r1.1 is the id of another message"]
    assert runs(house, "p") == ["r1.1"]
