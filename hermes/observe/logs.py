"""Logs as JSON lines on stdout. One configuration for the whole process, made by the composition root."""

from __future__ import annotations

import json
import logging
import sys
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

from hermes.observe.sink import LineSink  # noqa: E402

if _rich is None:
    del sys.modules["rich"]

Logger = FilteringBoundLogger

_OPTIONS = orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS


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
    """The log of one daemon: `log` for everything, `events` for the events of messages; close `sink` at the end."""

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
