"""What becomes of a call: answers, errors, time-outs, crashes, cancels and results that are too large."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hermes.errors import Conflict
from tests.support.bench import CRASH, HOLD, OBEY, SLEEP, TIDY, eventually
from tests.support.house import SETTINGS, House

ECHO = "async def handle(message, context):\n    return message['payload']\n"


async def test_an_answer_is_brought_into_the_form_of_an_envelope(house: House) -> None:
    code = "async def handle(message, context):\n    return message['payload']['answer']\n"
    house.write("p", code, summary={"fields": ["b"]})
    house.open()
    record = await house.send(None, "p", payload={"answer": {"data": {"a": 1, "b": "二"}, "warning": "部分"}})
    assert record["envelope"]["data"] == {"a": 1, "b": "二"}
    assert (record["envelope"]["warning"], record["digest"]) == ("部分", "**b**: 二")
    error = {"code": "not_found", "message": "没有 web", "retryable": True}
    record = await house.send(None, "p", payload={"answer": {"data": 7, "error": error}})
    assert (record["status"], record["envelope"]["error"], record["envelope"]["data"]) == ("failed", error, 7)
    record = await house.send(None, "p", payload={"answer": None})
    assert (record["status"], record["envelope"]["data"]) == ("succeeded", None)


async def test_what_a_handler_raises_is_one_sentence(house: House) -> None:
    house.write("p", "async def handle(message, context):\n    raise LookupError('没有这个项目')\n")
    house.open()
    record = await house.send(None, "p", payload={"text": "中文"})
    assert record["envelope"]["error"] == {
        "code": "plugin_error",
        "message": "该工具出错：LookupError: 没有这个项目",
        "retryable": False,
    }


@pytest.mark.parametrize("writes", [False, True])
async def test_a_call_that_takes_too_long_times_out(house: House, *, writes: bool) -> None:
    intent = {"name": "p", "writes": writes, "confirm": False}
    house.write("p", OBEY, timeout=0.2, intents=[intent])
    house.open()
    record = await house.send(None, "p", payload=SLEEP)
    assert record["envelope"]["error"]["code"] == "plugin_timeout"
    assert record["envelope"]["error"]["message"] == "The tool timed out after 0.2 s"
    assert record["envelope"]["warning"] == ("It may have taken effect." if writes else None)
    assert record["envelope"]["elapsed_ms"] > 0


CRASH_ONCE = """
import os
from pathlib import Path

async def handle(message, context):
    marker = Path(context["data_dir"]) / "crashed"
    if not marker.exists():
        marker.touch()
        os._exit(1)
    return message["request_id"], context["idempotency_key"]
"""


async def test_what_may_be_repeated_is_run_again_after_a_crash(house: House) -> None:
    house.write("p", CRASH_ONCE)
    house.open()
    live = await house.begin(None, "p", request_id="r7")
    record = await house.end(live)
    assert (record["status"], record["attempts"], record["envelope"]["data"]) == (
        "succeeded",
        2,
        ["r7", "r7"],
    )
    assert house.types(live) == ["TASK_RECEIVED", "TOOL_STARTED", "TOOL_STARTED", "TOOL_SUCCEEDED"]
    assert [event.get("attempt") for event in house.story(live)] == [None, 1, 2, None]


@pytest.mark.parametrize(
    ("intent", "attempts", "warning"),
    [
        ({"writes": False}, 3, None),
        ({"writes": True, "idempotent": True}, 3, "It may have taken effect."),
        ({"writes": True}, 1, "It may have taken effect."),
    ],
)
async def test_after_so_many_crashes_a_call_is_given_up(
    house: House, intent: dict[str, bool], attempts: int, warning: str | None
) -> None:
    house.write("p", OBEY, intents=[{"name": "p", "confirm": False, **intent}])
    house.open()
    live = await house.begin(None, "p", payload=CRASH)
    record = await house.end(live)
    assert (record["status"], record["attempts"]) == ("failed", attempts)
    assert record["envelope"]["error"]["code"] == "plugin_crashed"
    assert record["envelope"]["warning"] == warning
    assert house.types(live).count("TOOL_STARTED") == attempts


async def test_a_result_over_the_limit_is_refused_however_it_comes(house: House) -> None:
    house.write("p", "async def handle(message, context):\n    return 'x' * message['payload']['size']\n")
    settings = replace(SETTINGS, result_bytes=5000, inline_bytes=100, locale="zh")
    house.open(settings, frame_bytes=10_000)
    for size in (4990, 6000, 20_000):
        record = await house.send(None, "p", payload={"size": size})
        error = record["envelope"]["error"]
        if size < 5000:
            assert (error, record["envelope"]["data"]) == (None, None)
            assert "links.raw" in record["envelope"]["warning"]
        else:
            assert (error["code"], error["message"]) == ("result_too_large", "结果超过了 5000 字节的上限。")


async def test_nesting_without_end_is_an_error_of_its_call_alone(house: House) -> None:
    code = "async def handle(message, context):\n    r = 1\n    for _ in range(300): r = [r]\n    return r\n"
    house.write("deep", code)
    house.write("p", ECHO, concurrency=1)
    house.open()
    record = await house.send(None, "deep")
    assert record["envelope"]["error"]["code"] == "plugin_error"
    for depth in range(240, 254):
        payload: dict[str, Any] = {}
        for _ in range(depth):
            payload = {"a": payload}
        try:
            record = await house.send(None, "p", payload=payload)
        except Exception as refused:  # noqa: BLE001 - the kind is what is looked at
            assert type(refused).__name__ == "InvalidField"  # noqa: PT017
        else:
            assert record["status"] == "succeeded" or record["envelope"]["error"]["code"] == "plugin_error"
    assert (await house.send(None, "p"))["status"] == "succeeded"


@pytest.mark.parametrize("writes", [False, True])
async def test_a_message_that_runs_can_be_cancelled_once(house: House, *, writes: bool) -> None:
    house.write("p", OBEY, intents=[{"name": "p", "writes": writes, "confirm": False}])
    house.open()
    live = await house.begin(None, "p", payload=TIDY)
    await eventually((house.data("p") / "began").exists)
    house.pipeline.cancel(live)
    record = await house.end(live)
    assert (record["status"], record["envelope"]["error"]["code"]) == ("failed", "cancelled")
    assert record["envelope"]["warning"] == ("It may have taken effect." if writes else None)
    with pytest.raises(Conflict):
        house.pipeline.cancel(live)
    (house.data("p") / "tidied").touch()
    assert (await house.send(None, "p"))["status"] == "succeeded"


async def test_a_message_that_waits_can_be_cancelled_and_does_not_start(house: House) -> None:
    house.write("p", HOLD, concurrency=1, intents=[{"name": "p", "writes": True, "confirm": False}])
    house.open()
    first = await house.begin(None, "p")
    await house.reached(first, "TOOL_STARTED")
    waiting = await house.begin(None, "p", payload={"text": "中文"})
    await eventually(lambda: house.plugin("p")["queue_depth"] == 1)
    house.pipeline.cancel(waiting)
    record = await house.end(waiting)
    assert record["envelope"]["error"]["message"] == "已取消。"
    assert (record["envelope"]["warning"], record["attempts"]) == (None, 0)
    assert house.types(waiting) == ["TASK_RECEIVED", "TOOL_FAILED"]
    (house.data("p") / "go").touch()
    assert (await house.end(first))["status"] == "succeeded"


async def test_progress_becomes_events_and_the_last_of_it_is_never_lost(house: House) -> None:
    code = """
async def handle(message, context):
    for number in range(50):
        await context["progress"](f"步骤 {number}", number)
"""
    house.write("p", code)
    house.open()
    live = await house.begin(None, "p")
    await house.end(live)
    story = house.story(live)
    assert [event["seq"] for event in story] == list(range(1, len(story) + 1))
    assert story[-1]["type"] == "TOOL_SUCCEEDED"
    assert (story[-2]["text"], story[-2]["percent"]) == ("步骤 49", 49)
