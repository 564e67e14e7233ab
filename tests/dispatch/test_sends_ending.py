"""What was sent has no more time than its sender, and goes with it when that is stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from hermes.dispatch.live import Live
from hermes.messages import ErrorInfo, ResultEnvelope
from tests.support.bench import HOLD, OBEY, SLEEP, eventually
from tests.support.consent import NOTE, runs
from tests.support.house import SETTINGS, House, shown
from tests.support.journals import FragileJournal
from tests.support.sending import Sender, error_of

Restart = Callable[[House], Awaitable[House]]
ECHO = "async def handle(message, context):\n    return message['payload']\n"


@pytest.mark.parametrize("writes", [False, True])
async def test_a_child_ends_when_the_time_of_its_sender_is_over(house: House, *, writes: bool) -> None:
    sender = Sender(house, timeout=0.4)
    house.write("p", OBEY, intents=[{"name": "p", "writes": writes, "confirm": False}])
    house.open()
    live = await sender.begin(("p", SLEEP), payload={"text": "睡"})
    child = await sender.child("r1.1")
    parent, record = await house.end(live), await house.end(child)
    assert error_of(parent["envelope"]) == ("plugin_timeout", "该工具执行超时（0.4 秒）")
    code, sentence = error_of(record["envelope"])
    assert code == "plugin_timeout"
    assert sentence.startswith("该工具执行超时（0.")
    may_have = "该操作可能已经生效。 " if writes else ""
    assert record["envelope"]["warning"] == may_have + "可用的时间只有发起它的调用剩下的那些。"
    assert record["envelope"]["error"]["retryable"] is not writes
    assert (await house.send(None, "p"))["status"] == "succeeded"


async def test_a_worker_is_told_how_much_time_is_left_of_its_senders(house: House) -> None:
    sender = Sender(house, timeout=9)
    tell = "import time\nasync def handle(message, context):\n    return context['deadline'] - time.time()\n"
    house.write("long", tell, timeout=500)
    house.write("short", tell, timeout=2)
    house.open()
    long, short = await sender.send(("long", {}), ("short", {}))
    assert 2 < long["data"] <= 9
    assert 0 < short["data"] <= 2


async def test_a_plugin_without_room_that_sends_to_itself_holds_up_nobody_but_itself(house: House) -> None:
    sender = Sender(house, timeout=0.6, concurrency=1)
    house.write("other", ECHO)
    house.open()
    live = await sender.begin(("s", {}))
    child = await sender.child("r1.1")
    await eventually(lambda: house.plugin("s")["queue_depth"] == 1)
    assert (await house.send(None, "other", payload={"n": 1}))["envelope"]["data"] == {"n": 1}
    assert not live.ending
    parent, record = await house.end(live), await house.end(child)
    assert error_of(parent["envelope"]) == ("plugin_timeout", "The tool timed out after 0.6 s")
    assert error_of(record["envelope"]) == (
        "plugin_unavailable",
        "The tool is not available now: no worker had room before the time of the call that sent it was over",
    )
    assert (record["attempts"], record["envelope"]["error"]["retryable"]) == (0, True)
    assert (await house.send(None, "s"))["envelope"]["data"] == []


async def test_whoever_cancels_a_message_cancels_all_below_it(house: House) -> None:
    sender, middle = Sender(house), Sender(house, "middle")
    house.write("hold", HOLD, concurrency=1)
    house.open()
    sends = [("hold", {}), ("hold", {"second": True}), ("middle", {"send": [("hold", {"third": True})]})]
    live = await sender.begin(*sends, payload={"at once": True})
    children = [await sender.child(name) for name in ("r1.1", "r1.2", "r1.3", "r1.3.1")]
    await house.reached(children[0], "TOOL_STARTED")
    await eventually(lambda: house.plugin("hold")["queue_depth"] == 2)
    house.pipeline.cancel(live)
    for one in [live, *children]:
        assert error_of((await house.end(one))["envelope"])[0] == "cancelled"
    assert [child.record.attempts for child in children] == [1, 0, 1, 0]
    assert not len(house.pipeline.live)
    assert middle.house.pipeline.live.sent_by(live) == []


async def test_what_is_being_kept_when_its_sender_is_cancelled_never_runs(
    house: House, fragile: FragileJournal
) -> None:
    house.write("s", HOLD.replace("return name", "return await context['send']('p', {})"))
    house.write("p", NOTE)
    house.open()
    live = await house.begin(None, "s", request_id="r1")
    await house.reached(live, "TOOL_STARTED")
    fragile.slow = True
    (house.data("s") / "go").touch()
    await eventually(lambda: house.pipeline.live.sent_by(live))
    house.pipeline.cancel(live)
    fragile.slow = False
    await house.end(live)
    await eventually(lambda: not len(house.pipeline.live))
    record = shown(await house.shelf.find("r1.1", owner=None))
    assert (error_of(record["envelope"])[0], record["attempts"]) == ("cancelled", 0)
    assert runs(house, "p") == []


async def test_who_gives_up_waiting_leaves_what_it_sent_running(house: House) -> None:
    code = """
import asyncio
async def handle(message, context):
    try:
        async with asyncio.timeout(0.05):
            await context["send"]("hold", {})
    except TimeoutError:
        return "gave up"
"""
    house.write("s", code)
    house.write("hold", HOLD)
    house.open()
    record = await house.send(None, "s", request_id="r1")
    assert record["envelope"]["data"] == "gave up"
    child = house.pipeline.live.find("r1.1", owner=None)
    assert child is not None
    (house.data("hold") / "go").touch()
    assert (await house.end(child))["status"] == "succeeded"


async def test_what_runs_while_hermes_stops_may_send_and_be_answered(house: House) -> None:
    sender = Sender(house)
    house.write("hold", HOLD, concurrency=1)
    house.write("p", ECHO)
    house.open()
    first = await house.begin(None, "hold", request_id="r0")
    await house.reached(first, "TOOL_STARTED")
    live = await sender.begin(("hold", {}), ("p", {"n": 1}))
    await eventually(lambda: house.plugin("hold")["queue_depth"] == 1)
    stopping = asyncio.ensure_future(house.pipeline.stop(20))
    await eventually(lambda: house.pipeline.stopping)
    (house.data("hold") / "go").touch()
    await stopping
    record = shown(live)
    assert [one["data"] for one in record["envelope"]["data"]] == ["r1.1", {"n": 1}]
    assert await house.journal.unfinished() == 0


async def test_what_cannot_end_before_hermes_has_stopped_goes_on_after_the_next_start(
    durable: House, restart: Restart
) -> None:
    sender = Sender(durable)
    durable.write("hold", HOLD)
    durable.open()
    live = await sender.begin(("hold", {}))
    await durable.reached(await sender.child("r1.1"), "TOOL_STARTED")
    await durable.pipeline.stop(0)
    assert (live.ending, await durable.journal.unfinished()) == (False, 2)
    again = await restart(durable)
    sender.house = again
    live = await sender.child("r1")
    (again.data("hold") / "go").touch()
    (envelope,) = (await again.end(live))["envelope"]["data"]
    assert (envelope["data"], (await sender.record("r1.1"))["attempts"]) == ("r1.1", 2)


@pytest.mark.parametrize("code", ["cancelled", "plugin_timeout", "plugin_crashed"])
async def test_after_a_restart_nothing_runs_for_a_message_that_was_stopped(
    durable: House, restart: Restart, code: str
) -> None:
    sender = Sender(durable)
    durable.write("hold", HOLD)
    durable.open()
    live = await sender.begin(("hold", {}))
    child = await sender.child("r1.1")
    await durable.reached(child, "TOOL_STARTED")
    await durable.pipeline.stop(0)
    live.record = replace(
        live.record, status="failed", finished_at=1e9, envelope=ResultEnvelope(error=ErrorInfo(code, ""))
    )
    await durable.journal.finish(live.to_entry(None))
    (durable.data("hold") / "go").touch()
    again = await restart(durable)
    sender.house = again
    await eventually(lambda: not again.pipeline.backlog.waiting and not len(again.pipeline.live))
    record = await sender.record("r1.1")
    if code == "plugin_crashed":
        assert record["envelope"]["data"] == "r1.1", "what had been accepted is kept"
    else:
        assert (error_of(record["envelope"])[0], record["attempts"]) == ("cancelled", 1)


async def test_a_child_that_another_run_waits_for_has_the_time_of_that(house: House) -> None:
    sender = Sender(house, timeout=5)
    house.write("hold", HOLD)
    house.open()
    live = await sender.begin(("hold", {}))
    child = await sender.child("r1.1")
    await house.reached(child, "TOOL_STARTED")
    before = child.deadline
    await sender.fall()
    await eventually(lambda: house.types(live).count("TOOL_STARTED") == 2)
    await eventually(lambda: child.deadline != before)
    assert before is not None
    assert child.deadline is not None
    assert child.limit is not None
    assert before < child.deadline == child.limit.when()
    (house.data("hold") / "go").touch()
    assert (await house.end(live))["status"] == "succeeded"


async def test_when_the_call_is_over_nothing_is_sent_any_more(house: House) -> None:
    code = """
import asyncio
from pathlib import Path
async def handle(message, context):
    try:
        await asyncio.sleep(600)
    except asyncio.CancelledError:
        try:
            await context["send"]("p", {})
        except Exception as error:
            (Path(context["data_dir"]) / "end").write_text(f"{type(error).__name__}: {error}")
        raise
"""
    house.write("s", code, timeout=0.2)
    house.write("p", NOTE)
    house.open()
    record = await house.send(None, "s")
    assert record["envelope"]["error"]["code"] == "plugin_timeout"
    end = house.data("s") / "end"
    assert await eventually(lambda: end.exists() and end.read_text()) == "SendRefused: the call is over"
    assert runs(house, "p") == []


async def test_a_message_from_outside_has_no_deadline(house: House) -> None:
    house.write("p", ECHO)
    house.open(SETTINGS)
    live = await house.begin(None, "p")
    assert isinstance(live, Live)
    live.prolong(1.0)
    assert (live.deadline, live.seconds_left) == (None, float("inf"))
    await house.end(live)


async def test_invariant_whatever_dies_or_is_cancelled_no_child_runs_twice_and_none_is_left(
    durable: House,
) -> None:
    house = durable
    sender = Sender(house, workers={"min": 2, "max": 2}, concurrency=20)
    Sender(house, "middle", concurrency=20)
    house.write("p", NOTE, intents=[{"name": "p", "writes": True, "confirm": False}])
    house.open(replace(SETTINGS, pending=1000), failure_threshold=1000)
    sends: list[tuple[str, Any]] = [("p", {"n": number}) for number in range(3)] + [
        ("middle", {"send": [("p", {})]})
    ]
    lives: list[Live] = []
    for number in range(60):
        at_once = {"at once": number % 2 == 1}
        lives.append(await sender.begin(*sends, payload=at_once, request_id=f"q{number}"))
        if number % 20 == 10:
            (sender.data / "fall").touch()
        if number % 10 == 5 and lives[-1].calling:
            house.pipeline.cancel(lives[-1])
        await asyncio.sleep(0.01)
    (sender.data / "fall").unlink(missing_ok=True)
    lives.append(await sender.begin(*sends, request_id="last"))
    await eventually(lambda: not len(house.pipeline.live))
    done, ends = runs(house, "p"), [shown(live)["envelope"] for live in lives]
    assert len(done) == len(set(done))
    assert {one["error"]["code"] for one in ends if one["error"]} <= {"cancelled", "plugin_crashed"}
    answers = [answer for one in ends if not one["error"] for answer in one["data"]]
    assert {answer["error"] for answer in answers} == {None}
    assert [house.pipeline.live.sent_by(live) for live in lives if house.pipeline.live.sent_by(live)] == []
