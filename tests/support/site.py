"""Sites that http-check is tried on: servers on the test's own event loop, with certificates that the test chooses."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from hermes.sdk.testing import Outcome, load, run
from tests.support.certificates import Authority
from tests.support.samples import SAMPLES

OPEN = {"allow_private": True}
"""A section of hermes.yaml that lets the plugin look at this machine."""


class Site:
    """A server: `pages` are the heads that it answers by path; `seen` are the heads of the requests."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}
        self.seen: list[str] = []
        self.connections = 0
        self.port = 0

    def redirect(self, path: str, location: str, status: int = 302) -> None:
        self.pages[path] = f"HTTP/1.1 {status} Moved\r\nServer: t\r\nlocation:  {location} \r\n\r\n".encode()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            first = await reader.readexactly(1)
            if first == b"\x16":  # TLS, where none is spoken
                writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                return
            head = (first + await reader.readuntil(b"\r\n\r\n")).decode()
            self.seen.append(head)
            page = self.pages.get(head.split(" ")[1], b"HTTP/1.1 404 Not Found\r\n\r\n")
            if page == b"":
                await reader.read()  # no answer until the other side hangs up
            writer.write(page)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the other side has seen enough
        finally:
            writer.close()


@asynccontextmanager
async def serving(context: ssl.SSLContext | None = None) -> AsyncIterator[Site]:
    site = Site()
    server = await asyncio.start_server(site.answer, "127.0.0.1", 0, ssl=context)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()


class Secure:
    """Makes https sites whose certificates the test chooses."""

    def __init__(self, authority: Authority, folder: Path) -> None:
        self._authority = authority
        self._folder = folder

    def file(self, days: float, names: tuple[str, ...] = ("localhost", "127.0.0.1")) -> Path:
        now = datetime.now(UTC)
        ends = now + timedelta(days=days)
        return self._authority.issue(
            self._folder, names, begins=min(now, ends) - timedelta(days=30), ends=ends
        )

    @asynccontextmanager
    async def site(self, file: Path) -> AsyncIterator[Site]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        async with serving(context) as running:
            running.pages["/"] = b"HTTP/1.1 200 OK\r\n\r\n"
            yield running


async def check(target: str, config: dict[str, Any] | None = None, **more: Any) -> Outcome:
    handle = load(SAMPLES["http-check"])
    return await run(handle, {"target": target}, config=OPEN if config is None else config, **more)


def problem(outcome: Outcome) -> tuple[str, str]:
    assert outcome.data is None
    assert outcome.error is not None
    return outcome.error["code"], outcome.error["message"]
