"""JSON answers, written without a detour."""

from __future__ import annotations

from starlette.types import Receive, Scope, Send

_JSON = (b"content-type", b"application/json")


class Json:
    """An ASGI response of JSON that is written already."""

    def __init__(self, body: bytes, status: int = 200, *, headers: dict[str, str] | None = None) -> None:
        self._body = body
        self._start = {
            "type": "http.response.start",
            "status": status,
            "headers": [
                _JSON,
                (b"content-length", b"%d" % len(body)),
                *((name.lower().encode(), value.encode()) for name, value in (headers or {}).items()),
            ],
        }

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        """Send it."""
        await send(self._start)
        await send({"type": "http.response.body", "body": self._body})
