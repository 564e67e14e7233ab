"""The table of what is under way holds one message of each id: the one that is really under way."""

from __future__ import annotations

from dataclasses import replace

from tests.support.bench import HOLD
from tests.support.house import House


async def test_what_was_sent_again_and_is_let_go_leaves_the_message_that_took_its_place(house: House) -> None:
    house.write("p", HOLD)
    house.open()
    ours, table = await house.begin(None, "p", request_id="r1", payload={"text": "部署"}), house.pipeline.live
    size = table.size
    again = replace(ours, kept=False)
    table.add(again)
    assert (table.get(ours.key), len(table), table.size) == (again, 1, size)
    table.add(ours)  # as a message of an earlier process is, whose turn comes at this moment
    table.remove(again)
    assert (table.get(ours.key), len(table), table.size) == (ours, 1, size)
    table.remove(ours)
    table.remove(ours)
    assert (table.get(ours.key), len(table), table.size) == (None, 0, 0)
    table.add(ours)
