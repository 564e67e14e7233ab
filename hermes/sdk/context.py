"""What a handler finds in its `context`: progress, a logger, `once`, `send` and the call's own facts. One a call."""

from __future__ import annotations

import contextvars
import io
import logging
import os
import time
from typing import Any

from hermes.sdk.once import Once
from hermes.sdk.requests import Requests
from hermes.sdk.send import Send
from hermes.sdk.wire import Wire

current_call: contextvars.ContextVar[str | None] = contextvars.ContextVar("current_call", default=None)
"""The call that the running code belongs to; printed and logged lines carry it."""

_LEVELS = {"WARNING": "warning", "ERROR": "error", "CRITICAL": "error", "DEBUG": "debug"}


class Progress:
    """`await context["progress"]("half way", 50)`: tell the person who waits how far the call is."""

    def __init__(self, wire: Wire, call: str) -> None:
        self._wire = wire
        self._call = call

    async def __call__(self, text: str, percent: float | None = None) -> None:
        """Send one line of progress; `percent` is 0…100. The host keeps at most 20 a second, the newest wins."""
        params: dict[str, Any] = {"call": self._call, "text": str(text)}
        if percent is not None:
            params["percent"] = percent
        self._wire.notify("progress", params)


class WireHandler(logging.Handler):
    """Carries log records to the host, where they become log lines with the call's request_id."""

    def __init__(self, wire: Wire) -> None:
        super().__init__()
        self._wire = wire

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record; a record that cannot be formatted is reported as the logging module does."""
        try:
            text = self.format(record)
        except Exception:  # noqa: BLE001 - the logging module's own contract for a bad record
            self.handleError(record)
            return
        send_log(self._wire, text, level=_LEVELS.get(record.levelname, "info"))


_LONGEST = 4096  # characters of a line that has not ended


class PrintedLines(io.TextIOBase):
    """Stands in for `sys.stdout`: what a plugin prints becomes log lines and never touches the wire.

    A line belongs to the call that began it. What is written to its file number goes where stderr goes.
    """

    encoding = "utf-8"
    errors = "replace"

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._begun: dict[str | None, str] = {}

    def writable(self) -> bool:
        """Say that it can be written to."""
        return True

    def fileno(self) -> int:
        """Return the number of the process's own stdout, for children that are to inherit it."""
        return 1

    def write(self, text: str) -> int:
        """Keep text until its line is whole, then send the line."""
        call = current_call.get()
        *lines, rest = (self._begun.pop(call, "") + text).split("\n")
        if len(rest) > _LONGEST:  # it may never end
            lines.append(rest)
        elif rest:
            self._begun[call] = rest
        for line in lines:
            if line.strip():
                send_log(self._wire, line, level="info")
        return len(text)

    def finish(self) -> None:
        """Send what was begun and not ended, by the running call or outside of calls: that is over."""
        if current_call.get() in self._begun:
            self.write("\n")


def send_log(wire: Wire, text: str, *, level: str) -> None:
    """Send one log line, marked with the call it belongs to; a forked process writes it to stderr, which is logged too."""
    if wire.is_cut:
        os.write(2, text.encode("utf-8", "replace") + b"\n")
        return
    params = {"level": level, "text": text}
    call = current_call.get()
    wire.notify("log", params if call is None else params | {"call": call})


def build_context(
    wire: Wire, params: dict[str, Any], *, setup: dict[str, Any], requests: Requests, log: logging.Logger
) -> dict[str, Any]:
    """Return the `context` of one call from the call's parameters and those of the worker's initialisation."""
    given = params.get("context") or {}
    message = params.get("message") or {}
    deadline_ms = given.get("deadline_ms")
    return {
        "progress": Progress(wire, params["call"]),
        "log": log,
        "once": Once(requests, params["call"], log=log),
        "send": Send(requests, params["call"]),
        "config": setup.get("config") or {},
        "secrets": setup.get("secrets") or {},
        "data_dir": setup.get("data_dir"),
        "locale": given.get("locale") or setup.get("locale") or "en",
        "session": given.get("session") or {},
        "request_id": message.get("request_id"),
        "idempotency_key": given.get("idempotency_key"),
        "principal": given.get("principal"),
        "deadline": None if deadline_ms is None else time.time() + deadline_ms / 1000,
    }
