"""The process a Python plugin runs in: `python -m hermes.sdk.worker [LIMITS]`, started by the host and never by hand."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast

from hermes.sdk import bootstrap
from hermes.sdk.context import PrintedLines, WireHandler, build_context, current_call
from hermes.sdk.failures import describe, locate
from hermes.sdk.once import OutcomeUnknown, StillRunning
from hermes.sdk.requests import Requests
from hermes.sdk.wire import (
    CANCELLED,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    OUTCOME_UNKNOWN,
    PLUGIN_FAILED,
    PROTOCOL,
    STILL_RUNNING,
    Wire,
    text_of,
)

Handler = Callable[[dict[str, Any], dict[str, Any]], Awaitable[Any]]

_BY_HAND = "This is the worker process of a Hermes plugin; the daemon starts it. Try: hermes run"


class Worker:
    """Answers the host's frames with one plugin's handler until the host closes the wire."""

    def __init__(self, wire: Wire, loop: asyncio.AbstractEventLoop, *, printed: PrintedLines) -> None:
        self._wire = wire
        self._requests = Requests(wire)
        self._loop = loop
        self._printed = printed
        self._root = Path.cwd()
        self._setup: dict[str, Any] = {}
        self._handler: Handler | None = None
        self._calls: dict[str, asyncio.Task[None]] = {}
        self._methods: dict[str, Callable[[Any, dict[str, Any]], None]] = {
            "initialize": self._initialize,
            "handle": self._handle,
            "cancel": self._cancel,
            "ping": self._ping,
            "shutdown": self._shutdown,
        }

    def on_readable(self) -> None:
        """Take what the host wrote; leave at the end of the stream."""
        if not self._wire.receive(self._accept):
            self._requests.close()
            self._loop.stop()

    def _accept(self, frame: dict[str, Any]) -> None:
        name, params = frame.get("method"), frame.get("params")
        method = self._methods.get(name) if isinstance(name, str) else None
        if method is not None:
            method(frame.get("id"), params if isinstance(params, dict) else {})
        elif name is None:
            self._requests.accept(frame)
        elif frame.get("id") is not None:
            self._wire.fail(frame["id"], f"no method {name!r}", code=METHOD_NOT_FOUND)

    def _initialize(self, request_id: Any, params: dict[str, Any]) -> None:
        self._setup = params
        entry = params.get("entry") or "plugin:handle"
        try:
            self._move_in(params)
            try:
                self._handler = load_handler(entry)
            finally:
                self._printed.finish()
        except BaseException as error:  # noqa: BLE001 - a plugin may raise anything at import, SystemExit too
            self._fail(request_id, error)
        else:
            self._wire.reply(request_id, {"protocol": PROTOCOL})

    def _move_in(self, params: dict[str, Any]) -> None:
        """Make a process that may have been started for any plugin this one's."""
        if params.get("directory"):
            os.chdir(params["directory"])
        self._root = Path.cwd()
        os.environ.update(params.get("environment") or {})
        bootstrap.apply(params.get("limits") or {})

    def _handle(self, request_id: Any, params: dict[str, Any]) -> None:
        if self._handler is None:
            self._wire.fail(request_id, "handle came before a successful initialize", code=PLUGIN_FAILED)
            return
        call = params.get("call")
        if not isinstance(call, str) or not isinstance(params.get("message"), dict):
            reason = "handle needs call, a string, and message, an object"
            self._wire.fail(request_id, reason, code=INVALID_PARAMS)
            return

        def on_done(task: asyncio.Task[None]) -> None:
            self._calls.pop(call, None)
            if task.cancelled():  # before its first step: it had no way to answer
                self._wire.fail(request_id, "cancelled", code=CANCELLED)
            elif (error := task.exception()) is not None:  # a log handler of the plugin raised in its turn
                self._fail(request_id, error)

        self._calls[call] = self._loop.create_task(self._run(request_id, params, handler=self._handler))
        self._calls[call].add_done_callback(on_done)

    async def _run(self, request_id: Any, params: dict[str, Any], *, handler: Handler) -> None:
        current_call.set(params["call"])
        try:
            result = await self._result(handler, params)
        except asyncio.CancelledError:
            self._wire.fail(request_id, "cancelled", code=CANCELLED)
        except StillRunning as error:
            logging.getLogger("plugin").warning("once: %s", text_of(error))
            self._wire.fail(request_id, text_of(error), code=STILL_RUNNING)
        except OutcomeUnknown as error:
            logging.getLogger("plugin").warning("once: %s", text_of(error))
            self._wire.fail(request_id, text_of(error), code=OUTCOME_UNKNOWN)
        except BaseException as error:  # SystemExit too: it would end the calls of others
            logging.getLogger("plugin").exception("the handler raised")
            self._fail(request_id, error)
        else:
            self._wire.reply(request_id, result)

    async def _result(self, handler: Handler, params: dict[str, Any]) -> Any:
        log = logging.getLogger("plugin")
        context = build_context(self._wire, params, setup=self._setup, requests=self._requests, log=log)
        try:
            return await handler(params["message"], context)
        finally:
            self._printed.finish()

    def _fail(self, request_id: Any, error: BaseException) -> None:
        try:
            message, place = describe(error, self._root), locate(error, self._root)
        except Exception:  # noqa: BLE001 - the attributes of a plugin's exception may be anything
            message, place = type(error).__name__, None
        self._wire.fail(request_id, message, code=PLUGIN_FAILED, data=place)

    def _cancel(self, _request_id: Any, params: dict[str, Any]) -> None:
        task = self._calls.get(params.get("call", ""))
        if task is not None:
            task.cancel()

    def _ping(self, request_id: Any, _params: dict[str, Any]) -> None:
        self._wire.reply(request_id, {})

    def _shutdown(self, request_id: Any, _params: dict[str, Any]) -> None:
        self._wire.reply(request_id, {})
        self._loop.stop()


def load_handler(entry: str) -> Handler:
    """Import `module:function` from the working directory and return the function.

    Raises:
        TypeError: the entry is not an async function of a module.
        BaseException: whatever the plugin raised while it was imported.
    """
    module_name, _, name = entry.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    handler = getattr(importlib.import_module(module_name), name or "handle", None)
    if not callable(handler):
        raise TypeError(
            f"{module_name!r} has no function {name or 'handle'!r}; define it or name another in entry"
        )
    if not asyncio.iscoroutinefunction(handler):
        raise TypeError(
            f"{name or 'handle'} is not async; write `async def {name or 'handle'}(message, context)`"
        )
    return cast("Handler", handler)


def take_wire() -> tuple[Wire, PrintedLines]:
    """Take stdin and stdout for the wire and leave harmless ones in their place; return also the one that prints."""
    wire = Wire(os.dup(0), os.dup(1))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)  # C code and child processes that write to stdout reach the log as stderr does
    sys.stdout = printed = PrintedLines(wire)
    return wire, printed


def main() -> None:
    """Run until the host closes the wire or asks to stop; the argument is what the bootstrap takes."""
    if sys.stdin.isatty():
        sys.exit(_BY_HAND)
    limits = bootstrap.parse(sys.argv.pop(1)) if len(sys.argv) > 1 else {}
    bootstrap.die_with_parent(limits.pop("parent", os.getppid()))
    bootstrap.close_inherited()
    bootstrap.apply(limits)
    wire, printed = take_wire()
    os.register_at_fork(after_in_child=wire.cut)
    logging.basicConfig(level=logging.INFO, handlers=[WireHandler(wire)], format="%(message)s")
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    loop.add_reader(wire.read_fd, Worker(wire, loop, printed=printed).on_readable)
    loop.run_forever()
    # Handlers that still run are cut off with the process: the host has already given their calls up.
    os._exit(0)


if __name__ == "__main__":
    main()
