"""Failed work is run again under one key, one attempt of a chain at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from hermes.auth.policy import Caller
from hermes.dispatch.live import Live
from hermes.dispatch.retries import UnderWay
from hermes.errors import Conflict, NotFound, Unavailable
from hermes.journal.base import Entry, Query
from tests.support.bench import HOLD, eventually
from tests.support.consent import ADMIN, ASKER, OTHER
from tests.support.house import House, shown
from tests.support.journals import FragileJournal
from tests.support.retrying import FALL, HOLD_AND_FAIL, failed, mend, retry, used

Restart = Callable[[House], Awaitable[House]]


async def test_a_retry_is_a_new_message_with_what_the_old_one_had(durable: House) -> None:
    durable.write("p", FALL)
    durable.open()
    old = await failed(durable, payload={"n": 7}, metadata={"from": "old"})
    mend(durable)
    new = await durable.end(await retry(durable))
    assert new["request_id"] != "r1"
    assert (new["status"], new["retry_of"], new["session_id"]) == ("succeeded", "r1", "s1")
    assert new["message"]["payload"] == old["message"]["payload"] == {"n": 7, "text": "今天 p"}
    assert (new["envelope"]["data"], new["metadata"], new["attempts"]) == (old["message"]["payload"], {}, 1)
    assert (old["retry_of"], used(durable)) == (None, ["r1", "r1"])
    assert shown(await durable.shelf.find("r1", owner=None)) == old
    elsewhere = await retry(durable, session_id="s2")
    assert (await durable.end(elsewhere))["session_id"] == "s2"


async def test_a_chain_of_retries_keeps_the_key_of_its_first(durable: House, restart: Restart) -> None:
    durable.write("p", FALL)
    durable.open()
    await failed(durable)
    house = durable
    for number in (2, 3):
        await house.end(await retry(house, f"r{number}", of=f"r{number - 1}"))
    house = await restart(house)
    mend(house)
    record = await house.end(await retry(house, "r4", of="r3"))
    assert (record["status"], record["retry_of"]) == ("succeeded", "r3")
    await house.end(await retry(house, "r5", of="r2"))
    assert used(house) == ["r1"] * 5
    assert {entry.origin for entry in await house.journal.select(Query())} == {
        None,
        "local:local/r1@1000000000.000",
    }


@pytest.mark.parametrize("last", [OTHER, ADMIN], ids=["another", "an admin"])
async def test_whose_message_it_is_says_who_may_try_again(house: House, last: Caller) -> None:
    house.write("p", FALL)
    house.open()
    await failed(house, caller=ASKER)
    if last is ADMIN:
        record = await house.end(await retry(house, "r1", caller=ADMIN))
        assert (record["principal"]["id"], record["retry_of"], used(house)) == ("root", "r1", ["r1", "r1"])
        return
    with pytest.raises(NotFound):
        await retry(house, caller=last)
    with pytest.raises(NotFound):
        await retry(house, of="nobody", caller=ASKER)
    assert len(await house.journal.select(Query())) == 1


async def test_only_what_has_failed_can_be_tried_again(house: House) -> None:
    house.write("p", HOLD)
    house.open()
    live = await house.begin(None, "p", request_id="r1")
    with pytest.raises(Conflict, match="has not ended yet"):
        await retry(house)
    await house.reached(live, "TOOL_STARTED")
    with pytest.raises(Conflict, match="has not ended yet"):
        await retry(house)
    (house.data("p") / "go").touch()
    await house.end(live)
    with pytest.raises(Conflict, match="has succeeded"):
        await retry(house)


async def held(house: House) -> None:
    """Open a house in which r1 has failed, and whatever runs from now on is held."""
    house.write("p", HOLD_AND_FAIL)
    house.open()
    (house.data("p")).mkdir(parents=True, exist_ok=True)
    (house.data("p") / "go r1").touch()
    await failed(house)


async def test_invariant_one_retry_of_a_chain_is_under_way_at_a_time(durable: House) -> None:
    house = durable
    await held(house)
    answers = await asyncio.gather(*(retry(house, f"a{n}") for n in range(10)), return_exceptions=True)
    (first,) = [answer for answer in answers if isinstance(answer, Live)]
    assert [type(answer) for answer in answers].count(UnderWay) == 9
    (house.data("p") / f"go {first.record.message.request_id}").touch()
    await house.end(first)
    second = await retry(house, "r2", of=first.record.message.request_id)
    await house.reached(second, "TOOL_STARTED")
    for older in ("r1", first.record.message.request_id):
        with pytest.raises(Conflict, match="under way"):
            await retry(house, of=older)
    (house.data("p") / "go").touch()
    await house.end(second)
    await house.end(await retry(house))


async def test_chains_do_not_hold_each_other_up(house: House) -> None:
    await held(house)
    (house.data("p") / "go x1").touch()
    for request_id, caller in (("r1", ASKER), ("x1", ASKER), ("r1", OTHER)):
        await failed(house, request_id, caller=caller)
    for request_id, caller in (("r1", ASKER), ("x1", ASKER), ("r1", OTHER)):
        await retry(house, of=request_id, caller=caller)
    with pytest.raises(Conflict):
        await retry(house, of="x1", caller=ASKER)


async def test_a_retry_that_waits_since_before_a_restart_is_under_way(house: House, restart: Restart) -> None:
    house.journal = journal = FragileJournal()
    await held(house)
    live = await retry(house, "r2")
    await house.reached(live, "TOOL_STARTED")
    await house.stop()
    journal.away = True
    again = await restart_without_reading(house, restart, journal)
    with pytest.raises(Conflict, match="under way"):
        await retry(again)
    receipt = await again.submit(retry_of="r1", request_id="r2")
    assert (receipt.replayed, len(again.pipeline.live)) == (True, 1)
    (again.data("p") / "go").touch()
    await eventually(lambda: not len(again.pipeline.live))
    assert shown(await again.shelf.find("r2", owner=None))["attempts"] == 2
    await again.end(await retry(again))


async def restart_without_reading(house: House, restart: Restart, journal: FragileJournal) -> House:
    """Start again while the journal cannot be read, so that nothing is taken up, and let it be read then."""
    again = await restart(house)
    await eventually(lambda: again.book.lines(event="backlog_not_read"))
    journal.away = False
    assert len(again.pipeline.live) == 0
    return again


async def test_the_same_request_again_gives_the_same_retry_whatever_has_become_of_it(
    durable: House, restart: Restart
) -> None:
    await held(durable)
    receipts = await asyncio.gather(*(durable.submit(retry_of="r1", request_id="r2") for _ in range(10)))
    assert sorted(receipt.replayed for receipt in receipts) == [False] + [True] * 9
    live = receipts[0].message
    assert isinstance(live, Live)
    assert all(receipt.message is live for receipt in receipts)
    with pytest.raises(Conflict, match="another body"):
        await durable.submit("other", "p", request_id="r2")
    (durable.data("p") / "go").touch()
    record = await durable.end(live)
    house = durable
    for _ in range(2):
        receipt = await house.submit(retry_of="r1", request_id="r2")
        assert isinstance(receipt.message, Entry)
        assert (receipt.replayed, shown(receipt.message)) == (True, record)
        for text, of in ((None, "r2"), ("other", None)):
            with pytest.raises(Conflict, match="another body"):
                await house.submit(text, retry_of=of, request_id="r2")
        house = await restart(house)
    assert record["attempts"] == 1


async def test_while_the_journal_is_away_nothing_is_tried_again(house: House) -> None:
    house.journal = journal = FragileJournal()
    await held(house)
    journal.away = True
    with pytest.raises(Unavailable):
        await house.submit(retry_of="r1")
    with pytest.raises(Unavailable):
        await house.submit(retry_of="r1", request_id="r2")
    journal.away = False
    assert len(house.pipeline.live) == 0
    assert not (await house.submit(retry_of="r1", request_id="r2")).replayed


async def test_a_retry_that_was_not_kept_holds_up_no_other(house: House) -> None:
    house.journal = journal = FragileJournal()
    await held(house)
    journal.slow = True
    keeping = asyncio.ensure_future(house.submit(retry_of="r1", request_id="r2"))
    await eventually(lambda: len(house.pipeline.live))
    journal.away = True
    journal.slow = False
    with pytest.raises(Unavailable):
        await keeping
    journal.away = False
    await retry(house, "r3")
