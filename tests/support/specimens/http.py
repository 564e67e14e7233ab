"""The specimen of runtime `http`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from aiohttp import web

from tests.support.specimens.base import FAULT, LARGE, Specimen
from tests.support.web import serving


async def _answer(request: web.Request) -> web.Response:
    text = (await request.json())["text"]
    if text == "fail":
        return web.json_response({"message": FAULT}, status=500)
    if text == "wait":
        await asyncio.Event().wait()
    return web.json_response({"echo": "x" * LARGE if text == "large" else text})


@asynccontextmanager
async def specimen() -> AsyncIterator[Specimen]:
    """Give a manifest, and the server that it is about."""
    async with serving() as server:
        server.answer = _answer
        http = {
            "method": "POST",
            "url": server.url,
            "body": {"text": "{text}"},
            "response": {"data": "/echo"},
        }
        yield Specimen({"runtime": "http", "http": http}, tells=False)
