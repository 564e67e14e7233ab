from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from hermes.sdk.requests import Refused, Requests, WireClosed
from tests.support.ends import Ends


@pytest.fixture
def ends() -> Iterator[Ends]:
    ends = Ends()
    yield ends
    ends.close()


async def test_requests_have_ids_of_their_own_and_are_answered_in_any_order(ends: Ends) -> None:
    requests = Requests(ends.wire)
    first = requests.ask("once.begin", {"call": "c1", "key": "一"})
    second = requests.ask("once.fail", {"call": "c1", "key": "two"})
    assert ends.sent() == [
        {"jsonrpc": "2.0", "id": "w1", "method": "once.begin", "params": {"call": "c1", "key": "一"}},
        {"jsonrpc": "2.0", "id": "w2", "method": "once.fail", "params": {"call": "c1", "key": "two"}},
    ]
    requests.accept({"id": "w2", "result": {}})
    requests.accept({"id": "w1", "result": {"state": "new"}, "error": None})
    assert [await first, await second] == [{"state": "new"}, {}]


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        ({"code": -32010, "message": "存储不可用", "data": 1}, -32010, "存储不可用"),
        ({"code": "odd"}, 0, "no reason was given"),
        ("only a text", 0, "only a text"),
        ([1], 0, "[1]"),
        ([], 0, "no reason was given"),
    ],
)
async def test_an_error_is_raised_with_its_code_and_sentence(
    ends: Ends, error: Any, code: int, text: str
) -> None:
    requests = Requests(ends.wire)
    answer = requests.ask("once.begin", {})
    requests.accept({"id": "w1", "error": error})
    with pytest.raises(Refused) as refused:
        await answer
    assert (refused.value.code, str(refused.value)) == (code, text)


async def test_answers_that_nobody_waits_for_are_ignored(ends: Ends) -> None:
    requests = Requests(ends.wire)
    given_up = requests.ask("once.begin", {})
    waiting = requests.ask("once.begin", {})
    given_up.cancel()
    for frame in (
        {"id": "w1", "result": 1},
        {"id": "w9", "result": 1},
        {"id": 2, "result": 1},
        {"id": ["w2"], "result": 1},
        {"id": None, "error": {"code": -32700, "message": "the frame is not JSON"}},
        {"id": "w2", "result": 2},
        {"id": "w2", "result": 3},
    ):
        requests.accept(frame)
    assert await waiting == 2
    assert given_up.cancelled()


async def test_when_the_wire_closes_nothing_waits_for_ever(ends: Ends) -> None:
    requests = Requests(ends.wire)
    waiting = [requests.ask("once.begin", {}) for _ in range(2)]
    requests.close()
    for answer in waiting:
        with pytest.raises(WireClosed):
            await answer
    with pytest.raises(WireClosed):
        requests.ask("once.begin", {})


async def test_a_request_that_cannot_be_written_waits_for_nothing(ends: Ends) -> None:
    requests = Requests(ends.wire)
    with pytest.raises(ValueError, match="JSON"):
        requests.ask("once.done", {"result": float("nan")})
    answer = requests.ask("once.begin", {})
    assert [frame["id"] for frame in ends.sent()] == ["w2"]
    requests.accept({"id": "w2", "result": {}})
    async with asyncio.timeout(5):
        assert await answer == {}
    ends.turn_away()
    with pytest.raises(BrokenPipeError):
        requests.ask("once.begin", {})
