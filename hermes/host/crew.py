"""Keeps the workers of one version of a plugin: starts them, replaces the dead, and lets those go that are not needed."""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import dataclass
from typing import Any

from hermes.deadlines import Deadlines
from hermes.host.gate import StartGate
from hermes.host.last_error import LastError
from hermes.host.plugin import Plugin
from hermes.host.pool import Pool
from hermes.host.runtimes.base import Runtime
from hermes.host.workers.endings import end_worker
from hermes.host.workers.failures import CallEnded, Unavailable
from hermes.host.workers.worker import Worker
from hermes.host.workers.workshop import Workshop
from hermes.observe.logs import Logger
from hermes.observe.metrics import Metrics

_STABLE = 10.0  # seconds after which a worker's death is no sequel of the one before
_BACKOFF = (
    0.0,
    0.0,
    0.1,
    0.5,
    2.0,
    5.0,
    15.0,
    30.0,
)  # seconds before a start, by the failures in a row before it


@dataclass(frozen=True, slots=True)
class Watch:
    """What every plugin shares: where it tells what happens, and who ends calls that take too long."""

    log: Logger
    metrics: Metrics
    deadlines: Deadlines


StartFailed = (CallEnded, OSError, TypeError, ValueError)
"""What starting a worker may raise; TypeError and ValueError are for what no process can be given."""


class Crew:
    """Holds the pool at what the manifest asks for, from `start` to `stop`.

    `last_error` is of the latest attempt to start a worker, None if that went well.
    """

    def __init__(
        self,
        plugin: Plugin,
        runtime: Runtime,
        *,
        pool: Pool,
        workshop: Workshop,
        gate: StartGate,
        watch: Watch,
    ) -> None:
        self._plugin = plugin
        self._runtime = runtime
        self._pool = pool
        self._workshop = workshop
        self._gate = gate
        self._metrics = watch.metrics
        self._log = watch.log.bind(plugin=plugin.manifest.name)
        self._crashes = 0  # in a row, with no call that succeeded between them
        self._failed_starts = 0  # in a row
        # Both of the monotonic clock: what a worker itself says since when is for people, and may be put right.
        self._ready_since: dict[Worker, float] = {}
        self._idle_since: dict[Worker, float] = {}
        self._changed = asyncio.Event()
        self._endings: set[asyncio.Task[None]] = set()
        self._task: asyncio.Task[None] | None = None
        self.last_error: LastError | None = None
        self.ready_once = False
        """Whether there has been a worker."""

    @property
    def broken(self) -> bool:
        """Say whether there is no worker and the last attempt to start one failed."""
        return self.last_error is not None and not len(self._pool)

    def start(self) -> None:
        """Begin to keep workers, in the background."""
        self._task = asyncio.get_running_loop().create_task(self._keep())

    async def stop(self) -> None:
        """Start no worker any more, and miss none that ends; those that there are stay."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await asyncio.gather(*self._endings, return_exceptions=True)

    async def add_one(self) -> None:
        """Start a worker now and let it take calls; raises one of StartFailed."""
        worker = await self._runtime.start(self._plugin, self._workshop)
        self.last_error = None
        self._failed_starts = 0
        self.ready_once = True
        if worker.exited.is_set():
            return  # it said that it was ready, and died
        self._ready_since[worker] = self._idle_since[worker] = time.monotonic()
        self._pool.add(worker)
        self._log.info("worker_ready", pid=worker.pid or None, hash=self._plugin.hash)

    def on_success(self) -> None:
        """Take note that a call succeeded: what crashed before was no habit."""
        self._crashes = 0

    def on_idle(self, worker: Worker) -> None:
        """Take note that a worker has run a call to its end."""
        if len(self._pool) > self._plugin.manifest.workers.min and not worker.busy:
            self._idle_since[worker] = time.monotonic()
            self._changed.set()

    def release(self, worker: Worker) -> bool:
        """Let a worker take no more calls, and another take its place; say whether it was there."""
        self._idle_since.pop(worker, None)
        self._changed.set()
        return self._pool.remove(worker)

    def on_exit(self, worker: Worker, reason: str) -> None:
        """Replace a worker that died."""
        self._idle_since.pop(worker, None)
        ready_since = self._ready_since.pop(worker, -math.inf)
        if not self._pool.remove(worker) or self._task is None:
            return
        self._crashes = 1 if time.monotonic() - ready_since > _STABLE else self._crashes + 1
        self._log.warning("worker_exited", pid=worker.pid, reason=reason)
        self._count_restart("killed" if worker.killed else "crash")
        self._changed.set()

    async def _keep(self) -> None:
        """Start workers as long as some are missing; a plugin that cannot start is tried again, ever more rarely."""
        workers = self._plugin.manifest.workers
        while True:
            self._changed.clear()
            if len(self._pool) < self._wanted():
                await self._try_one()
                continue
            for worker in self._expired():
                if not worker.busy and self.release(worker):
                    self._see_off(worker)
            more = (self._pool.demand,) if len(self._pool) < workers.max else ()
            await _first_of(self._changed, *more, seconds=self._until_expiry())

    def _see_off(self, worker: Worker) -> None:
        """End a worker beside all else: nobody who needs another one waits for it."""
        task = asyncio.get_running_loop().create_task(end_worker(worker))
        self._endings.add(task)
        task.add_done_callback(self._endings.discard)

    def _wanted(self) -> int:
        workers = self._plugin.manifest.workers
        more = len(self._pool) + 1 if self._pool.depth else 0
        return min(workers.max, max(workers.min, more))

    def _spare(self) -> list[Worker]:
        """Return the workers beyond `min` that have nothing to do, the longest idle first."""
        idle = sorted((since, id(one), one) for one, since in self._idle_since.items() if not one.busy)
        beyond = max(0, len(self._pool) - self._plugin.manifest.workers.min)
        return [one for *_, one in idle[:beyond]]

    def _expired(self) -> list[Worker]:
        before = time.monotonic() - self._plugin.manifest.workers.idle_stop
        return [one for one in self._spare() if self._idle_since[one] <= before]

    def _until_expiry(self) -> float | None:
        spare = self._spare()
        if not spare:
            return None
        idle_stop = self._plugin.manifest.workers.idle_stop
        return max(0.01, self._idle_since[spare[0]] + idle_stop - time.monotonic())

    async def _try_one(self) -> None:
        await asyncio.sleep(_BACKOFF[min(max(self._crashes, self._failed_starts), len(_BACKOFF) - 1)])
        try:
            async with self._gate.enter(self._pool.demand):
                await self.add_one()
        except StartFailed as error:
            self._failed_starts += 1
            self._count_restart("start")
            self._note(error)

    def _note(self, error: Exception) -> None:
        self.last_error = found = LastError.of(error)
        self._log.error("plugin_not_started", reason=found.message, file=found.file, line=found.line)
        if self.broken:
            self._pool.refuse(lambda: Unavailable(found.message))

    def _count_restart(self, reason: str) -> None:
        self._metrics.worker_restarts.labels(self._plugin.manifest.name, reason).inc()


async def _first_of(*events: asyncio.Event, seconds: float | None) -> None:
    waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
