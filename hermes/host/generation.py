"""One version of a plugin at work: its queue, its workers and the calls in them. Which version serves is not its affair."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Coroutine
from typing import Any

from hermes.host.crew import Crew, Watch
from hermes.host.custody.processes import descendants
from hermes.host.gate import StartGate
from hermes.host.last_error import LastError
from hermes.host.log_budget import LogBudget
from hermes.host.plugin import Plugin
from hermes.host.pool import Pool
from hermes.host.runtimes.base import Runtime
from hermes.host.statistics import Statistics
from hermes.host.workers.calls import Call
from hermes.host.workers.endings import GRACE, end_worker
from hermes.host.workers.exchange import Pending
from hermes.host.workers.failures import CallEnded, Crashed, Raised, TimedOut, Unavailable
from hermes.host.workers.worker import Process, Worker
from hermes.host.workers.workshop import Tools
from hermes.sdk.wire import INVALID_PARAMS

_STOPPING = "Hermes is shutting down"
_LINE = 8192  # characters of a plugin's line that are logged; a trace has fewer
_LISTENS_WITHIN = 10.0  # seconds in which a worker that is ready shows that it is
_LEVELS = {"debug": logging.DEBUG, "warning": logging.WARNING, "error": logging.ERROR}  # all others are info


class Generation:
    """Runs calls on one version of a plugin from `start` until `retire` or `stop`.

    `queue_wait` is how many seconds a call waits for a worker.
    """

    def __init__(
        self,
        plugin: Plugin,
        runtime: Runtime,
        *,
        tools: Tools,
        gate: StartGate,
        queue_wait: float,
        watch: Watch,
    ) -> None:
        self.plugin = plugin
        self.loaded_at = time.time()
        self.pool = Pool(plugin.manifest.concurrency, queue_wait=queue_wait, deadlines=watch.deadlines)
        self._crew = Crew(
            plugin, runtime, pool=self.pool, workshop=tools.workshop(self), gate=gate, watch=watch
        )
        self._gate = gate
        self._deadlines = watch.deadlines
        self._log = watch.log.bind(plugin=plugin.manifest.name)
        self._budget = LogBudget()
        self._calls: dict[str, Call] = {}
        self._leaving: set[Worker] = set()  # they take no more calls
        self._freed = asyncio.Event()
        self._closed = False
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def last_error(self) -> LastError | None:
        """Why the latest attempt to start a worker failed, None if it did not."""
        return self._crew.last_error

    @property
    def usable(self) -> bool:
        """Say whether it has served, or there is no reason to think that it could not."""
        return self._crew.ready_once or self._crew.last_error is None

    @property
    def broken(self) -> bool:
        """Say whether no call can run because no worker can be started."""
        return self._crew.broken

    def start(self) -> None:
        """Begin to start workers in the background."""
        self._crew.start()

    async def prove(self) -> None:
        """Start the first worker now; raises one of StartFailed if this version cannot serve, and leaves nothing then."""
        proven = False
        try:
            async with self._gate.enter(self.pool.demand):
                await self._crew.add_one()
            await self._show_life()
            proven = True
        finally:
            if not proven:
                await self.stop()

    async def _show_life(self) -> None:
        """Raise Crashed unless the worker that said that it was ready is there, and listens."""
        try:
            async with asyncio.timeout(_LISTENS_WITHIN):
                for worker in self.pool:
                    await worker.ping()
        except TimeoutError:
            raise Crashed("the worker was ready, and then did not listen") from None
        if not len(self.pool):
            raise Crashed("the worker was ready, and then ended")

    async def retire(self, why: Callable[[], CallEnded]) -> None:
        """Refuse who waits and who comes, let running calls finish, and return when every worker has left."""
        self._closed = True
        self.pool.close(why)
        await self._crew.stop()
        for worker in self.pool:
            self.pool.remove(worker)
            self._leaving.add(worker)
        await asyncio.gather(*(self._see_out(worker) for worker in list(self._leaving)))

    async def stop(self) -> None:
        """End every worker now: those that do not leave when they are asked to are killed."""
        self._closed = True
        self.pool.close(lambda: Unavailable(_STOPPING))
        await self._crew.stop()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._leaving.update(self.pool)
        for worker in self.pool:
            self.pool.remove(worker)  # its end is no crash
        await asyncio.gather(*map(end_worker, list(self._leaving)))

    def processes(self) -> list[Process]:
        """Return what runs for this version now."""
        workers = [*self.pool, *self._leaving]
        return [one for worker in workers for one in worker.processes()]

    async def run(self, call: Call, statistics: Statistics, *, confirm: Callable[[], None]) -> Any:
        """Run a call and return what the handler returned; raises a CallEnded if it returned nothing.

        `confirm` is asked once there is a place for the call, and raises if it is not to begin after all. Cancelling the
        caller cancels the handler. What ran is counted in `statistics`.
        """
        worker = await self._take()
        try:
            confirm()
            await call.on_started()
            pending = worker.call(call, call.params())
        except TypeError as error:
            self.pool.give_back(worker)
            self._freed.set()
            reason = f"the message cannot be handed to the plugin: {error}"
            raise Raised(reason, code=INVALID_PARAMS) from error
        except BaseException:
            self.pool.give_back(worker)
            self._freed.set()
            raise
        self._calls[call.id] = call
        started, failed = time.perf_counter(), True
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
            self._crew.on_success()
            return result
        finally:
            statistics.add(time.perf_counter() - started, failed=failed)
            if pending.left.is_set():
                self._calls.pop(call.id, None)

    def on_log(self, _worker: Worker, text: str, *, level: str, call: str | None) -> None:
        """Write a plugin's line to the log, with its request_id if it belongs to a call that runs."""
        left_out = self._budget.take()
        if left_out is None:
            return
        if left_out:
            self._log.warning("plugin_log_left_out", lines=left_out)
        if len(text) > _LINE:
            text = f"{text[:_LINE]}… ({len(text)} characters)"
        running = self._calls.get(call or "")
        ids = {"request_id": running.message.request_id} if running is not None else {}
        self._log.log(_LEVELS.get(level, logging.INFO), "plugin_log", text=text, **ids)

    def on_idle(self, worker: Worker) -> None:
        """Give the free place to the next call."""
        self._freed.set()
        self._crew.on_idle(worker)
        self.pool.assign()

    def on_exit(self, worker: Worker, reason: str) -> None:
        """Replace a worker that died; of one that was never ready, who started it hears by itself."""
        self._leaving.discard(worker)
        self._crew.on_exit(worker, reason)

    async def _take(self) -> Worker:
        while True:
            error = self.last_error
            if error is not None and self.broken and not self._closed:
                raise Unavailable(error.message)
            worker = await self.pool.take()
            if not worker.exited.is_set():
                return worker

    def _give_up(self, worker: Worker, pending: Pending, *, call: str) -> None:
        worker.paused += 1  # until its handlers have let go, a worker that may be stuck gets nothing new
        worker.cancel(call)
        self._own(self._see_off(worker, pending, call=call))

    async def _see_off(self, worker: Worker, pending: Pending, *, call: str) -> None:
        """Wait for a handler that was told to stop; a worker that does not let go of it, or does not listen, is killed."""
        try:
            async with asyncio.timeout(GRACE):
                await pending.left.wait()
                with contextlib.suppress(CallEnded):  # an error is a sign of life too
                    await worker.ping()
        except TimeoutError:
            self._log.warning("worker_stuck", pid=worker.pid)
            worker.kill("did not stop a call within its grace and was killed")
        else:
            if descendants(worker.pid):
                self._replace(worker)  # processes that the handler left behind go with it
            else:
                worker.paused -= 1
                self.pool.assign()
        finally:
            self._calls.pop(call, None)

    def _replace(self, worker: Worker) -> None:
        """Let another worker take the place of one that has calls of its own to finish first."""
        if self._crew.release(worker):
            self._leaving.add(worker)
            self._own(self._see_out(worker))

    async def _see_out(self, worker: Worker) -> None:
        """End a worker that takes no calls any more once those that it has are over."""
        while worker.busy and not worker.exited.is_set():
            self._freed.clear()
            freed, gone = (asyncio.ensure_future(one.wait()) for one in (self._freed, worker.exited))
            try:
                await asyncio.wait((freed, gone), return_when=asyncio.FIRST_COMPLETED)
            finally:
                freed.cancel()
                gone.cancel()
        await end_worker(worker)

    def _own(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
