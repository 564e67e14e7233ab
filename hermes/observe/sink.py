"""Where log lines go out: whole, in order, and without ever waiting for whoever reads them. It knows no format but one."""

from __future__ import annotations

import asyncio
import errno
import os
import select
import stat
import threading
import time
from datetime import UTC, datetime
from typing import BinaryIO

_BATCH = 1 << 16  # bytes that are written out at once whatever else there is to do
_BOUND = 4 << 20  # bytes that may wait for a reader
_RETRY = 0.01  # seconds until what waits is tried again: a pipe holds 64 KiB, so a reader gets 6 MB a second
_CLOSING_TRIES, _CLOSING_PAUSE = 200, 0.005  # about a second for a reader at the end
_PASSING = {errno.EAGAIN, errno.ENOSPC, errno.EDQUOT}  # troubles of a stream that may be over later
_DROPPED = '{"event":"log_lines_dropped","count":%d,"level":"warning","time":"%s"}\n'


class LineSink:
    """Writes whole lines, those of one round of the event loop together: a write for each costs more than the line.

    A stream with a file descriptor is only given what it takes at once, so a pipe that nobody drains stops nothing.
    The rest waits, up to a bound; beyond it lines are dropped, and a line tells how many once the reader is back.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._fd = _descriptor(stream)
        self._poll = select.poll()
        if self._fd is not None:
            self._poll.register(self._fd, select.POLLOUT)
        self._is_file = self._fd is not None and stat.S_ISREG(os.fstat(self._fd).st_mode)
        self._lines: list[bytes] = []
        self._size = 0
        self._waiting = bytearray()
        self._dropped = 0
        self._scheduled = False
        self._lock = threading.Lock()

    def msg(self, line: bytes) -> None:
        """Take one line; any thread may. In a thread without an event loop it is written at once."""
        self._lines.append(line)
        self._size += len(line)
        if not self._scheduled:
            self._schedule()
        elif self._size > _BATCH:
            self.flush()

    debug = info = warning = error = critical = msg

    def flush(self) -> None:
        """Write of what was taken as much as the stream takes now; never waits."""
        self._size = 0
        with self._lock:
            self._write_waiting()
            if self._dropped and not self._waiting:
                now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
                self._waiting += (_DROPPED % (self._dropped, now)).encode()
                self._dropped = 0
            lines = self._lines[:]
            del self._lines[: len(lines)]  # other threads append meanwhile
            if self._dropped or len(self._waiting) >= _BOUND:
                self._dropped += len(lines)
                return
            self._waiting += b"".join(lines)
            self._write_waiting()

    def close(self) -> None:
        """Write out what is left, for the end of the process: a reader gets about a second, then it is given up."""
        for _ in range(_CLOSING_TRIES):
            self.flush()
            if not self._waiting:
                break
            time.sleep(_CLOSING_PAUSE)
        self._scheduled = False  # a loop that has ended keeps no promise; what is still said goes out at once

    def _schedule(self) -> None:
        try:
            asyncio.get_running_loop().call_soon(self._on_loop)
            self._scheduled = True
        except RuntimeError:  # no loop runs in this thread
            self.flush()

    def _on_loop(self) -> None:
        self._scheduled = False
        self.flush()
        if self._waiting and not self._scheduled:
            asyncio.get_running_loop().call_later(_RETRY, self._on_loop)
            self._scheduled = True

    def _write_waiting(self) -> None:
        try:
            while self._waiting and (count := self._write()):
                del self._waiting[:count]
        except OSError as error:
            if error.errno not in _PASSING:  # nobody will read it any more; that must not stop a message
                self._waiting.clear()

    def _write(self) -> int:
        """Return how many bytes the stream took, 0 if it would have to wait."""
        if self._fd is None:
            self._stream.write(bytes(self._waiting))
            self._stream.flush()
            return len(self._waiting)
        if self._is_file:  # it has no reader to wait for
            return os.write(self._fd, self._waiting)
        # What polls writable takes this much at once. O_NONBLOCK would be set for all who share the stream.
        return os.write(self._fd, self._waiting[: select.PIPE_BUF]) if self._poll.poll(0) else 0


def _descriptor(stream: BinaryIO) -> int | None:
    try:
        return stream.fileno()
    except OSError:  # it lives in memory
        return None
