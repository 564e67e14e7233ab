from __future__ import annotations

import asyncio

import pytest

from hermes.deadlines import Deadlines


def a_future() -> asyncio.Future[str]:
    return asyncio.get_running_loop().create_future()


async def test_a_result_that_comes_in_time_is_returned() -> None:
    deadlines, future = Deadlines(), a_future()
    waiting = asyncio.ensure_future(deadlines.wait(future, 20))
    await asyncio.sleep(0)
    future.set_result("好")
    assert await waiting == "好"


async def test_a_result_that_is_there_already_needs_no_wait() -> None:
    future = a_future()
    future.set_result("there")
    assert await Deadlines().wait(future, 0) == "there"
    failed = a_future()
    failed.set_exception(LookupError("no"))
    with pytest.raises(LookupError):
        await Deadlines().wait(failed, 0)


async def test_when_the_time_is_up_the_future_itself_has_failed() -> None:
    deadlines, future = Deadlines(), a_future()
    with pytest.raises(TimeoutError):
        await deadlines.wait(future, 0.01)
    assert isinstance(future.exception(), TimeoutError)


async def test_waits_of_one_length_end_in_their_order_and_leave_the_others_alone() -> None:
    deadlines = Deadlines()
    ended: list[str] = []

    async def wait(name: str, seconds: float) -> None:
        try:
            await deadlines.wait(a_future(), seconds)
        except TimeoutError:
            ended.append(name)

    long = asyncio.ensure_future(wait("long", 600))
    short = []
    for name in ("first", "second", "third"):
        short.append(asyncio.ensure_future(wait(name, 0.02)))
        await asyncio.sleep(0.002)
    await asyncio.gather(*short)
    assert ended == ["first", "second", "third"]
    assert not long.done()
    long.cancel()
    await wait("once more", 0.02)
    assert ended[-1] == "once more"


async def test_who_stops_waiting_takes_nothing_from_those_who_go_on() -> None:
    deadlines = Deadlines()
    leaving = asyncio.ensure_future(deadlines.wait(a_future(), 0.02))
    staying = asyncio.ensure_future(deadlines.wait(a_future(), 0.02))
    await asyncio.sleep(0)
    leaving.cancel()
    with pytest.raises(TimeoutError):
        await staying
    assert leaving.cancelled()
