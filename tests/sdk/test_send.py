"""`context["send"]` in a real worker process, against a host whose answers the test gives by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from hermes.sdk.wire import CANCELLED, INVALID_PARAMS, PLUGIN_FAILED, STILL_RUNNING, STORE_AWAY
from tests.support.at_work import error
from tests.support.by_hand import ByHand

ENVELOPE = {"data": {"title": "磁盘满了"}, "error": None, "elapsed_ms": 3.5, "warning": None}
SEND = """
async def handle(message, context):
    payload = message["payload"]
    return await context["send"](payload.get("intent", "ticket.get"), payload.get("given", {"id": 7}))
"""


def test_what_is_sent_waits_for_the_envelope_and_returns_it(tmp_path: Path) -> None:
    with ByHand(tmp_path, SEND) as worker:
        worker.initialize()
        call = worker.handle(given={"标题": "磁盘"})
        send = worker.asked()
        assert send["method"] == "send"
        assert send["params"] == {"call": "c1", "intent": "ticket.get", "payload": {"标题": "磁盘"}}
        worker.grant(send, **ENVELOPE)
        answer, _ = worker.answer(call)
    assert answer["result"] == ENVELOPE


def test_several_at_once_are_written_in_order_and_answered_in_any(tmp_path: Path) -> None:
    code = """
import asyncio
async def handle(message, context):
    return await asyncio.gather(*(context["send"]("p", {"n": n}) for n in range(3)))
"""
    with ByHand(tmp_path, code) as worker:
        worker.initialize()
        call = worker.handle()
        sends = [worker.asked() for _ in range(3)]
        assert [send["params"]["payload"]["n"] for send in sends] == [0, 1, 2]
        for send in reversed(sends):
            worker.grant(send, **ENVELOPE | {"data": send["params"]["payload"]["n"]})
        answer, _ = worker.answer(call)
    assert [envelope["data"] for envelope in answer["result"]] == [0, 1, 2]


@pytest.mark.parametrize(
    ("code", "sentence", "end"),
    [
        (INVALID_PARAMS, "一次最多 1000 条", (PLUGIN_FAILED, "SendRefused: 一次最多 1000 条")),
        (STORE_AWAY, "the call is over", (PLUGIN_FAILED, "SendRefused: the call is over")),
        (
            -32601,
            "the host has no method 'send'",
            (PLUGIN_FAILED, "SendRefused: the host has no method 'send'"),
        ),
        (STILL_RUNNING, "r1.1 is under way still", (STILL_RUNNING, "r1.1 is under way still")),
    ],
)
def test_what_the_host_does_not_take_is_raised(
    tmp_path: Path, code: int, sentence: str, *, end: tuple[int, str]
) -> None:
    with ByHand(tmp_path, SEND) as worker:
        worker.initialize()
        call = worker.handle()
        worker.refuse(worker.asked(), code, message=sentence)
        assert error(worker.answer(call)) == end


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"intent": ""}, "ValueError: the intent to send is empty; name one"),
        ({"intent": 7}, "TypeError: the intent to send must be a text; it is int"),
        ({"intent": None}, "TypeError: the intent to send must be a text; it is NoneType"),
        ({"given": None}, "TypeError: the payload to send must be a dict; it is NoneType"),
        ({"given": [1]}, "TypeError: the payload to send must be a dict; it is list"),
        ({"given": "部署"}, "TypeError: the payload to send must be a dict; it is str"),
    ],
)
def test_what_is_no_message_is_raised_before_it_reaches_the_host(
    tmp_path: Path, given: dict[str, Any], sentence: str
) -> None:
    with ByHand(tmp_path, SEND) as worker:
        worker.initialize()
        answer = worker.answer(worker.handle(**given))
        assert error(answer) == (PLUGIN_FAILED, sentence)
        assert [frame for frame in answer[1] if "id" in frame] == []


@pytest.mark.parametrize("value", ["{1, 2}", "float('nan')", "b'bytes'"])
def test_a_payload_that_json_cannot_hold_is_raised_before_it_reaches_the_host(
    tmp_path: Path, value: str
) -> None:
    code = f"async def handle(message, context):\n    return await context['send']('p', {{'a': {value}}})\n"
    with ByHand(tmp_path, code) as worker:
        worker.initialize()
        answer = worker.answer(worker.handle())
        assert error(answer)[0] == PLUGIN_FAILED
        assert "JSON" in error(answer)[1]
        assert [frame for frame in answer[1] if "id" in frame] == []


def test_a_handler_that_is_cancelled_while_it_waits_ends_and_a_late_envelope_harms_nobody(
    tmp_path: Path,
) -> None:
    with ByHand(tmp_path, SEND) as worker:
        worker.initialize()
        first = worker.handle("c1")
        late = worker.asked()
        second = worker.handle("c2")
        other = worker.asked()
        worker.cancel("c1")
        assert error(worker.answer(first)) == (CANCELLED, "cancelled")
        worker.grant(late, **ENVELOPE)
        worker.grant(other, **ENVELOPE | {"data": 2})
        answer, before = worker.answer(second)
        assert (answer["result"]["data"], before) == (2, [])
        worker.hang_up()
        assert worker.end() == (0, "")


def test_when_the_host_is_gone_nothing_waits(tmp_path: Path) -> None:
    with ByHand(tmp_path, SEND) as worker:
        worker.initialize()
        worker.handle()
        assert json.loads(json.dumps(worker.asked()))["id"] == "w1"
        worker.hang_up()
        assert worker.end()[0] == 0
