"""Logs as JSON lines on stdout. One configuration for the whole process, made by the composition root."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import threading
from typing import BinaryIO

import orjson
import structlog
from structlog.typing import EventDict, FilteringBoundLogger, WrappedLogger

Logger = FilteringBoundLogger

_BUFFER = 1 << 16  # bytes that are written out at once whatever else there is to do


class LineSink:
    """Writes whole lines, those of one round of the event loop together: a write for each costs more than the line."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._lines: list[bytes] = []
        self._size = 0
        self._lock = threading.Lock()

    def msg(self, line: bytes) -> None:
        """Take one line; any thread may."""
        with self._lock:
            self._lines.append(line)
            self._size += len(line)
            first = len(self._lines) == 1
        if first:
            try:
                asyncio.get_running_loop().call_soon(self.flush)
            except RuntimeError:  # no loop runs in this thread
                self.flush()
        elif self._size > _BUFFER:
            self.flush()

    debug = info = warning = error = critical = msg

    def flush(self) -> None:
        """Write out what was taken."""
        with self._lock, contextlib.suppress(BrokenPipeError):
            # Nobody may read the log any more; that must not stop a message.
            lines, self._lines, self._size = self._lines, [], 0
            self._stream.write(b"".join(lines))
            self._stream.flush()


class StandardLogs(logging.Handler):
    """Brings what libraries log through the logging module into the same lines."""

    def __init__(self, log: Logger) -> None:
        super().__init__()
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record."""
        self._log.log(record.levelno, self.format(record), logger=record.name)


def open_log(level: str, stream: BinaryIO | None = None) -> tuple[Logger, LineSink]:
    """Return the daemon's logger and the sink under it, and send the logging module there too.

    `level` is debug, info, warning or error. The sink must be flushed at the end.
    """
    number = getattr(logging, level.upper())
    sink = LineSink(stream or sys.stdout.buffer)
    log: Logger = structlog.wrap_logger(
        sink,
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
            structlog.processors.format_exc_info,
            _render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        cache_logger_on_first_use=True,
    )
    log = log.bind()
    logging.basicConfig(level=logging.WARNING, handlers=[StandardLogs(log)], force=True)
    return log, sink


def _render(_logger: WrappedLogger, _method: str, event: EventDict) -> bytes:
    return orjson.dumps(event, default=repr, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS)
