"""What a handler sends is answered by its test."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from hermes.sdk import SendRefused
from hermes.sdk.testing import Call, Sent, run

Values = dict[str, Any]


async def ask(message: Values, context: Values) -> Any:
    """Send what the payload says and return the envelopes."""
    return {"data": [await context["send"](*one) for one in message["payload"]["send"]]}


@pytest.mark.parametrize(
    ("answer", "envelope"),
    [
        ({"data": {"id": 7}}, {"data": {"id": 7}, "error": None, "warning": None}),
        (["标题", (1,)], {"data": ["标题", [1]], "error": None, "warning": None}),
        (None, {"data": None, "error": None, "warning": None}),
        (
            {"error": {"code": "not_found", "message": "没有"}, "warning": "旧"},
            {
                "data": None,
                "error": {"code": "not_found", "message": "没有", "retryable": False},
                "warning": "旧",
            },
        ),
        (
            {"error": "no"},
            {
                "data": None,
                "error": {"code": "plugin_error", "message": "no", "retryable": False},
                "warning": None,
            },
        ),
        (lambda payload: payload["id"] * 2, {"data": 14, "error": None, "warning": None}),
    ],
)
async def test_an_answer_is_read_as_that_of_a_handler(answer: Any, envelope: Values) -> None:
    call = Call(send={"ticket.get": answer})
    outcome = await run(ask, {"send": [["ticket.get", {"id": 7}]]}, call=call)
    assert outcome.data == [envelope | {"elapsed_ms": 0.0}]
    assert outcome.sent == (Sent("ticket.get", {"id": 7}),)


async def test_an_envelope_can_be_handed_on_as_it_is() -> None:
    async def handle(message: Values, context: Values) -> Any:
        return await context["send"]("a", {})

    error = {"code": "not_found", "message": "没有", "retryable": False}
    outcome = await run(handle, {}, call=Call(send={"a": {"data": 1, "error": error, "warning": "旧"}}))
    assert (outcome.data, outcome.error, outcome.warning) == (1, error, "旧")


async def test_what_the_test_has_no_answer_for_is_refused_and_says_so() -> None:
    reason = r"the test has no answer for '工单\.get'; give it one with Call\(send=\{'工单\.get': …\}\)"
    with pytest.raises(SendRefused, match=reason):
        await run(ask, {"send": [["工单.get", {}]]})
    with pytest.raises(SendRefused, match="no answer for 'b'"):
        await run(ask, {"send": [["a", {}], ["b", {}]]}, call=Call(send={"a": 1}))


async def test_what_is_no_message_is_raised_as_the_daemon_would() -> None:
    for intent, payload, kind in (("", {}, ValueError), (1, {}, TypeError), ("a", 1, TypeError)):
        with pytest.raises(kind):
            await run(ask, {"send": [[intent, payload]]}, call=Call(send={"a": 1}))


async def test_what_an_answer_raises_reaches_the_test() -> None:
    def answer(payload: Values) -> Any:
        raise LookupError(payload["id"])

    with pytest.raises(LookupError, match="7"):
        await run(ask, {"send": [["a", {"id": 7}]]}, call=Call(send={"a": answer}))


async def test_messages_are_told_in_the_order_in_which_they_were_sent() -> None:
    async def handle(message: Values, context: Values) -> Any:
        sends = (context["send"]("a", {"n": number}) for number in range(5))
        return {"data": [envelope["data"] for envelope in await asyncio.gather(*sends)]}

    outcome = await run(handle, {}, call=Call(send={"a": lambda payload: payload["n"]}))
    assert outcome.data == [0, 1, 2, 3, 4]
    assert [one.payload["n"] for one in outcome.sent] == [0, 1, 2, 3, 4]
