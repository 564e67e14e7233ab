"""Owns the worker processes of one plugin: starts them, replaces the dead, stops the stuck, and runs calls in them."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import dataclass
from typing import Any

from hermes.deadlines import Deadlines
from hermes.host.calls import Call
from hermes.host.exchange import Pending
from hermes.host.failures import CallEnded, Raised, TimedOut, Unavailable
from hermes.host.gate import StartGate
from hermes.host.plugin import Plugin
from hermes.host.pool import Pool
from hermes.host.startup import start_worker
from hermes.host.statistics import Statistics
from hermes.host.worker import Launch, Worker
from hermes.observe.logs import Logger
from hermes.observe.metrics import Metrics

_STOPPING = "Hermes is shutting down"
_LEVELS = {"debug": logging.DEBUG, "warning": logging.WARNING, "error": logging.ERROR}  # all others are info
_GRACE = 2.0  # seconds a handler has to end after it was told to stop
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
class LastError:
    """Why a plugin does not run, or last failed to; `file` is relative to its folder, `at` Unix seconds."""

    message: str
    file: str | None
    line: int | None
    at: float


@dataclass(frozen=True, slots=True)
class Watch:
    """What every supervisor shares: where it tells what happens, and who ends calls that take too long."""

    log: Logger
    metrics: Metrics
    deadlines: Deadlines


class Supervisor:
    """Keeps one version of a plugin running from `start` to `stop`.

    `launch` says how a worker is started; `queue_wait` is how many seconds a call waits for one.
    """

    def __init__(
        self, plugin: Plugin, launch: Launch, *, gate: StartGate, queue_wait: float, watch: Watch
    ) -> None:
        self.plugin = plugin
        self.pool = Pool(plugin.manifest.concurrency, queue_wait=queue_wait, deadlines=watch.deadlines)
        self.statistics = Statistics()
        self.last_error: LastError | None = None
        self.loaded_at = time.time()
        self._launch = launch
        self._gate = gate
        self._metrics = watch.metrics
        self._deadlines = watch.deadlines
        self._log = watch.log.bind(plugin=plugin.manifest.name)
        self._calls: dict[str, Call] = {}
        self._crashes = 0  # in a row, with no call that succeeded between them
        self._failed_starts = 0  # in a row
        self._lost = asyncio.Event()
        self._stopping = False
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def broken(self) -> bool:
        """Say whether there is no worker and the last attempt to start one failed."""
        return self.last_error is not None and not len(self.pool)

    def start(self) -> None:
        """Begin to start workers in the background."""
        self._own(self._keep())

    async def stop(self) -> None:
        """End every worker: those that do not leave when their wire is closed are killed."""
        self._stopping = True
        self.pool.refuse(_STOPPING)
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*map(_end, self.pool))

    async def run(self, call: Call) -> Any:
        """Run a call and return what the handler returned; raises a CallEnded if it returned nothing.

        Cancelling the caller cancels the handler.
        """
        worker = await self._take()
        try:
            await call.on_started()
            pending = worker.call(call, call.params())
        except TypeError as error:
            self.pool.give_back(worker)
            raise Raised(f"the message cannot be handed to the plugin: {error}") from error
        except BaseException:
            self.pool.give_back(worker)
            raise
        started = time.perf_counter()
        failed = True
        self._calls[call.id] = call
        try:
            result = await self._deadlines.wait(pending.answer, call.timeout)
        except TimeoutError:
            self._give_up(worker, pending, call=call.id)
            raise TimedOut(call.timeout) from None
        except asyncio.CancelledError:
            self._give_up(worker, pending, call=call.id)
            raise
        else:
            failed = False
            self._crashes = 0
            return result
        finally:
            if pending.left.is_set():
                self._calls.pop(call.id, None)
            self.statistics.add(time.perf_counter() - started, failed=failed)

    def on_log(self, _worker: Worker, text: str, *, level: str, call: str | None) -> None:
        """Write a plugin's line to the log, with its request_id if it belongs to a call that runs."""
        running = self._calls.get(call or "")
        ids = {"request_id": running.message.request_id} if running is not None else {}
        self._log.log(_LEVELS.get(level, logging.INFO), "plugin_log", text=text, **ids)

    def on_idle(self, _worker: Worker) -> None:
        """Give the free place to the next call."""
        self.pool.assign()

    def on_exit(self, worker: Worker, reason: str) -> None:
        """Replace a worker that died; of one that was never ready, who started it hears by itself."""
        if not self.pool.remove(worker) or self._stopping:
            return
        self._crashes = 1 if time.time() - worker.since > _STABLE else self._crashes + 1
        self._log.warning("worker_exited", pid=worker.pid, reason=reason)
        self._count_restart("killed" if worker.killed else "crash")
        self._lost.set()

    async def _take(self) -> Worker:
        while True:
            if self._stopping:
                raise Unavailable(_STOPPING)
            if self.broken:
                raise Unavailable(self.last_error.message if self.last_error else "")
            worker = await self.pool.take()
            if not worker.exited.is_set():
                return worker

    async def _keep(self) -> None:
        """Start workers as long as some are missing; a plugin that cannot start is tried again, ever more rarely."""
        while True:
            if len(self.pool) < self._wanted():
                await self._start_one()
            elif len(self.pool) < self.plugin.manifest.workers.max:
                await _first_of(self._lost, self.pool.demand)
            else:
                await self._lost.wait()
            self._lost.clear()

    def _wanted(self) -> int:
        workers = self.plugin.manifest.workers
        more = len(self.pool) + 1 if self.pool.depth else 0
        return min(workers.max, max(workers.min, more))

    async def _start_one(self) -> None:
        await asyncio.sleep(_BACKOFF[min(max(self._crashes, self._failed_starts), len(_BACKOFF) - 1)])
        try:
            async with self._gate.enter(self.pool.demand):
                worker = await start_worker(self.plugin, self._launch, listener=self)
        except (CallEnded, OSError, TypeError, ValueError) as error:  # also for what no process can be given
            self._failed_starts += 1
            self._count_restart("start")
            self._note(error)
        else:
            self.last_error = None
            self._failed_starts = 0
            self.pool.add(worker)
            self._log.info("worker_ready", pid=worker.pid)

    def _note(self, error: Exception) -> None:
        where = (error.where if isinstance(error, Raised) else None) or {}
        file, line = where.get("file"), where.get("line")
        self.last_error = LastError(
            str(error),
            file if isinstance(file, str) else None,
            line if isinstance(line, int) else None,
            time.time(),
        )
        self._log.error("plugin_not_started", reason=str(error), file=file, line=line)
        if self.broken:
            self.pool.refuse(str(error))

    def _count_restart(self, reason: str) -> None:
        self._metrics.worker_restarts.labels(self.plugin.manifest.name, reason).inc()

    def _give_up(self, worker: Worker, pending: Pending, *, call: str) -> None:
        worker.paused += 1  # until its handlers have let go, a worker that may be stuck gets nothing new
        worker.cancel(call)
        self._own(self._see_off(worker, pending, call=call))

    async def _see_off(self, worker: Worker, pending: Pending, *, call: str) -> None:
        """Wait for a handler that was told to stop; a worker that does not let go of it is killed."""
        try:
            async with asyncio.timeout(_GRACE):
                await pending.left.wait()
        except TimeoutError:
            self._log.warning("worker_stuck", pid=worker.pid)
            worker.kill()
        else:
            worker.paused -= 1
            self.pool.assign()
        finally:
            self._calls.pop(call, None)

    def _own(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _first_of(*events: asyncio.Event) -> None:
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()


async def _end(worker: Worker) -> None:
    worker.close()
    try:
        async with asyncio.timeout(_GRACE):
            await worker.exited.wait()
    except TimeoutError:
        worker.kill()
        await worker.exited.wait()
