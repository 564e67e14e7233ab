"""The queue of one plugin: calls wait here, first come first served, for a worker with room."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Iterator

from hermes.deadlines import Deadlines
from hermes.host.workers.failures import CallEnded, NoRoom
from hermes.host.workers.worker import Worker


class Pool:
    """The workers of one plugin that take calls, and the calls that wait for them.

    `concurrency` is how many calls a worker runs at a time, `queue_wait` how many seconds a call waits at most.
    """

    def __init__(self, concurrency: int, *, queue_wait: float, deadlines: Deadlines) -> None:
        self._deadlines = deadlines
        self._concurrency = concurrency
        self._queue_wait = queue_wait
        self._workers: list[Worker] = []
        self._waiting: deque[asyncio.Future[Worker]] = deque()
        self._closed: Callable[[], CallEnded] | None = None
        self.demand = asyncio.Event()
        """Set while calls wait: who starts workers should hurry."""

    def __len__(self) -> int:
        return len(self._workers)

    def __iter__(self) -> Iterator[Worker]:
        return iter(list(self._workers))

    @property
    def depth(self) -> int:
        """How many calls wait."""
        return len(self._waiting)

    @property
    def has_room(self) -> bool:
        """Say whether a call would not have to wait."""
        return not self._waiting and self._free() is not None

    async def take(self) -> Worker:
        """Return a worker with one of its places taken; raises NoRoom after `queue_wait`."""
        if self._closed is not None:
            raise self._closed()
        worker = self._free()
        if worker is not None and not self._waiting:
            worker.busy += 1
            return worker
        place: asyncio.Future[Worker] = asyncio.get_running_loop().create_future()
        self._waiting.append(place)
        self.demand.set()
        try:
            return await self._deadlines.wait(place, self._queue_wait)
        except TimeoutError:
            self._leave(place)
            raise NoRoom(self._queue_wait) from None
        except asyncio.CancelledError:
            self._leave(place)
            raise

    def give_back(self, worker: Worker) -> None:
        """Free a place that was taken and not used."""
        worker.busy -= 1
        self.assign()

    def add(self, worker: Worker) -> None:
        """Let a worker take calls."""
        self._workers.append(worker)
        self.assign()

    def remove(self, worker: Worker) -> bool:
        """Let a worker take no more calls; say whether it was there."""
        if worker not in self._workers:
            return False
        self._workers.remove(worker)
        return True

    def assign(self) -> None:
        """Give the calls that wait the places that are free."""
        while self._waiting and (worker := self._free()) is not None:
            place = self._waiting.popleft()
            if not place.done():
                worker.busy += 1
                place.set_result(worker)
        if not self._waiting:
            self.demand.clear()

    def refuse(self, why: Callable[[], CallEnded]) -> None:
        """End every call that waits with what `why` makes for it."""
        while self._waiting:
            place = self._waiting.popleft()
            if not place.done():
                place.set_exception(why())
        self.demand.clear()

    def close(self, why: Callable[[], CallEnded]) -> None:
        """Refuse every call that waits, and every later one."""
        self._closed = self._closed or why
        self.refuse(why)

    def _free(self) -> Worker | None:
        best = None
        for worker in self._workers:
            if worker.paused or worker.busy >= self._concurrency or worker.exited.is_set():
                continue
            if best is None or worker.busy < best.busy:
                best = worker
        return best

    def _leave(self, place: asyncio.Future[Worker]) -> None:
        if place.done() and not place.cancelled() and place.exception() is None:
            self.give_back(place.result())  # it came at the very moment its caller left
        with contextlib.suppress(ValueError):
            self._waiting.remove(place)
        if not self._waiting:
            self.demand.clear()
