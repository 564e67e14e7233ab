"""One process that runs one call: its pipes, its time and its end. What it says means nothing here."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import IO, cast

from hermes.host.custody.custody import Ward
from hermes.host.custody.processes import rss_bytes
from hermes.host.workers.pipe import Pipe
from hermes.host.workers.spawning import spawn
from hermes.host.workers.wire_worker import Launch
from hermes.host.workers.worker import Process

GRACE = 1.0
"""Seconds that a program has to leave after SIGTERM."""
_LAST_WORDS = 0.5  # seconds between the end of the process and that of its pipes, whichever comes first


class Program(asyncio.SubprocessProtocol):
    """A process in a session and process group of its own; nothing of the group outlives it.

    `ended` is set when it has exited and all that it wrote has been taken. `output` holds its stdout up to
    `frame_bytes`; one that writes more is killed, and `overflowed`. What it writes to stderr goes to `on_error`.
    """

    def __init__(
        self, frame_bytes: int, on_error: Callable[[bytes], None], *, ward: Ward | None = None
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._ward = ward
        self._frame_bytes = frame_bytes
        self._process: asyncio.SubprocessTransport | None = None
        self._pipes = [Pipe(self._take), Pipe(on_error)]
        self._words: asyncio.TimerHandle | None = None
        self.output = bytearray()
        self.overflowed = False
        self.killed_for = ""
        self.pid = 0
        self.since = time.time()
        self.ended = asyncio.Event()

    @classmethod
    async def start(cls, launch: Launch, given: bytes, *, on_error: Callable[[bytes], None]) -> Program:
        """Start a process that finds `given` on its stdin; raises OSError, or ValueError for what cannot be passed."""
        ward = launch.ward()
        program = cls(launch.frame_bytes, on_error, ward=ward)
        try:
            # Pipes of our own: those of the event loop may be sockets, which /dev/stdin and /dev/stderr cannot open.
            with _stdin(given) as stdin:
                stdout, stderr = [await pipe.open() for pipe in program._pipes]
                await spawn(
                    program,
                    *launch.command,
                    environment={**launch.environment, **(ward.variables if ward is not None else {})},
                    directory=launch.directory,
                    descriptors=(stdin.fileno(), stdout, stderr),
                )
        finally:
            for pipe in program._pipes:
                pipe.hand_over(close=program._process is None, on_end=program._on_end)
            if ward is not None and program._process is None:
                ward.end()
        return program

    @property
    def code(self) -> int:
        """The exit code, −n for signal n; 0 as long as it runs."""
        return (self._process.get_returncode() if self._process is not None else None) or 0

    def describe(self) -> Process:
        """Return the process as `GET /v1/plugins` lists it."""
        return Process(self.pid, 1, rss_bytes(self.pid), self.since)

    def kill(self, reason: str = "") -> None:
        """End it with everything in its process group; `reason` says what for, if that is to be told."""
        if not self.ended.is_set():
            self.killed_for = self.killed_for or reason
            self._signal(signal.SIGKILL)

    async def end(self) -> None:
        """Ask it to leave, kill it if it does not, and return when it is gone."""
        if self.ended.is_set():
            return
        self._signal(signal.SIGTERM)
        timer = self._loop.call_later(GRACE, self.kill)
        try:
            await self.ended.wait()
        finally:
            timer.cancel()
            self.kill()
            self.output.clear()  # nobody asks for it any more

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the new process."""
        self._process = cast("asyncio.SubprocessTransport", transport)
        self.pid = self._process.get_pid()
        if self._ward is not None:
            self._ward.begin(self.pid, self.kill)

    def process_exited(self) -> None:
        """Wait for what it wrote last, but not for a process that it left behind with its pipes."""
        if self._ward is not None:
            self._ward.end()
        self._words = self._loop.call_later(_LAST_WORDS, self._finish)
        self._on_end()

    def _on_end(self) -> None:
        if self._words is not None and all(pipe.ended for pipe in self._pipes):
            self._finish()

    def _finish(self) -> None:
        if self.ended.is_set() or self._process is None or self._words is None:
            return
        self._words.cancel()
        self._signal(signal.SIGKILL)
        self.ended.set()
        self._process.close()
        for pipe in self._pipes:
            pipe.close()

    def _signal(self, number: int) -> None:
        # Nobody may be left in the group, or only those who have ended, or who are another user's now.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self.pid:
                os.killpg(self.pid, number)

    def _take(self, data: bytes) -> None:
        if self.overflowed:
            return
        if len(self.output) + len(data) > self._frame_bytes:
            self.overflowed = True
            self.output.clear()
            self.kill()
        else:
            self.output += data


@contextlib.contextmanager
def _stdin(given: bytes) -> Iterator[IO[bytes]]:
    """Give a file that holds `given`: a program may read it or not, and nobody waits for it."""
    memory = os.memfd_create("message") if hasattr(os, "memfd_create") else None
    with tempfile.TemporaryFile(buffering=0) if memory is None else os.fdopen(memory, "w+b", 0) as file:
        file.write(given)
        file.seek(0)
        yield file
