"""A closed-loop load generator: every connection sends its next request when the answer to the last one is there.

Run as a program it writes one JSON object to stdout, so that it has a process of its own.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import dataclass
from typing import cast

import uvloop


@dataclass(frozen=True, slots=True)
class Load:
    """What to send, and how long; `seconds` come after `warmup` seconds that are not counted."""

    port: int
    path: str
    body: str
    connections: int
    seconds: float
    warmup: float

    def request(self) -> bytes:
        """Return the bytes of one request."""
        content = self.body.encode()
        head = (
            f"POST {self.path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(content)}\r\n\r\n"
        )
        return head.encode() + content


class Sender(asyncio.Protocol):
    """One connection."""

    def __init__(self, request: bytes, *, latencies: list[float], failures: list[bytes]) -> None:
        self._request = request
        self._latencies = latencies
        self._failures = failures
        self._transport: asyncio.Transport | None = None
        self._received = b""
        self._expected = -1
        self._started = 0.0
        self.counting = False
        self.stopped = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._send()

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._expected < 0:
            end = self._received.find(b"\r\n\r\n")
            if end < 0:
                return
            head = self._received[:end].lower()
            if not head.startswith(b"http/1.1 200"):
                self._failures.append(self._received[:200])
            start = head.index(b"content-length:") + 15
            length = int(head[start:].split(b"\r\n", 1)[0])
            self._expected = end + 4 + length
        if len(self._received) >= self._expected:
            if self.counting:
                self._latencies.append(time.perf_counter() - self._started)
            self._received, self._expected = b"", -1
            if not self.stopped:
                self._send()

    def _send(self) -> None:
        assert self._transport is not None
        self._started = time.perf_counter()
        self._transport.write(self._request)


async def run(load: Load) -> dict[str, float]:
    """Send for a while and return requests a second and latencies in milliseconds."""
    loop = asyncio.get_running_loop()
    latencies: list[float] = []
    failures: list[bytes] = []
    request = load.request()
    senders = []
    for _ in range(load.connections):
        _, sender = await loop.create_connection(
            lambda: Sender(request, latencies=latencies, failures=failures), "127.0.0.1", load.port
        )
        senders.append(sender)
    await asyncio.sleep(load.warmup)
    for sender in senders:
        sender.counting = True
    started = time.perf_counter()
    await asyncio.sleep(load.seconds)
    elapsed = time.perf_counter() - started
    for sender in senders:
        sender.counting, sender.stopped = False, True
    if failures:
        raise SystemExit(f"{len(failures)} requests failed, the first with {failures[0]!r}")
    latencies.sort()
    return {
        "rps": len(latencies) / elapsed,
        "p50_ms": latencies[len(latencies) // 2] * 1000,
        "p99_ms": latencies[int(len(latencies) * 0.99)] * 1000,
        "count": len(latencies),
    }


if __name__ == "__main__":
    settings = Load(**json.loads(sys.argv[1]))
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        print(json.dumps(runner.run(run(settings))))
