"""The HTTP client of the command line: one connection a call, no redirects, no proxies, and no wait without an end.

It knows how Hermes answers, not what the answers mean.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import time
import urllib.parse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hermes.cli.sse import EventStream, Frame
from hermes.errors import HermesError

_CONNECT = 5.0  # seconds until a connection stands
_ANSWER = 30.0  # seconds without a byte of an answer
_SILENCE = 45.0  # seconds without a byte of a stream, which has a heartbeat every 15
_LARGEST = 64 << 20  # bytes of an answer
_CHUNK = 1 << 16
_SCHEMES = {"http": 80, "https": 443}


class InvalidAddress(HermesError):
    """The URL or the key cannot be used; nothing was sent."""


class Unreachable(HermesError):
    """No answer came, or not all of it; `sent` says that the request may have arrived."""

    code = "unreachable"
    retryable = True

    def __init__(self, detail: str, *, sent: bool) -> None:
        super().__init__(detail)
        self.sent = sent


class Declined(HermesError):
    """The daemon answered with an error; `code` is the one it gave."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}"


class NotHermes(HermesError):
    """What answers at this address does not answer as Hermes does."""


@dataclass(frozen=True, slots=True)
class _Address:
    scheme: str
    host: str
    port: int
    path: str


class Client:
    """Calls one daemon."""

    def __init__(self, url: str, key: str | None = None, *, origin: str = "") -> None:
        """Call the daemon at `url`, showing `key` if there is one; raises InvalidAddress.

        `origin` says in words where an address comes from that nobody gave, for the error that nobody answers there.
        """
        self._address = _parse(url)
        self._url = url
        self._origin = origin
        self._headers = {"Connection": "close"} | _authorization(key)

    def get(self, path: str, **query: str | int | None) -> dict[str, Any]:
        """Return the JSON object at a path; a parameter that is None is left out. Raises Unreachable, Declined, NotHermes."""
        given = {name: value for name, value in query.items() if value is not None}
        target = f"{path}?{urllib.parse.urlencode(given)}" if given else path
        with self._exchange("GET", target) as answer:
            return answer.json()

    def post(
        self, path: str, body: Mapping[str, Any] | None = None, *, within: float = _ANSWER
    ) -> dict[str, Any]:
        """Send a JSON object, or nothing, and return the one that comes back; raises Unreachable, Declined, NotHermes.

        `within` is how many seconds may pass without a byte of the answer.
        """
        with self._exchange("POST", path, body=body, within=within) as answer:
            return answer.json()

    @contextlib.contextmanager
    def stream(
        self,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        last_id: str = "",
        deadline: float | None = None,
    ) -> Iterator[Iterator[Frame]]:
        """Open an event stream, with a body by POST, and give its frames until it ends or `deadline` has come.

        `last_id` is the id of the last frame that was seen, `deadline` a time of the monotonic clock. Raises
        Unreachable, Declined, NotHermes, and so does asking for the next frame.
        """
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": last_id} if last_id else {})
        with self._exchange("GET" if body is None else "POST", path, body=body, headers=headers) as answer:
            yield answer.frames(deadline)

    @contextlib.contextmanager
    def _exchange(
        self,
        method: str,
        target: str,
        *,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        within: float = _ANSWER,
    ) -> Iterator[_Answer]:
        connection = self._connection()
        content = None if body is None else json.dumps(body).encode()
        media_type = {} if body is None else {"Content-Type": "application/json"}
        try:
            connection.connect()
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            connection.close()
            raise Unreachable(self._unreachable(error), sent=False) from error
        try:
            connection.sock.settimeout(within)
            with _losing(self._url):
                connection.request(
                    method,
                    self._address.path + target,
                    content,
                    {"Accept": "application/json"} | self._headers | media_type | dict(headers or {}),
                )
                sock = connection.sock  # the connection lets go of it once an answer says that it is the last
                response = connection.getresponse()
            with contextlib.closing(response):
                answer = _Answer(response, sock, url=self._url)
                answer.check()
                yield answer
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._address.host, self._address.port
        if self._address.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=_CONNECT)
        return http.client.HTTPSConnection(host, port, timeout=_CONNECT, context=ssl.create_default_context())

    def _unreachable(self, error: Exception) -> str:
        origin = f" ({self._origin})" if self._origin else ""
        sentence = f"cannot reach {self._url}{origin}: {_reason(error)}"
        if isinstance(error, ConnectionRefusedError):
            sentence += "; is the daemon running? start it with: hermes run"
        return f"{sentence}; another address is given with --url or in HERMES_URL"


class _Answer:
    """The answer to one call. What it raises while it is read is Unreachable, Declined or NotHermes."""

    def __init__(self, response: http.client.HTTPResponse, sock: socket.socket, *, url: str) -> None:
        self._response = response
        self._sock = sock
        self._url = url

    def check(self) -> None:
        """Raise if this is not the answer that was asked for."""
        status = self._response.status
        if 300 <= status < 400:
            place = self._response.headers.get("Location", "another place")
            raise NotHermes(f"{self._url} redirects to {place}, which is not followed; give that as --url")
        if status >= 400:
            raise self._problem()

    def json(self) -> dict[str, Any]:
        """Return the whole body, which is always an object."""
        body = self._body()
        try:
            value = json.loads(body)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise NotHermes(f"what answers at {self._url} is not Hermes: it sent no JSON object")
        return value

    def frames(self, deadline: float | None) -> Iterator[Frame]:
        """Give the frames of an event stream; ends with it, or when the monotonic clock reaches `deadline`."""
        if self._media_type() != "text/event-stream":
            raise NotHermes(f"what answers at {self._url} is not Hermes: it sent no event stream")
        events = EventStream()
        while True:
            left = _SILENCE if deadline is None else min(_SILENCE, deadline - time.monotonic())
            if left <= 0:
                return
            self._sock.settimeout(left)
            try:
                with _losing(self._url):
                    chunk = self._response.read1(_CHUNK)
            except Unreachable:
                if deadline is not None and time.monotonic() >= deadline:
                    return
                raise
            if not chunk:
                return
            yield from events.feed(chunk)

    def _body(self) -> bytes:
        parts, size = [], 0
        with _losing(self._url):
            while part := self._response.read(_CHUNK):
                parts.append(part)
                size += len(part)
                if size > _LARGEST:
                    raise NotHermes(f"the answer of {self._url} has more than {_LARGEST} bytes")
            if self._response.length:
                raise http.client.IncompleteRead(b"".join(parts), self._response.length)
        return b"".join(parts)

    def _problem(self) -> HermesError:
        status, reason = self._response.status, self._response.reason
        other = NotHermes(f"{self._url} answered {status} {reason}".strip())
        if self._media_type() != "application/problem+json":
            return other
        problem = self.json()
        if not isinstance(problem.get("code"), str):
            return other
        detail = str(problem.get("detail") or problem.get("title") or reason)
        if problem["code"] == "unauthorized":
            detail += (
                "; give it with --key or in HERMES_KEY; the daemon keeps it in admin.key of its state_dir"
            )
        return Declined(problem["code"], detail)

    def _media_type(self) -> str:
        return self._response.headers.get("Content-Type", "").partition(";")[0].strip().lower()


def _parse(url: str) -> _Address:
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise InvalidAddress(f"this is not a URL: {error}") from None
    if parts.username is not None or parts.query or parts.fragment:
        raise InvalidAddress(
            "the URL may have a scheme, a host, a port and a path; a key goes into HERMES_KEY"
        )
    if parts.scheme not in _SCHEMES or not parts.hostname:
        raise InvalidAddress(f"{url!r} is not a URL such as http://127.0.0.1:8080 or https://hermes.example")
    path = urllib.parse.quote(parts.path.rstrip("/"), safe="/%~")
    return _Address(parts.scheme, parts.hostname, port or _SCHEMES[parts.scheme], path)


def _authorization(key: str | None) -> dict[str, str]:
    key = (key or "").strip()
    if not key:
        return {}
    if not key.isascii() or not key.isprintable():
        raise InvalidAddress("the key holds characters that no key has")
    return {"Authorization": f"Bearer {key}"}


@contextlib.contextmanager
def _losing(url: str) -> Iterator[None]:
    """Turn what a broken connection raises into Unreachable."""
    try:
        yield
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable(f"lost the connection to {url}: {_reason(error)}", sent=True) from error


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "timed out"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate cannot be trusted: {error.verify_message}"
    if isinstance(error, http.client.IncompleteRead):
        return "the answer ended early"
    if isinstance(error, OSError):
        words = error.strerror or str(error) or type(error).__name__
        return words[:1].lower() + words[1:]
    if isinstance(error, http.client.HTTPException):
        return "what answers there does not speak HTTP"
    return "there is no such host"
