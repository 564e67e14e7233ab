"""A pipe that a process writes to. Those of uvloop are sockets, which /dev/stdout and /dev/stderr cannot open."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Pipe(asyncio.Protocol):
    """What a process writes to one of its descriptors."""

    take: Callable[[bytes], None]
    ended: bool = False
    _on_end: Callable[[], None] | None = None
    _writing: int = -1
    _transport: asyncio.BaseTransport | None = None

    async def open(self) -> int:
        """Make the pipe, and return the end that the process writes to."""
        reading, self._writing = os.pipe()
        file = os.fdopen(reading, "rb", 0)
        try:
            self._transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: self, file)
        except BaseException:
            file.close()
            raise
        return self._writing

    def hand_over(self, *, close: bool, on_end: Callable[[], None]) -> None:
        """Leave the writing to the process, and tell `on_end` when that is over; `close` if there is no process."""
        if self._writing >= 0:
            os.close(self._writing)
        self._on_end = on_end
        if close:
            self.close()

    def close(self) -> None:
        """Take no more."""
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        """Hand on what came."""
        if not self.ended:
            self.take(data)

    def connection_lost(self, _exc: Exception | None) -> None:
        """Take note that nobody writes any more."""
        self.ended = True
        # Who takes holds the pipe too: nothing may wait for the collector that leads to what was written.
        tell, self._on_end, self.take = self._on_end, None, _ignore
        if tell is not None:
            tell()


def _ignore(_data: bytes) -> None:
    pass
