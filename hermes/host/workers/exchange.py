"""The talk with one worker over its wire: requests either way and what belongs to them. It knows no process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import orjson

from hermes.host.workers import wire
from hermes.host.workers.failures import CallEnded, Crashed, Raised, RequestRefused, ResultTooLarge
from hermes.sdk.wire import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, NOT_JSON
from hermes.strict_json import exceeds_64_bits

_BEYOND = "the result holds an integer beyond 64 bits"
ASKED_AT_ONCE = 8192
"""Requests of one worker that are answered at a time: every key that its calls may hold, settled at once, and more."""


class Caller(Protocol):
    """Who made a call, and hears of it as long as the worker has it, in the order in which that came; none may block."""

    @property
    def id(self) -> str:
        """The call's id on the wire."""

    def on_progress(self, text: str, percent: float | None, /) -> None:
        """Take a line of progress."""

    def on_request(self, method: str, params: dict[str, Any], /) -> Awaitable[Any]:
        """Return what the handler asks for, to be awaited, which may raise RequestRefused."""

    def on_left(self) -> None:
        """The call is out of the worker: it was answered, or the worker has died."""


class OnLog(Protocol):
    """Takes a line that the plugin logged or that is wrong with its frames; `call` is None if it belongs to none."""

    def __call__(self, text: str, *, level: str, call: str | None) -> None:
        """Take one line."""


@dataclass(slots=True)
class Pending:
    """A request that the worker has not answered; `caller` is None if it is no call.

    Its future may be given up before the answer comes; `left` is set when it came, or never will.
    """

    answer: asyncio.Future[Any]
    caller: Caller | None = None
    left: asyncio.Event = field(default_factory=asyncio.Event)


class Exchange:
    """Requests to a worker with their answers, and the worker's own requests and notifications.

    `on_idle` is told of every call that has left the worker.
    """

    def __init__(self, send: Callable[[bytes], None], *, on_log: OnLog, on_idle: Callable[[], None]) -> None:
        self._send = send
        self._on_log = on_log
        self._on_idle = on_idle
        self._loop = asyncio.get_running_loop()
        self._pending: dict[int, Pending] = {}
        self._calls: dict[str, Pending] = {}
        self._asked: set[asyncio.Task[None]] = set()
        self._last_id = 0
        self._closed = ""

    def request(self, method: str, params: Any, *, caller: Caller | None = None) -> Pending:
        """Send a request; its answer is the result, or raises a CallEnded. TypeError if `params` have no JSON form."""
        pending = Pending(self._loop.create_future(), caller)
        if self._closed:
            self._leave(pending, failure=Crashed(self._closed))
            return pending
        frame = wire.request(self._last_id + 1, method, params=params)
        self._last_id += 1
        self._pending[self._last_id] = pending
        if caller is not None:
            self._calls[caller.id] = pending
        self._send(frame)
        return pending

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Tell the worker something that needs no answer."""
        self._send(wire.notification(method, params))

    def close(self, reason: str) -> None:
        """Fail whatever is not answered: the worker is gone. What the worker asked for is still seen through."""
        self._closed = reason
        death = object()
        for request_id in list(self._pending):
            self._settle(request_id, failure=Crashed(reason, death))

    def feed(self, line: bytes | wire.Oversized) -> None:
        """Take one line that the worker wrote."""
        if isinstance(line, wire.Oversized):
            if line.asked is not None:
                reason = "the request was over the frame limit"
                self._send(wire.refusal(line.asked, reason, code=INVALID_PARAMS))
                return
            too_large = ResultTooLarge("the answer was over the frame limit")
            self._on_lost(line.request_id, too_large, otherwise="a frame over the limit was dropped")
            return
        try:
            frame = orjson.loads(line)
        except orjson.JSONDecodeError as error:
            reason = _BEYOND if exceeds_64_bits(line) else f"the result cannot be read: {error.msg}"
            failure = Raised(reason, code=NOT_JSON)
            text = "not a frame: " + line[:200].decode("utf-8", "replace")
            self._on_lost(wire.answered_id(line, line), failure, otherwise=text)
            return
        if not isinstance(frame, dict):
            return
        if frame.get("method") is None:
            self._on_answer(frame, line)
        elif frame.get("id") is not None:
            self._on_request(frame, line)
        elif isinstance(params := frame.get("params"), dict):
            self._on_notification(wire.word(frame["method"]), params)

    def _on_answer(self, frame: dict[str, Any], line: bytes) -> None:
        error, failure = frame.get("error"), None
        if error is not None:
            failure = Raised.of(error)
        elif exceeds_64_bits(line):
            failure = Raised(_BEYOND, code=NOT_JSON)
        self._settle(frame.get("id"), frame.get("result"), failure=failure)

    def _on_request(self, frame: dict[str, Any], line: bytes) -> None:
        request_id, method, params = frame["id"], wire.word(frame["method"]), frame.get("params")
        if type(request_id) not in (int, str):
            text = "a request whose id is neither a text nor a whole number was dropped"
            self._on_log(text, level="warning", call=None)
            return
        call = wire.word(params.get("call")) if isinstance(params, dict) else ""
        pending = self._calls.get(call)
        if pending is None or pending.caller is None or not isinstance(params, dict):
            known = "the host has no method" if not call else "there is no such call for"
            code = INVALID_PARAMS if call else METHOD_NOT_FOUND
            self._send(wire.refusal(request_id, f"{known} {method!r}", code=code))
        elif exceeds_64_bits(line):
            self._send(wire.refusal(request_id, _BEYOND, code=INVALID_PARAMS))
        elif len(self._asked) >= ASKED_AT_ONCE:
            reason = f"more than {ASKED_AT_ONCE} requests wait for an answer"
            self._send(wire.refusal(request_id, reason, code=INVALID_PARAMS))
        else:
            # Asked before the next frame is taken, which may be the end of the call.
            asked = pending.caller.on_request(method, params)
            task = self._loop.create_task(self._answer(request_id, asked))
            self._asked.add(task)
            task.add_done_callback(self._asked.discard)

    async def _answer(self, request_id: int | str, asked: Awaitable[Any]) -> None:
        try:
            frame = wire.answer(request_id, await asked)
        except RequestRefused as refused:
            frame = wire.refusal(request_id, refused.reason, code=refused.code)
        except Exception as error:  # noqa: BLE001 - the handler waits for an answer, whatever went wrong here
            frame = wire.refusal(request_id, "the host could not answer", code=INTERNAL_ERROR)
            context = {"message": "a request of a worker could not be answered", "exception": error}
            self._loop.call_exception_handler(context)
        self._send(frame)

    def _on_lost(self, request_id: int | None, failure: CallEnded, *, otherwise: str) -> None:
        """End the call whose answer came and cannot be had; if it was nobody's, log what it was."""
        if request_id in self._pending:
            self._settle(request_id, failure=failure)
        else:
            self._on_log(otherwise, level="warning", call=None)

    def _on_notification(self, method: str, params: dict[str, Any]) -> None:
        call = wire.word(params.get("call")) or None
        text = wire.word(params.get("text"))
        if method == "log":
            self._on_log(text, level=wire.word(params.get("level")), call=call)
        elif method == "progress" and call in self._calls:
            caller, percent = self._calls[call].caller, params.get("percent")
            if caller is not None:
                caller.on_progress(text, percent if type(percent) in (int, float) else None)

    def _settle(self, request_id: Any, result: Any = None, *, failure: Exception | None = None) -> None:
        pending = self._pending.pop(request_id, None) if type(request_id) is int else None
        if pending is None:
            return
        if pending.caller is not None:
            self._calls.pop(pending.caller.id, None)
        self._leave(pending, result, failure=failure)
        if pending.caller is not None:
            self._on_idle()

    def _leave(self, pending: Pending, result: Any = None, *, failure: Exception | None) -> None:
        pending.left.set()
        if pending.caller is not None:
            pending.caller.on_left()
        if not pending.answer.done():
            if failure is None:
                pending.answer.set_result(result)
            else:
                pending.answer.set_exception(failure)
