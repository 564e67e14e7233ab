"""Sends the requests of one `http` worker. It is imported when the first such plugin starts: aiohttp is not light."""

from __future__ import annotations

import asyncio
import errno
import ssl
from typing import Any
from urllib.parse import urljoin

import aiohttp
from yarl import URL

import hermes
from hermes.host.http.answer import Answer, envelope_of, failed
from hermes.host.http.names import Names
from hermes.host.http.request import Outgoing, RequestTemplate, Unfit
from hermes.host.http.words import say
from hermes.host.plugin import Plugin
from hermes.host.workers.exchange import Caller
from hermes.host.workers.failures import ResultTooLarge
from hermes.host.workers.task_worker import Log
from hermes.host.workers.worker import Process

_CONNECT_WITHIN = 10.0  # seconds, or half of the time of a call that has less
_HOPS = 5
_MOVED = {301, 302, 303, 307, 308}
_REDIRECTED = {"GET"}
_CLOSE_WITHIN = 2.0  # seconds
_CHUNK = 1 << 16


class HttpCalls:
    """Runs the calls of one worker on connections that they share; made on the event loop."""

    def __init__(self, plugin: Plugin, template: RequestTemplate, *, frame_bytes: int) -> None:
        self._plugin = plugin
        self._response = plugin.manifest.options.http.response
        self._template = template
        self._frame_bytes = frame_bytes
        self._secrets = [secret for secret in plugin.secrets.values() if len(secret) > 3]
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, resolver=Names()),  # calls are counted elsewhere
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": f"hermes/{hermes.__version__}", "Accept": "application/json"},
            trust_env=False,
        )

    async def run(self, _caller: Caller, params: dict[str, Any], /, *, log: Log) -> Any:
        """Send what the message comes to, and return the envelope of what was answered."""
        message, context = params["message"], params["context"]
        locale = context.get("locale")
        try:
            outgoing = self._template.fill(message["payload"])
        except Unfit as unfit:
            return failed("invalid_payload", say(unfit.reason, locale, field=unfit.field))
        service = self._plugin.services.get(message.get("intent"))
        writes = service is not None and service.intent.writes
        headers = _headers(outgoing, context, writes=writes)
        connect = min(_CONNECT_WITHIN, context.get("deadline_ms", 1000 * _CONNECT_WITHIN) / 2000)
        try:
            answer = await self._ask(outgoing, headers, connect=connect)
        except (aiohttp.ClientError, OSError) as error:
            log(f"{outgoing.method}: {type(error).__name__}", level="warning")
            return _away(error, locale=locale, writes=writes)
        return envelope_of(answer, self._response, locale=locale, secrets=self._secrets)

    def processes(self) -> list[Process]:
        """Return nothing: the daemon itself sends."""
        return []

    def kill(self, reason: str) -> None:
        """Do nothing: a request ends with its task."""

    async def close(self) -> None:
        """Close the connections."""
        async with asyncio.timeout(_CLOSE_WITHIN):
            await self._session.close()

    async def _ask(self, outgoing: Outgoing, headers: dict[str, str], *, connect: float) -> Answer:
        """Send a request, and again where the same host says that what is asked for lies elsewhere on it."""
        url = URL(outgoing.url, encoded=True)
        for _ in range(_HOPS):
            async with self._session.request(
                outgoing.method,
                url,
                headers=headers,
                data=outgoing.body,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=None, connect=connect),  # the rest is the call's own
            ) as response:
                target = _target(response)
                if target is None or outgoing.method not in _REDIRECTED or target.origin() != url.origin():
                    content = await self._content(response) if response.status >= 200 else b""
                    return Answer(response.status, content, response.charset)
                url = target
        return Answer(response.status, b"")

    async def _content(self, response: aiohttp.ClientResponse) -> bytes:
        content = bytearray()
        async for chunk in response.content.iter_chunked(_CHUNK):
            content += chunk
            if len(content) > self._frame_bytes:
                response.close()  # what is still to come is not waited for
                raise ResultTooLarge(f"the answer has more than {self._frame_bytes} bytes")
        return bytes(content)


def _headers(outgoing: Outgoing, context: dict[str, Any], *, writes: bool) -> dict[str, str]:
    """Return the headers of a request: those of the manifest, and ours where it says nothing of them."""
    ours: dict[str, Any] = {"traceparent": context.get("traceparent")}
    if outgoing.body is not None:
        ours["Content-Type"] = "application/json"
    if writes:
        ours["Idempotency-Key"] = context.get("idempotency_key")
    given = {name.lower() for name in outgoing.headers}
    added = {name: str(text) for name, text in ours.items() if text and name.lower() not in given}
    return outgoing.headers | added


def _target(response: aiohttp.ClientResponse) -> URL | None:
    """Return where a redirect leads, None if it is none."""
    location = response.headers.get("Location")
    if response.status not in _MOVED or not location:
        return None
    try:
        target = URL(urljoin(str(response.url), location))
    except ValueError:
        return None
    return target if target.scheme in {"http", "https"} and target.host else None


def _away(error: aiohttp.ClientError | OSError, *, locale: object, writes: bool) -> dict[str, Any]:
    """Return the envelope of a request that got no answer. The error's own text may hold an address with a secret."""
    code = "upstream_unavailable"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return failed(code, say("name", locale))
    if isinstance(error, aiohttp.ClientSSLError | ssl.SSLError):
        return failed(code, say("tls", locale))
    if isinstance(error, aiohttp.ClientConnectorError):
        return failed(code, say("refused" if error.errno == errno.ECONNREFUSED else "unreachable", locale))
    if isinstance(error, TimeoutError):
        return failed(code, say("slow", locale))
    return failed(code, say("broken", locale), warning=say("effect", locale) if writes else None)
