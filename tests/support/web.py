"""A server of HTTP for tests, on the test's own event loop: it answers as the test says and notes what it was asked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(slots=True)
class Asked:
    """A request as it came: `path` with its query, undecoded."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Web:
    """A running server; `answer` may be replaced at any time. `dropped` counts requests whose sender went away."""

    url: str = ""
    answer: Handler = field(default_factory=lambda: _nothing)
    asked: list[Asked] = field(default_factory=list)
    dropped: int = 0

    def say(
        self, value: object = None, status: int = 200, *, headers: Mapping[str, str] | None = None
    ) -> None:
        """Answer everything with a value as JSON."""

        async def answer(_request: web.Request) -> web.Response:
            return web.json_response(value, status=status, headers=headers)

        self.answer = answer

    async def handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        self.asked.append(Asked(request.method, request.raw_path, dict(request.headers), body))
        try:
            return await self.answer(request)
        except (asyncio.CancelledError, ConnectionError):
            self.dropped += 1
            raise


@asynccontextmanager
async def serving() -> AsyncIterator[Web]:
    """Run a server of its own as long as the context lasts."""
    server = Web()
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", server.handle)
    runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    server.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield server
    finally:
        await runner.cleanup()


async def _nothing(_request: web.Request) -> web.Response:
    return web.json_response({})
