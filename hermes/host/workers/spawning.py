"""Starts processes as the event loop's `subprocess_exec` does, but holds the loop up for a tenth of the time.

uvloop forks the whole daemon, which takes some milliseconds in which nobody is served; `subprocess` takes vfork.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

PIPE = subprocess.PIPE
_SHORTEST, _LONGEST = 0.001, 0.05  # seconds between two looks, where the kernel does not tell of ends


async def spawn(
    protocol: asyncio.SubprocessProtocol,
    *command: str,
    environment: Mapping[str, str],
    directory: Path,
    descriptors: tuple[int, int, int],
) -> None:
    """Start a process in a session of its own, and tell `protocol` of it from then on.

    `descriptors` are its stdin, stdout and stderr, which stay the caller's, or PIPE for one whose other end is the
    protocol's. Call it on a thread that lives as long as the process may: the kernel takes that thread for its parent.
    Nothing is awaited once the process is there: who is cancelled has either all of it or nothing.
    Raises OSError, or ValueError for what no process can be given.
    """
    transport = _Transport(protocol)
    begun = False
    try:
        with contextlib.ExitStack() as theirs:
            given = [
                await transport.connect(n, theirs) if one == PIPE else one
                for n, one in enumerate(descriptors)
            ]
            process = subprocess.Popen(  # noqa: ASYNC220, S603 - it takes a moment; that is what this is for
                command,
                stdin=given[0],
                stdout=given[1],
                stderr=given[2],
                env=environment,
                cwd=directory,
                start_new_session=True,
            )
        begun = True
    finally:
        if not begun:
            transport.close()
    transport.begin(process)


class _Transport(asyncio.SubprocessTransport):
    """A process, whose protocol is told of it, of what comes out of it, and of its end."""

    def __init__(self, protocol: asyncio.SubprocessProtocol) -> None:
        super().__init__()
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()
        self._pipes: dict[int, asyncio.BaseTransport] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._pidfd = -1
        self._left = 1  # ends that have not come: those of the pipes and of the process

    async def connect(self, number: int, theirs: contextlib.ExitStack) -> int:
        """Make a pipe, keep our end of it, and return the process's, which `theirs` closes.

        Whatever can fail is done before there is a process. Until then the pipe has both its ends: nothing comes of it.
        """
        reading, writing = os.pipe()
        mine, other = (reading, writing) if number else (writing, reading)
        theirs.callback(os.close, other)
        file = os.fdopen(mine, "rb" if number else "wb", 0)
        make = functools.partial(_End, number, self)
        try:
            if number:
                self._pipes[number], _ = await self._loop.connect_read_pipe(make, file)
            else:
                self._pipes[number], _ = await self._loop.connect_write_pipe(make, file)
        except BaseException:
            file.close()
            raise
        self._left += 1
        return other

    def begin(self, process: subprocess.Popen[bytes]) -> None:
        """Tell the protocol that the process is there, and from now on what becomes of it."""
        self._process = process
        self._protocol.connection_made(self)
        try:
            self._pidfd = os.pidfd_open(process.pid)
            self._loop.add_reader(self._pidfd, self._look)
        except (AttributeError, OSError):  # another system, or no descriptor left: then we look by ourselves
            self._forget_pidfd()
            self._look_again(_SHORTEST)

    def get_pid(self) -> int:
        """Return its id."""
        return self._process.pid if self._process is not None else 0

    def get_returncode(self) -> int | None:
        """Return its exit code, −n for signal n, None as long as it runs."""
        return self._process.returncode if self._process is not None else None

    def get_pipe_transport(self, fd: int) -> asyncio.BaseTransport | None:
        """Return one of its pipes, None if it has no such one."""
        return self._pipes.get(fd)

    def close(self) -> None:
        """Close its pipes; a process that still runs is killed."""
        for pipe in self._pipes.values():
            pipe.close()
        if self._process is not None:
            self._process.kill()  # it knows whether there still is one

    def on_data(self, number: int, data: bytes) -> None:
        """Take what came through a pipe."""
        self._protocol.pipe_data_received(number, data)

    def on_pipe_end(self, number: int, error: Exception | None) -> None:
        """Take note that a pipe has ended."""
        if self._process is not None:  # else nobody was told that it began
            self._protocol.pipe_connection_lost(number, error)
            self._on_end()

    def _look_again(self, pause: float) -> None:
        """Look for the end of the process, ever more seldom."""
        if not self._look():
            self._loop.call_later(pause, self._look_again, min(pause * 2, _LONGEST))

    def _look(self) -> bool:
        """Reap the process if it has ended, tell of it, and say whether that is so."""
        if self._process is None or self._process.poll() is None:
            return False
        if self._pidfd >= 0:
            self._loop.remove_reader(self._pidfd)
        self._forget_pidfd()
        self._protocol.process_exited()
        self._on_end()
        return True

    def _forget_pidfd(self) -> None:
        if self._pidfd >= 0:
            os.close(self._pidfd)
        self._pidfd = -1

    def _on_end(self) -> None:
        self._left -= 1
        if not self._left:
            self._protocol.connection_lost(None)


class _End(asyncio.Protocol):
    """Our end of one of its pipes."""

    def __init__(self, number: int, transport: _Transport) -> None:
        self._number = number
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Hand on what came."""
        self._transport.on_data(self._number, data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Hand on that nothing more comes."""
        self._transport.on_pipe_end(self._number, exc)
