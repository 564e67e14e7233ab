"""The daemon's own log, written into memory: tests read its lines as data."""

from __future__ import annotations

import io
import json
import logging
from types import TracebackType
from typing import Any, Self

from hermes.observe.logs import open_logs


class Logbook:
    """A log that is open while this is entered; afterwards the logging module is as it was."""

    def __init__(self, level: str = "debug") -> None:
        self._stream = io.BytesIO()
        self._before = (logging.root.handlers[:], logging.root.level)
        # Out of reach of what open_logs does to the handlers that are there.
        logging.root.handlers[:] = []
        self.logs = open_logs(level, self._stream)
        self.log = self.logs.log

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.logs.sink.flush()
        logging.root.handlers[:], level = self._before
        logging.root.setLevel(level)

    def lines(self, **wanted: object) -> list[dict[str, Any]]:
        """Return the lines that have these members."""
        self.logs.sink.flush()
        lines = [json.loads(line) for line in self._stream.getvalue().splitlines()]
        return [line for line in lines if wanted.items() <= line.items()]
