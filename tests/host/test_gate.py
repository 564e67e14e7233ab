"""Turns at starting: so many at a time, but for those that somebody waits for and those that take too long."""

from __future__ import annotations

import asyncio

from hermes.host.gate import StartGate
from tests.support.bench import eventually


class Starts:
    """Starts that go on until they are told to end; `under_way` are their numbers, in order."""

    def __init__(self, gate: StartGate) -> None:
        self._gate = gate
        self._ends: dict[int, asyncio.Event] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self.under_way: list[int] = []

    async def begin(self, number: int, demand: asyncio.Event | None = None) -> None:
        """Begin one, and let everybody take the steps that there are to take."""
        self._ends[number] = asyncio.Event()
        self._tasks[number] = asyncio.create_task(self._start(number, demand or asyncio.Event()))
        await self._settle()

    async def end(self, number: int, *, cancel: bool = False) -> None:
        """Let one end, or cancel it."""
        if cancel:
            self._tasks[number].cancel()
        self._ends[number].set()
        await self._settle()

    async def close(self) -> None:
        for number in self._tasks:
            await self.end(number)
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _start(self, number: int, demand: asyncio.Event) -> None:
        async with self._gate.enter(demand):
            self.under_way.append(number)
            try:
                await self._ends[number].wait()
            finally:
                self.under_way.remove(number)

    async def _settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)


async def test_so_many_start_at_a_time_and_the_others_follow_in_order() -> None:
    starts = Starts(StartGate(2))
    for number in range(5):
        await starts.begin(number)
    assert starts.under_way == [0, 1]
    await starts.end(1)
    assert starts.under_way == [0, 2]
    await starts.end(0)
    assert starts.under_way == [2, 3]
    await starts.close()
    assert starts.under_way == []


async def test_who_is_waited_for_starts_beside_them_at_once_or_when_that_begins() -> None:
    starts, demand, later = Starts(StartGate(1)), asyncio.Event(), asyncio.Event()
    demand.set()
    await starts.begin(0)
    await starts.begin(1, demand)
    await starts.begin(2, later)
    await starts.begin(3)
    assert starts.under_way == [0, 1]
    later.set()
    await starts.end(1)
    assert starts.under_way == [0, 2]
    await starts.end(0)
    await starts.end(2)
    assert starts.under_way == [3]
    await starts.close()


async def test_who_gives_up_waiting_or_starting_leaves_no_turn_taken() -> None:
    starts = Starts(StartGate(1))
    for number in range(4):
        await starts.begin(number)
    await starts.end(1, cancel=True)
    await starts.end(0, cancel=True)
    assert starts.under_way == [2]
    await starts.end(2)
    assert starts.under_way == [3]
    await starts.close()


async def test_a_start_that_takes_too_long_makes_room_and_gives_its_turn_back_once() -> None:
    starts, demand = Starts(StartGate(1, patience=0.3)), asyncio.Event()
    demand.set()
    await starts.begin(0)
    await starts.begin(1, demand)
    await starts.begin(2)
    await starts.begin(3)
    assert starts.under_way == [0, 1]
    await eventually(lambda: 2 in starts.under_way)
    for number in (0, 1, 2):
        await starts.end(number)
    assert starts.under_way == [3]
    await starts.begin(4)
    assert starts.under_way == [3]
    await starts.close()
