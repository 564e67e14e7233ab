"""A worker whose calls are tasks of the daemon itself; what a task does for a call is its runner's affair."""

from __future__ import annotations

import asyncio
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from hermes.host.workers.exchange import Caller, Pending
from hermes.host.workers.failures import CallEnded, Crashed, Raised
from hermes.host.workers.worker import Listener, Process
from hermes.sdk.wire import CANCELLED

_SENTENCE = 300  # characters of what an unexpected error says of itself


class Log(Protocol):
    """Takes a line that belongs to one call; `level` is as the wire has it."""

    def __call__(self, text: str, *, level: str = "info") -> None:
        """Take one line."""


class Runner(Protocol):
    """Does the calls of one TaskWorker."""

    async def run(self, caller: Caller, params: dict[str, Any], /, *, log: Log) -> Any:
        """Return what a call comes to, as a handler would; `params` are the wire's, in plain JSON values.

        When it is cancelled it ends what it began for the call, and returns only then. Raises a CallEnded.
        """

    def processes(self) -> list[Process]:
        """Return what runs for the calls now."""

    def kill(self, reason: str) -> None:
        """End at once whatever runs for the calls."""

    async def close(self) -> None:
        """Let go of what is kept between calls; none runs any more."""


@dataclass(slots=True)
class _Running:
    call: str
    pending: Pending
    task: asyncio.Task[Any] = field(init=False)
    cancelled: bool = False  # once is enough: a second time would interrupt the tidying up


class TaskWorker:
    """Runs every call as a task, until it is closed or killed."""

    pid = 0

    def __init__(self, runner: Runner, listener: Listener) -> None:
        self._runner = runner
        self._listener = listener
        self._loop = asyncio.get_running_loop()
        self._calls: dict[str, _Running] = {}
        self._reason = ""  # why it ends
        self._death = object()
        self._end: asyncio.Task[None] | None = None
        self.since = time.time()
        self.busy = 0
        self.paused = 0
        self.killed = False
        self.exited = asyncio.Event()

    def call(self, caller: Caller, params: Mapping[str, Any]) -> Pending:
        """Begin a call; the place it takes is given back by `on_idle`. TypeError if `params` have no JSON form."""
        plain = orjson.loads(orjson.dumps(params))
        pending = Pending(self._loop.create_future(), caller)
        if self._reason:
            self._leave(pending, failure=Crashed(self._reason, self._death))
            return pending
        running = self._calls[caller.id] = _Running(caller.id, pending)
        running.task = self._loop.create_task(self._run(caller, plain))
        running.task.add_done_callback(lambda _: self._settle(running))
        return pending

    def cancel(self, call: str) -> None:
        """End a call, with whatever runs for it."""
        running = self._calls.get(call)
        if running is not None and not running.cancelled:
            running.cancelled = True
            running.task.cancel()

    def ping(self) -> asyncio.Future[Any]:
        """Return what is done already: the daemon itself listens."""
        answer: asyncio.Future[Any] = self._loop.create_future()
        answer.set_result({})
        return answer

    def processes(self) -> list[Process]:
        """Return what runs for the calls now."""
        return self._runner.processes()

    def close(self) -> None:
        """Take no calls any more, and end those that run."""
        self._leave_service("the worker was closed")

    def kill(self, reason: str = "") -> None:
        """End everything at once."""
        if self.exited.is_set():
            return
        self.killed = True
        self._leave_service(f"the worker {reason or 'was killed'}")
        self._runner.kill(reason)

    def _leave_service(self, reason: str) -> None:
        if self._reason:
            return
        self._reason = reason
        for call in list(self._calls):
            self.cancel(call)
        self._end = self._loop.create_task(self._finish())

    async def _finish(self) -> None:
        """See the calls out, then tell that the worker is gone."""
        await asyncio.gather(*(one.pending.left.wait() for one in self._calls.values()))
        try:
            await self._runner.close()
        except Exception as error:  # noqa: BLE001 - there is nobody left whom it could concern
            context = {"message": "a runner could not let go of what it kept", "exception": error}
            self._loop.call_exception_handler(context)
        self.exited.set()
        self._listener.on_exit(self, self._reason)

    async def _run(self, caller: Caller, params: dict[str, Any]) -> Any:
        def log(text: str, *, level: str = "info") -> None:
            self._listener.on_log(self, text, level=level, call=caller.id)

        try:
            return await self._runner.run(caller, params, log=log)
        except Crashed as failure:
            log(f"the call crashed: {failure.reason}", level="warning")
            raise
        except CallEnded:
            raise
        except Exception as error:
            log(traceback.format_exc(), level="error")
            said = (str(error).strip().splitlines() or [""])[0][:_SENTENCE]
            reason = f"{type(error).__name__}: {said}" if said else type(error).__name__
            raise Raised(reason) from error

    def _settle(self, running: _Running) -> None:
        task = running.task
        self._calls.pop(running.call, None)
        if task.cancelled():
            self._leave(running.pending, failure=self._cut_off())
        elif (error := task.exception()) is not None:
            # Who waits makes a circle of it, and its frames hold what was read: many megabytes until that is collected.
            error.__traceback__ = error.__cause__ = error.__context__ = None
            self._leave(running.pending, failure=error)
        else:
            self._leave(running.pending, result=task.result())
        self.busy -= 1
        self._listener.on_idle(self)

    def _cut_off(self) -> CallEnded:
        if self._reason:
            return Crashed(self._reason, self._death)
        return Raised("the handler was cancelled", code=CANCELLED)

    def _leave(self, pending: Pending, *, result: Any = None, failure: BaseException | None = None) -> None:
        pending.left.set()
        if pending.caller is not None:
            pending.caller.on_left()
        if pending.answer.done():
            return
        if failure is None:
            pending.answer.set_result(result)
        else:
            pending.answer.set_exception(failure)
