"""Waits with a limit, cheap enough for every message: waits of one length share one timer, the oldest ends first."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import Any, TypeVar

_T = TypeVar("_T")


class Deadlines:
    """Ends futures that take too long. A timer for each wait would cost more than all else that the wait does."""

    def __init__(self) -> None:
        self._queues: dict[float, _Queue] = {}

    async def wait(self, future: asyncio.Future[_T], seconds: float) -> _T:
        """Return the future's result; after `seconds` the future itself is failed with TimeoutError."""
        if future.done():
            return future.result()
        queue = self._queues.get(seconds)
        if queue is None:
            queue = self._queues[seconds] = _Queue(seconds, self._queues)
        queue.add(future)
        try:
            return await future
        finally:
            queue.discard(future)


class _Queue:
    """The futures of one length of wait, in the order in which their time is up."""

    def __init__(self, seconds: float, queues: dict[float, _Queue]) -> None:
        self._seconds = seconds
        self._queues = queues
        self._loop = asyncio.get_running_loop()
        self._ends: OrderedDict[asyncio.Future[Any], float] = OrderedDict()
        self._armed = False

    def add(self, future: asyncio.Future[Any]) -> None:
        end = self._loop.time() + self._seconds
        self._ends[future] = end
        if not self._armed:
            self._armed = True
            self._loop.call_at(end, self._expire)

    def discard(self, future: asyncio.Future[Any]) -> None:
        self._ends.pop(future, None)

    def _expire(self) -> None:
        now = self._loop.time()
        while self._ends:
            future, end = next(iter(self._ends.items()))
            if end > now:
                self._loop.call_at(end, self._expire)
                return
            del self._ends[future]
            if not future.done():
                future.set_exception(TimeoutError())
        self._armed = False
        del self._queues[self._seconds]
