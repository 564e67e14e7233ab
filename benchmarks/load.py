"""A closed-loop load generator: every connection sends its next request when the answer to the last one is there.

`Loading` runs it in a process of its own, which writes one JSON object to stdout.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from random import getrandbits
from typing import Any, cast

import uvloop

from benchmarks.servers import ROOT, Server

WAITED = "/v1/messages?wait=60"
_ID = "-" * 32  # stands for a random one in the body


@dataclass(frozen=True, slots=True)
class Load:
    """What to send and how long: `seconds`, after `warmup` seconds that are not counted, or until `count` are answered.

    What goes to the messages is a text, or an intent if that is given; with `named` each has a random request_id.
    `pause` is what a connection waits between two requests.
    """

    port: int
    path: str = WAITED
    method: str = "POST"
    text: str = "echo hello 你好"
    intent: str = ""
    connections: int = 32
    seconds: float = 2.0
    warmup: float = 0.5
    count: int = 0
    named: bool = False
    pause: float = 0.0

    def requests(self) -> Callable[[], bytes]:
        """Return what makes the bytes of the next request."""
        asked = {"intent": self.intent} if self.intent else {"text": self.text}
        body = asked | ({"request_id": _ID} if self.named else {})
        content = json.dumps(body, ensure_ascii=False).encode()
        head = (
            f"{self.method} {self.path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        whole = head.encode() + content
        before, _, after = whole.partition(_ID.encode())
        width = len(_ID)
        return (
            (lambda: b"%b%0*x%b" % (before, width, getrandbits(128), after)) if self.named else lambda: whole
        )


@dataclass(frozen=True, slots=True)
class Loaded:
    """What came of it; latencies in milliseconds."""

    rps: float
    p50: float
    p99: float
    worst: float
    count: int


class Loading:
    """A load that runs in a process of its own."""

    def __init__(self, server: Server, **settings: Any) -> None:
        load = Load(server.port, **settings)
        command = [sys.executable, "-m", "benchmarks.load", json.dumps(asdict(load))]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
        )

    def result(self, *, now: bool = False) -> Loaded:
        """Wait for the end, or make it end now, and return what came of it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if now:
            self._process.stdin.close()
        text = self._process.stdout.read()
        if self._process.wait():
            raise SystemExit("the load failed")
        return Loaded(**json.loads(text))


def load(server: Server, **settings: Any) -> Loaded:
    """Load a server and return what came of it; `settings` are members of Load."""
    return Loading(server, **settings).result()


@dataclass(slots=True)
class _Count:
    """What all connections share."""

    left: int  # requests that may still be sent
    next_request: Callable[[], bytes]
    pause: float
    done: asyncio.Event = field(default_factory=asyncio.Event)
    counting: bool = False
    latencies: list[float] = field(default_factory=list)
    failures: list[bytes] = field(default_factory=list)


class _Sender(asyncio.Protocol):
    """One connection."""

    def __init__(self, count: _Count) -> None:
        self._count = count
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._expected = -1
        self._started = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def connection_lost(self, _exc: Exception | None) -> None:
        if not self._count.done.is_set():
            self._count.failures.append(b"the connection was closed")
            self._count.done.set()

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._expected < 0:
            end = self._received.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self._received[:end].lower()
            if not head.startswith(b"http/1.1 200"):
                self._count.failures.append(self._received[:200])
            start = head.index(b"content-length:") + 15
            length = int(head[start:].split(b"\r\n", 1)[0])
            self._expected = end + 4 + length
        if len(self._received) >= self._expected:
            self._received, self._expected = b"", -1
            self._answered()

    def _answered(self) -> None:
        count = self._count
        if count.counting:
            count.latencies.append(time.perf_counter() - self._started)
        if count.left <= 0:
            count.done.set()
        elif count.pause:
            asyncio.get_running_loop().call_later(count.pause, self._send)
        else:
            self._send()

    def _send(self) -> None:
        assert self._transport is not None
        if self._count.done.is_set():
            return
        self._count.left -= 1
        self._started = time.perf_counter()
        self._transport.write(self._count.next_request())


async def run(load: Load) -> Loaded:
    """Send for a while and return what came of it."""
    loop = asyncio.get_running_loop()
    count = _Count(load.count or sys.maxsize, load.requests(), load.pause)
    loop.add_reader(sys.stdin.fileno(), count.done.set)  # closed by who started this, to end it
    transports = [
        (await loop.create_connection(lambda: _Sender(count), "127.0.0.1", load.port))[0]
        for _ in range(load.connections)
    ]
    if not load.count:
        await asyncio.sleep(load.warmup)
    count.counting = True
    started = time.perf_counter()
    await _until(count.done, seconds=None if load.count else load.seconds)
    elapsed = time.perf_counter() - started
    count.counting, count.left = False, 0
    count.done.set()
    for transport in transports:
        transport.close()
    if count.failures:
        raise SystemExit(f"{len(count.failures)} requests failed, the first with {count.failures[0]!r}")
    latencies = sorted(count.latencies) or [float("inf")]
    return Loaded(
        rps=len(count.latencies) / elapsed,
        p50=latencies[len(latencies) // 2] * 1000,
        p99=latencies[int(len(latencies) * 0.99)] * 1000,
        worst=latencies[-1] * 1000,
        count=len(count.latencies),
    )


async def _until(done: asyncio.Event, *, seconds: float | None) -> None:
    try:
        await asyncio.wait_for(done.wait(), seconds)
    except TimeoutError:
        return


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(asdict(runner.run(run(Load(**json.loads(sys.argv[1])))))))
