"""The bare thing to compare a plugin's call with: a child that sends every line back, over pipes, with nothing else to do."""

from __future__ import annotations

import asyncio
import sys
from collections import deque
from typing import cast

BARE = """
import os
rest = b""
while chunk := os.read(0, 1 << 16):
    whole, newline, rest = (rest + chunk).rpartition(b"\\n")
    os.write(1, whole + newline)
"""
"""A child that waits in `read` and does not look at what it sends back."""

ANSWERING = """
import asyncio, json, os
rest = b""
async def answer(frame):
    result = {"data": frame["params"]["message"]["payload"], "error": None}
    line = json.dumps({"jsonrpc": "2.0", "id": frame["id"], "result": result}, ensure_ascii=False)
    os.write(1, line.encode() + b"\\n")
def take():
    global rest
    chunk = os.read(0, 1 << 16)
    if not chunk:
        return loop.stop()
    *lines, rest = (rest + chunk).split(b"\\n")
    for line in lines:
        loop.create_task(answer(json.loads(line)))
loop = asyncio.new_event_loop()
loop.add_reader(0, take)
loop.run_forever()
"""
"""A child that reads requests of JSON-RPC and answers each from a task: the least that a worker for coroutines can do."""


class Pipe(asyncio.SubprocessProtocol):
    """The parent's side: lines go out, and come back in the same order."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[asyncio.Future[bytes]] = deque()
        self._rest = b""
        self._process: asyncio.SubprocessTransport | None = None
        self._stdin: asyncio.WriteTransport | None = None
        self._ended = asyncio.Event()

    @classmethod
    async def start(cls, code: str) -> Pipe:
        """Start a child that runs `code`."""
        loop = asyncio.get_running_loop()
        _, pipe = await loop.subprocess_exec(cls, sys.executable, "-I", "-S", "-c", code, stderr=None)
        return pipe

    @property
    def pid(self) -> int:
        """The child's."""
        assert self._process is not None
        return self._process.get_pid()

    async def send(self, line: bytes) -> bytes:
        """Send a line, which ends with a newline, and return the one that comes back, without it."""
        assert self._stdin is not None
        answer: asyncio.Future[bytes] = self._loop.create_future()
        self._waiting.append(answer)
        self._stdin.write(line)
        return await answer

    async def stop(self) -> None:
        """End the child."""
        assert self._stdin is not None
        self._stdin.close()
        await self._ended.wait()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._process = cast("asyncio.SubprocessTransport", transport)
        self._stdin = cast("asyncio.WriteTransport", self._process.get_pipe_transport(0))

    def pipe_data_received(self, _fd: int, data: bytes) -> None:
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._waiting.popleft().set_result(line)

    def process_exited(self) -> None:
        self._ended.set()
