"""Messages to a plugin that is left alone because its calls failed: they end at once, say when to come back, and go nowhere else."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.bench import HOLD, eventually
from tests.support.consent import NOTE
from tests.support.house import ME, House
from tests.support.pauses import DOES, state

FAILS = {"do": "raise LookupError"}
PAUSED = {
    "en": "The tool's last 3 calls failed, so it is paused; it is tried again in 30 s.",
    "zh": "该工具最近 3 次调用都失败了，暂停使用，30 秒后再试。",
}
PROBED = {
    "en": "The tool's last 3 calls failed, and one call tries it now; try again later.",
    "zh": "该工具最近 3 次调用都失败了，正在用一次调用试探，请稍后再试。",
}


async def pause(house: House, name: str = "p") -> None:
    """Let three messages fail, each of which runs once."""
    for _ in range(3):
        record = await house.send(None, name, payload=FAILS)
        assert record["envelope"]["error"]["code"] == "plugin_error"


def unavailable(record: dict[str, Any]) -> str:
    """Return the sentence of a message that was refused, and never ran."""
    error = record["envelope"]["error"]
    assert (record["status"], record["attempts"], record["envelope"]["warning"]) == ("failed", 0, None)
    assert (error["code"], error["retryable"]) == ("plugin_unavailable", True)
    return str(error["message"])


async def test_a_paused_plugin_is_told_in_the_language_of_the_request_with_when_it_is_tried_again(
    house: House,
) -> None:
    house.write("p", **DOES)
    house.open()
    await pause(house)
    assert unavailable(await house.send(None, "p")) == PAUSED["en"]
    live = await house.begin(None, "p", payload={"text": "再来一次"})
    assert unavailable(await house.end(live)) == PAUSED["zh"]
    assert house.types(live) == ["TASK_RECEIVED", "TOOL_FAILED"]
    house.later = 18.5
    assert "tried again in 12 s" in unavailable(await house.send(None, "p"))
    house.later = 30.0
    assert (await house.send(None, "p"))["envelope"]["data"] == "well"
    assert (await house.send(None, "p"))["status"] == "succeeded"


async def test_of_fifty_messages_at_once_after_the_cooldown_exactly_one_runs(house: House) -> None:
    house.write("p", NOTE.replace("    return", "    assert 'bad' not in message['payload']\n    return"))
    house.open()
    for _ in range(3):
        await house.send(None, "p", payload={"bad": True})
    house.later = 30.0
    sent = await asyncio.gather(*(house.begin(None, "p", payload={"text": "试"}) for _ in range(50)))
    records = await asyncio.gather(*map(house.end, sent))
    succeeded = [one for one in records if one["status"] == "succeeded"]
    assert [one["attempts"] for one in succeeded] == [1]
    assert [unavailable(one) for one in records if one not in succeeded] == [PROBED["zh"]] * 49
    ran = (house.data("p") / "runs").read_text().splitlines()
    assert ran[3:] == [f"{succeeded[0]['message']['request_id']} {succeeded[0]['message']['request_id']}"]
    assert state(house) == "closed"


async def test_while_the_probe_runs_nobody_waits_for_its_end(house: House) -> None:
    house.write("p", **DOES)
    house.open()
    await pause(house)
    house.later = 30.0
    probe = await house.begin(None, "p", payload={"do": "await asyncio.sleep(600)"})
    await house.reached(probe, "TOOL_STARTED")
    assert unavailable(await house.send(None, "p")) == PROBED["en"]
    house.pipeline.cancel(probe)
    assert (await house.end(probe))["envelope"]["error"]["code"] == "cancelled"
    assert state(house) == "half_open"
    assert (await house.send(None, "p"))["status"] == "succeeded"


async def test_what_waits_for_a_place_when_it_is_paused_ends_at_once(house: House) -> None:
    house.write("p", HOLD.replace("    return name", "    raise LookupError(name)"), concurrency=1)
    house.open(failure_threshold=1)
    first = await house.begin(None, "p")
    await house.reached(first, "TOOL_STARTED")
    waiting = [await house.begin(None, "p") for _ in range(20)]
    await eventually(lambda: house.plugin("p")["queue_depth"] == 20)
    (house.data("p") / "go").touch()
    for live in waiting:
        assert "it is tried again in 30 s" in unavailable(await house.end(live))
    assert (await house.end(first))["envelope"]["error"]["code"] == "plugin_error"


async def test_a_sentence_for_a_paused_plugin_never_goes_to_the_second_best(house: House) -> None:
    for name, weight in (("best", 0.9), ("second", 0.75)):
        intents = [{"name": name, "keywords": {"天气": weight, "weather": weight}}]
        house.write(name, intents=intents, **DOES)
    house.open()
    await pause(house, "best")
    for sentence in ("今天天气", "the weather today", "/best weather"):
        record = await house.send(sentence)
        assert (record["decision"]["outcome"], record["decision"]["intent"]) == ("dispatch", "best")
        unavailable(record)
    assert house.plugin("second")["calls"] == 0


async def test_a_call_that_was_confirmed_and_finds_its_plugin_paused_has_not_run(house: House) -> None:
    intents = [{"name": "p", "writes": True}]
    house.write("p", intents=intents, **DOES)
    house.open()
    asked = await house.begin(None, "p")
    await house.reached(asked, "PROGRESS")
    for _ in range(3):
        await house.send(None, "p", payload=FAILS, approve=True)
    await house.pipeline.confirm(asked, ME, approve=True)
    assert unavailable(await house.end(asked)) == PAUSED["en"]


async def test_a_message_that_a_paused_plugin_could_not_take_can_be_tried_again_later(house: House) -> None:
    house.write("p", **DOES)
    house.open()
    await pause(house)
    unavailable(await house.send(None, "p", request_id="r1"))
    house.later = 30.0
    record = await house.send(retry_of="r1", request_id="r2")
    assert record["envelope"]["data"] == "well"


async def test_a_plugin_that_sends_to_a_paused_one_is_answered_at_once_and_is_not_paused_for_it(
    house: House,
) -> None:
    house.write("p", **DOES)
    code = "async def handle(message, context):\n    return await context['send']('p', {})\n"
    house.write("sender", code)
    house.open()
    await pause(house)
    for _ in range(4):
        record = await house.send(None, "sender")
        error = record["envelope"]["error"]
        assert (error["code"], error["message"]) == ("plugin_unavailable", PAUSED["en"])
    assert house.plugin("sender")["breaker"] == {"state": "closed", "failures": 0, "retry_at": None}


async def test_cancelled_messages_are_no_failures(house: House) -> None:
    house.write("p", **DOES)
    house.open(failure_threshold=1)
    for _ in range(3):
        live = await house.begin(None, "p", payload={"do": "await asyncio.sleep(600)"})
        await house.reached(live, "TOOL_STARTED")
        house.pipeline.cancel(live)
        assert (await house.end(live))["envelope"]["error"]["code"] == "cancelled"
    assert house.plugin("p")["breaker"]["failures"] == 0
    assert (await house.send(None, "p"))["status"] == "succeeded"


CRASHES = [({"writes": False}, None), ({"writes": True, "idempotent": True}, "It may have taken effect.")]


@pytest.mark.parametrize(("intent", "warning"), CRASHES)
async def test_one_message_that_crashes_its_worker_each_time_pauses_the_plugin_by_itself(
    house: House, intent: dict[str, bool], warning: str | None
) -> None:
    house.write("p", intents=[{"name": "p", "confirm": False, **intent}], **DOES)
    house.open()
    record = await house.send(None, "p", payload={"do": "os._exit(1)"})
    assert (record["attempts"], record["envelope"]["error"]["code"]) == (3, "plugin_crashed")
    assert record["envelope"]["warning"] == warning
    assert unavailable(await house.send(None, "p")) == PAUSED["en"]


@pytest.mark.parametrize(("intent", "warning"), CRASHES)
async def test_what_is_paused_before_it_could_be_run_again_says_what_may_have_come_of_it(
    house: House, intent: dict[str, bool], warning: str | None
) -> None:
    house.write("p", intents=[{"name": "p", "confirm": False, **intent}], **DOES)
    house.open(failure_threshold=2)
    record = await house.send(None, "p", payload={"do": "os._exit(1)"})
    assert (record["attempts"], record["status"]) == (2, "failed")
    assert record["envelope"]["warning"] == warning


FALLS_ONCE = """
import os, time
from pathlib import Path

marker = Path("..", "..", "..", "plugins", "p", "fell")
if marker.exists():
    time.sleep(600)

async def handle(message, context):
    marker.touch()
    os._exit(1)
"""


@pytest.mark.parametrize(("intent", "warning"), CRASHES)
async def test_what_is_cancelled_before_it_could_be_run_again_says_what_may_have_come_of_it(
    house: House, intent: dict[str, bool], warning: str | None
) -> None:
    house.write("p", FALLS_ONCE, intents=[{"name": "p", "confirm": False, **intent}])
    house.open()
    live = await house.begin(None, "p")
    await eventually((house.data("p") / "fell").exists)
    await eventually(lambda: house.plugin("p")["queue_depth"] == 1)
    house.pipeline.cancel(live)
    record = await house.end(live)
    assert (record["attempts"], record["envelope"]["error"]["code"]) == (1, "cancelled")
    assert record["envelope"]["warning"] == warning
