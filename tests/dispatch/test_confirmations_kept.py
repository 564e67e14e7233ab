"""A question outlives the process that asked it, and so does the answer."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from hermes.dispatch.live import Live
from hermes.dispatch.shelf import has_ended
from hermes.errors import AlreadyDecided, Expired
from tests.support.bench import eventually
from tests.support.consent import ASKER, PAYLOAD, ask, runs, told, write_deploy
from tests.support.house import House, Shown, shown
from tests.support.journals import FragileJournal

Restart = Callable[[House], Awaitable[House]]


async def parked(house: House, **members: Any) -> Live:
    """Open a house in which the message r1 waits for consent."""
    house.open()
    return await ask(house, request_id="r1", **members)


async def kept_approval(house: House) -> None:
    """Leave a house in which r1 was approved at the last moment, and has not begun to run."""
    house.journal = journal = FragileJournal()
    live = await parked(house)
    journal.slow = True
    deciding = asyncio.ensure_future(house.pipeline.confirm(live, ASKER, approve=True))
    await asyncio.sleep(0)
    await house.stop()
    journal.slow = False
    await deciding


async def r1(house: House) -> Live:
    """Return r1, which is under way."""
    live = await house.shelf.find("r1", owner=None)
    assert isinstance(live, Live)
    return live


async def end_of_r1(house: House) -> Shown:
    """Return the record of r1 once it has ended."""
    message = await house.shelf.find("r1", owner=None)
    await eventually(lambda: has_ended(message))
    return shown(message)


async def scanned(house: House) -> None:
    """Wait until all that an earlier process left has been taken up."""
    await eventually(lambda: not house.pipeline.backlog.waiting)


def code(record: Shown) -> str | None:
    error = record["envelope"]["error"]
    return None if error is None else str(error["code"])


@pytest.mark.parametrize("turns", [0, 1, 2])
async def test_the_first_decision_after_a_restart_counts(house: House, restart: Restart, turns: int) -> None:
    write_deploy(house)
    before = shown(await parked(house))
    story = house.story(await r1(house))
    again = await restart(house)
    for _ in range(turns):  # of the loop, in which it is taken up, and begins to wait
        await asyncio.sleep(0)
    live = await r1(again)
    await again.pipeline.confirm(live, ASKER, approve=True)
    with pytest.raises(AlreadyDecided):
        await again.pipeline.confirm(live, ASKER, approve=True)
    record = await again.end(live)
    assert (record["status"], record["envelope"]["data"], runs(again)) == ("succeeded", PAYLOAD, ["r1"])
    decision = {name: record["confirmation"][name] for name in ("approved", "decided_by", "decided_at")}
    assert record["confirmation"] == before["confirmation"] | decision
    assert await told(again) == ["TOOL_STARTED", "TOOL_SUCCEEDED"], "nobody is asked a second time"
    received, question = story
    whole = again.story(live)
    assert whole[:2] == [received | {"timestamp": whole[0]["timestamp"]}, question]
    assert [(event["type"], event["seq"]) for event in whole[2:]] == [
        ("TOOL_STARTED", 3),
        ("TOOL_SUCCEEDED", 4),
    ]


async def test_after_a_restart_it_waits_as_before(house: House, restart: Restart) -> None:
    write_deploy(house)
    before = shown(await parked(house))
    again = house
    for _ in range(3):
        again = await restart(again)
        receipt = await again.submit(None, "deploy", payload=PAYLOAD, caller=ASKER, request_id="r1")
        assert isinstance(receipt.message, Live)
        assert receipt.replayed
        await again.pipeline.wait(receipt.message, 20)  # in the same breath, and it does not wait
        assert shown(receipt.message) == before
        await scanned(again)
        assert again.types(await r1(again)) == ["TASK_RECEIVED", "PROGRESS"]
    await again.pipeline.confirm(await r1(again), ASKER, approve=False)
    assert code(await end_of_r1(again)) == "declined"
    assert (await told(again), runs(again)) == (["TOOL_FAILED"], [])


@pytest.mark.parametrize("turns", [0, 1, 2])
async def test_what_waits_can_be_cancelled_at_once_after_a_restart(
    house: House, restart: Restart, turns: int
) -> None:
    write_deploy(house)
    await parked(house)
    again = await restart(house)
    for _ in range(turns):
        await asyncio.sleep(0)
    again.pipeline.cancel(await r1(again))
    assert code(await end_of_r1(again)) == "cancelled"


async def test_what_was_approved_before_the_restart_and_had_not_run_runs_once(
    house: House, restart: Restart
) -> None:
    write_deploy(house)
    await kept_approval(house)
    again = await restart(house)
    record = await end_of_r1(again)
    assert (record["status"], record["attempts"], runs(again)) == ("succeeded", 1, ["r1"])
    assert record["confirmation"]["decided_by"] == {"kind": "key", "id": "ci", "person": None}
    with pytest.raises(AlreadyDecided):
        await again.pipeline.confirm(await again.shelf.find("r1", owner=None), ASKER, approve=False)
    after = await restart(again)
    assert await after.journal.unfinished() == 0
    assert runs(after) == ["r1"]


async def test_a_decision_that_was_kept_wins_over_one_that_comes_after_the_restart(
    house: House, restart: Restart
) -> None:
    write_deploy(house)
    await kept_approval(house)
    again = await restart(house)
    with pytest.raises(AlreadyDecided):
        await again.pipeline.confirm(await r1(again), ASKER, approve=False)
    assert (await end_of_r1(again))["status"] == "succeeded"


async def test_what_expired_while_hermes_was_away_is_not_run(house: House, restart: Restart) -> None:
    write_deploy(house, confirm={"expires": 0.1})
    house.open()
    live = await house.begin(None, "deploy", caller=ASKER, request_id="r1")
    await house.reached(live, "PROGRESS")
    await house.stop()
    assert not has_ended(live)
    await asyncio.sleep(0.1)
    again = await restart(house)
    with pytest.raises(Expired):
        await again.pipeline.confirm(await r1(again), ASKER, approve=True)
    assert code(await end_of_r1(again)) == "confirmation_expired"
    assert runs(again) == []


async def hand_over(house: House) -> None:
    """Give the intent to another plugin, as an operator does between two starts."""
    await house.stop()
    shutil.rmtree(house.home / "plugins" / "deploy")
    write_deploy(house, plugin="other")


@pytest.mark.parametrize("approved", [False, True])
async def test_a_consent_is_for_one_plugin(house: House, restart: Restart, *, approved: bool) -> None:
    write_deploy(house)
    await (kept_approval(house) if approved else parked(house))
    await hand_over(house)
    again = await restart(house)
    record = await end_of_r1(again)
    assert record["envelope"]["error"] == {
        "code": "confirmation_expired",
        "message": "确认之后该意图换了工具，没有执行；请重新发送。",
        "retryable": False,
    }
    assert runs(again) + runs(again, "other") == []


async def test_what_was_agreed_beforehand_is_for_one_plugin_too(house: House, restart: Restart) -> None:
    write_deploy(house)
    house.open()
    await house.begin(None, "deploy", caller=ASKER, request_id="r1", approve=True)
    await hand_over(house)  # before a worker was there to run it
    again = await restart(house)
    record = await end_of_r1(again)
    assert (code(record), record["attempts"]) == ("confirmation_expired", 0)
    assert runs(again, "other") == []


async def test_what_no_longer_fits_the_plugin_is_not_run(house: House, restart: Restart) -> None:
    write_deploy(house)
    await kept_approval(house)
    schema = {"type": "object", "properties": {"env": {"enum": ["test"]}}}
    await rewrite(house, parameters=schema)
    again = await restart(house)
    assert code(await end_of_r1(again)) == "invalid_payload"
    assert runs(again) == []


async def rewrite(house: House, **intent: Any) -> None:
    """Change the manifest, as an operator does between two starts."""
    await house.stop()
    shutil.rmtree(house.home / "plugins" / "deploy")
    write_deploy(house, **intent)


async def test_who_was_asked_keeps_the_last_word_if_the_plugin_asks_no_more(
    house: House, restart: Restart
) -> None:
    write_deploy(house)
    await parked(house)
    await rewrite(house, confirm=False)
    again = await restart(house)
    await scanned(again)
    live = await r1(again)
    assert shown(live)["status"] == "awaiting_confirmation"
    await again.pipeline.confirm(live, ASKER, approve=False)
    assert (code(await end_of_r1(again)), runs(again)) == ("declined", [])


async def test_a_question_that_was_never_safe_is_asked_by_the_next_start(
    house: House, restart: Restart
) -> None:
    write_deploy(house)
    house.journal = journal = FragileJournal()
    house.open()
    live = await house.begin(None, "deploy", payload=PAYLOAD, caller=ASKER, request_id="r1")
    journal.away = True
    await eventually(lambda: house.book.lines(event="not_written"))
    await house.stop()
    journal.away = False
    assert house.types(live) == ["TASK_RECEIVED"]
    again = await restart(house)
    await again.reached(await r1(again), "PROGRESS")
    assert await told(again) == ["PROGRESS"]
    (entry,) = await journal.replay(after=0, limit=9)
    assert [event["type"] for event in json.loads(entry.events)] == ["TASK_RECEIVED", "PROGRESS"]
