"""Logs as JSON lines on stdout. One configuration for the whole process, made by the composition root."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import sys
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from types import ModuleType
from typing import BinaryIO, cast

import orjson

# structlog takes in rich, where it is installed, to colour tracebacks on terminals. The daemon writes JSON, and rich
# with all it brings would be a tenth of its memory.
_rich: ModuleType | None = sys.modules.setdefault("rich", cast("ModuleType", None))

import structlog  # noqa: E402
from structlog.typing import EventDict, FilteringBoundLogger, WrappedLogger  # noqa: E402

if _rich is None:
    del sys.modules["rich"]

Logger = FilteringBoundLogger

_BUFFER = 1 << 16  # bytes that are written out at once whatever else there is to do
_OPTIONS = orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS


class LineSink:
    """Writes whole lines, those of one round of the event loop together: a write for each costs more than the line."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lines: list[bytes] = []
        self._size = 0
        self._scheduled = False
        self._lock = threading.Lock()

    def msg(self, line: bytes) -> None:
        """Take one line; any thread may."""
        self._lines.append(line)
        self._size += len(line)
        if not self._scheduled:
            self._schedule()
        elif self._size > _BUFFER:
            self.flush()

    debug = info = warning = error = critical = msg

    def _schedule(self) -> None:
        try:
            asyncio.get_running_loop().call_soon(self.flush)
            self._scheduled = True
        except RuntimeError:  # no loop runs in this thread
            self.flush()

    def flush(self) -> None:
        """Write out what was taken."""
        self._scheduled = False
        with self._lock, contextlib.suppress(OSError):
            # Nobody may read the log any more, or its disk may be full; that must not stop a message.
            lines, self._lines, self._size = self._lines, [], 0
            self._stream.write(b"".join(lines))
            self._stream.flush()


class StandardLogs(logging.Handler):
    """Brings what libraries log through the logging module into the same lines."""

    def __init__(self, log: Logger) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(message)s"))
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        level = min(
            max(record.levelno // 10 * 10, logging.DEBUG), logging.CRITICAL
        )  # libraries may invent levels
        self._log.log(level, self.format(record), logger=record.name)


class EventLines:
    """Writes a line for every event of every message, past structlog: three a message are worth a path of their own."""

    def __init__(self, sink: LineSink, *, enabled: bool) -> None:
        self._sink = sink
        self._enabled = enabled
        self._clock = _Clock()

    def write(self, event: str, members: bytes, *, at: float) -> None:
        """Write one line; `members` is what it holds beside, in JSON, `at` the event's time in Unix seconds."""
        if self._enabled:
            line = b'{"event":"%b",%b,"level":"info","time":"%b"}\n'
            self._sink.msg(line % (event.encode(), members, self._clock.iso(at).encode()))


@dataclass(frozen=True, slots=True)
class Logs:
    """The log of one daemon: `log` for everything, `events` for the events of messages; flush `sink` at the end."""

    log: Logger
    events: EventLines
    sink: LineSink


def open_logs(level: str, stream: BinaryIO | None = None) -> Logs:
    """Return the daemon's logs on `stream`, by default stdout, and send the logging module there too.

    `level` is debug, info, warning or error.
    """
    number = getattr(logging, level.upper())
    sink = LineSink(stream or sys.stdout.buffer)
    log: Logger = structlog.wrap_logger(
        sink,
        processors=[
            structlog.processors.add_log_level,
            _stamp,
            structlog.processors.format_exc_info,
            _render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        cache_logger_on_first_use=True,
    )
    log = log.bind()
    logging.basicConfig(level=logging.WARNING, handlers=[StandardLogs(log)], force=True)
    return Logs(log, EventLines(sink, enabled=number <= logging.INFO), sink)


class _Clock:
    """Writes times in ISO 8601, UTC; what all times of one second share is made once."""

    def __init__(self) -> None:
        self._second = -1
        self._shared = ""

    def iso(self, at: float) -> str:
        second = int(at)
        if second != self._second:
            self._second = second
            self._shared = datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{self._shared}.{min(round((at - second) * 1_000_000), 999_999):06d}Z"


def _stamp(_logger: WrappedLogger, _method: str, event: EventDict) -> EventDict:
    event["time"] = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return event


def _render(_logger: WrappedLogger, _method: str, event: EventDict) -> bytes:
    try:
        return orjson.dumps(event, default=repr, option=_OPTIONS)
    except TypeError:  # a number beyond 64 bits, or text that no UTF-8 holds, such as the name of a file
        return json.dumps(event, default=repr).encode() + b"\n"
