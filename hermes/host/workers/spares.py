"""Python workers in reserve: processes that are up and belong to no plugin yet, so that nobody waits for Python to start."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable

from hermes.host.workers.endings import end_worker
from hermes.host.workers.wire_worker import Launch, WireWorker
from hermes.host.workers.worker import Worker
from hermes.observe.logs import Logger

_PAUSE = 0.5  # seconds after one was taken: whoever took it gets the processor first
_BACKOFF = 30.0  # seconds after one that could not be started


class Spares:
    """Keeps `count` of them from the first time that one is asked for; `launch` says how one is started."""

    def __init__(self, launch: Callable[[], Launch], *, count: int, log: Logger) -> None:
        self._launch = launch
        self._count = count
        self._log = log
        self._workers: list[WireWorker] = []
        self._wanted = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._closed = False

    def __len__(self) -> int:
        return len(self._workers)

    def take(self) -> WireWorker | None:
        """Return a worker that is to be handed over, None if there is none now; another one is started for later."""
        if not self._count or self._closed:
            return None
        self._wanted.set()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._keep())
        while self._workers:
            worker = self._workers.pop()
            if not worker.exited.is_set() and not worker.paused:
                return worker
        return None

    async def close(self) -> None:
        """End those that are left, and keep none any more."""
        self._closed = True
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        workers, self._workers = self._workers, []
        await asyncio.gather(*map(end_worker, workers))

    def on_log(self, _worker: Worker, text: str, *, level: str, call: str | None) -> None:
        """Take note of what none of them should say."""
        self._log.warning("spare_worker_said", text=text, said_as=level, call=call)

    def on_idle(self, worker: Worker) -> None:
        """Ignore it: none of them has calls."""

    def on_exit(self, worker: Worker, reason: str) -> None:
        """Replace one that died in waiting."""
        if worker in self._workers:
            self._workers.remove(worker)
            self._log.warning("spare_worker_exited", pid=worker.pid, reason=reason)
            self._wanted.set()

    async def _keep(self) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            await asyncio.sleep(_PAUSE)
            while len(self._workers) < self._count:
                try:
                    await self._start_one()
                except OSError as error:
                    self._log.warning("spare_worker_not_started", reason=error.strerror or str(error))
                    await asyncio.sleep(_BACKOFF)

    async def _start_one(self) -> None:
        """Start one; if that is given up meanwhile it is seen through first: half a process cannot be ended."""
        starting = asyncio.ensure_future(WireWorker.start(self._launch(), self))
        try:
            self._workers.append(await asyncio.shield(starting))
        except asyncio.CancelledError:
            with contextlib.suppress(OSError):
                self._workers.append(await starting)
            raise
