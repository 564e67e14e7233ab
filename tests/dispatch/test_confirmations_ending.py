"""Questions that nobody answers in time, or in peace: the clock, cancels, a bad disk and the end of the daemon."""

from __future__ import annotations

import asyncio
import json

import pytest

from hermes.dispatch.shelf import has_ended
from hermes.errors import Conflict, Expired, Forbidden, Unavailable
from tests.support.bench import eventually
from tests.support.consent import ASKER, OTHER, ask, runs, write_deploy
from tests.support.house import House, shown
from tests.support.journals import FragileJournal


@pytest.mark.parametrize(
    ("env", "sentence"),
    [("生产", "无人及时确认，没有执行。"), ("prod", "Nobody confirmed it in time, and it has not run.")],
)
async def test_what_nobody_decides_in_time_ends_and_cannot_be_decided_any_more(
    house: House, env: str, sentence: str
) -> None:
    write_deploy(house, confirm={"expires": 0.1})
    house.open()
    live = await ask(house, request_id="r1", payload={"env": env})
    await eventually(lambda: has_ended(live))
    error = {"code": "confirmation_expired", "message": sentence, "retryable": False}
    assert shown(live)["envelope"]["error"] == error
    for message in (live, await house.shelf.find("r1", owner=None)):
        with pytest.raises(Expired):
            await house.pipeline.confirm(message, ASKER, approve=True)
    assert (shown(live)["confirmation"]["approved"], runs(house)) == (None, [])


async def test_a_decision_that_came_in_time_counts_however_long_the_disk_takes(
    house: House, fragile: FragileJournal
) -> None:
    write_deploy(house, confirm={"expires": 0.3})
    house.open()
    live = await ask(house)
    fragile.slow = True
    deciding = asyncio.ensure_future(house.pipeline.confirm(live, ASKER, approve=True))
    await asyncio.sleep(0.4)  # its time is over by now
    assert not has_ended(live)
    fragile.slow = False
    await deciding
    assert (await house.end(live))["status"] == "succeeded"


async def test_what_is_cancelled_while_it_waits_never_runs(house: House) -> None:
    write_deploy(house)
    house.open()
    live = await ask(house)
    house.pipeline.cancel(live)
    with pytest.raises(Conflict):  # in the same breath
        await house.pipeline.confirm(live, ASKER, approve=True)
    record = await house.end(live)
    assert (record["envelope"]["error"]["code"], record["envelope"]["warning"]) == ("cancelled", None)
    assert record["confirmation"]["approved"] is None
    with pytest.raises(Conflict) as refused:
        await house.pipeline.confirm(live, ASKER, approve=True)
    assert refused.type is Conflict
    with pytest.raises(Conflict):
        house.pipeline.cancel(live)
    assert runs(house) == []


async def test_what_is_being_decided_cannot_be_cancelled(house: House, fragile: FragileJournal) -> None:
    write_deploy(house)
    house.open()
    live = await ask(house)
    fragile.slow = True
    deciding = asyncio.ensure_future(house.pipeline.confirm(live, ASKER, approve=True))
    await asyncio.sleep(0)
    with pytest.raises(Conflict):
        house.pipeline.cancel(live)
    fragile.slow = False
    await deciding
    assert (await house.end(live))["status"] == "succeeded"


async def test_a_decision_that_cannot_be_kept_is_none(house: House, fragile: FragileJournal) -> None:
    write_deploy(house)
    house.open()
    live = await ask(house)
    before = shown(live)
    fragile.away = True
    for approve in (True, False):
        with pytest.raises(Unavailable, match="the decision cannot be kept"):
            await house.pipeline.confirm(live, ASKER, approve=approve)
    assert shown(live) == before
    fragile.away = False
    await house.pipeline.confirm(live, ASKER, approve=True)
    assert (await house.end(live))["status"] == "succeeded"
    assert len(runs(house)) == 1


async def test_nobody_is_asked_before_the_question_is_safe(house: House, fragile: FragileJournal) -> None:
    write_deploy(house)
    house.open()
    live = await house.begin(None, "deploy", caller=ASKER)
    fragile.away = True
    await eventually(lambda: house.book.lines(event="not_written"))
    assert (shown(live)["status"], house.types(live)) == ("accepted", ["TASK_RECEIVED"])
    fragile.away = False
    await house.reached(live, "PROGRESS")


async def test_while_hermes_stops_nothing_is_decided_and_it_is_said_so(house: House) -> None:
    write_deploy(house)
    house.open()
    live = await ask(house, request_id="r1")
    await house.pipeline.stop(0)
    for approve in (True, False):
        with pytest.raises(Unavailable, match="shutting down"):
            await house.pipeline.confirm(live, ASKER, approve=approve)
    with pytest.raises(Forbidden):
        await house.pipeline.confirm(live, OTHER, approve=True)
    (entry,) = await house.journal.replay(after=0, limit=9)
    assert (entry.status, json.loads(entry.record)["confirmation"]["approved"]) == (
        "awaiting_confirmation",
        None,
    )
