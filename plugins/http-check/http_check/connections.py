"""One connection to one address: TCP, TLS, the head of an HTTP answer, and until when a certificate is valid."""

import asyncio
import re
import socket
import ssl
from datetime import UTC, datetime
from typing import Self

HEAD_BYTES = 1 << 16
_status = re.compile(rb"HTTP/1\.[01] ([1-5]\d\d)[ \r]").match
_location = re.compile(rb"\r\nlocation:[ \t]*([^\r\n]*)", re.IGNORECASE).search

Address = tuple[int, tuple]
"""A family of sockets and what `connect` takes of it."""


class NotHttp(Exception):
    """What answers speaks no HTTP."""


async def connect(address: Address) -> socket.socket:
    """Return a socket that is connected to exactly this address: no name is looked up here."""
    family, place = address
    connected = socket.socket(family, socket.SOCK_STREAM)
    connected.setblocking(False)
    try:
        await asyncio.get_running_loop().sock_connect(connected, place)
    except BaseException:
        connected.close()
        raise
    return connected


class Stream:
    """What is spoken over a connected socket, with TLS if there is a context for it."""

    def __init__(self, connected: socket.socket, context: ssl.SSLContext | None, *, host: str) -> None:
        self._socket = connected
        self._context = context
        self._host = host

    async def __aenter__(self) -> Self:
        """Shake hands; ssl.SSLError if that fails."""
        try:
            self._reader, self._writer = await asyncio.open_connection(
                sock=self._socket,
                ssl=self._context,
                server_hostname=self._host if self._context else None,
                limit=HEAD_BYTES,
            )
        except BaseException:
            self._socket.close()
            raise
        return self

    async def __aexit__(self, *_failure: object) -> None:
        """Hang up at once: nobody needs to be told that nothing follows."""
        self._writer.transport.abort()

    def expires(self) -> float:
        """Return when the peer's certificate expires, in Unix seconds."""
        return not_after(self._writer.get_extra_info("ssl_object").getpeercert(binary_form=True))

    async def ask(self, path: str, authority: str) -> tuple[int, str | None]:
        """Send a GET; return the status and where it redirects to, if it does. The body is left where it is."""
        request = (
            f"GET {path} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: hermes-http-check\r\nAccept: */*\r\n"
        )
        self._writer.write(f"{request}Connection: close\r\n\r\n".encode("ascii"))
        head = await self._head()
        while head[9:10] == b"1":  # 100 Continue, 103 Early Hints: the answer itself follows
            head = await self._head()
        status, location = int(head[9:12]), _location(head)
        if location is None or status not in {301, 302, 303, 307, 308}:
            return status, None
        return status, location[1].decode("utf-8", "replace")

    async def _head(self) -> bytes:
        try:
            head = await self._reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            raise NotHttp from None
        if _status(head) is None:
            raise NotHttp
        return head


def not_after(certificate: bytes) -> float:
    """Return when a certificate (X.509, DER) expires, in Unix seconds; ValueError if it is none.

    The ssl module tells it only of certificates that it has found valid, and an expired one is of interest too.
    """
    _, body, _ = _element(certificate)
    _, fields, _ = _element(body)
    tag, _, rest = _element(fields)
    if tag == 0xA0:  # the version, which old certificates leave out
        _, _, rest = _element(rest)
    _, _, rest = _element(rest)  # after the serial number: the algorithm
    _, _, rest = _element(rest)  # the issuer
    _, validity, _ = _element(rest)
    _, _, rest = _element(validity)
    tag, value, _ = _element(rest)
    text = value.decode("ascii")
    if tag == 0x17:  # two digits for the year, until 2049
        text = ("20" if text < "50" else "19") + text
    return datetime.strptime(text, "%Y%m%d%H%M%SZ").replace(tzinfo=UTC).timestamp()


def _element(der: bytes) -> tuple[int, bytes, bytes]:
    """Return tag and content of the first element, and what comes after it."""
    if len(der) < 2:
        raise ValueError("a certificate that is cut off")
    length, start = der[1], 2
    if length & 0x80:
        start += length & 0x7F
        length = int.from_bytes(der[2:start])
    if len(der) < start + length:
        raise ValueError("a certificate that is cut off")
    return der[0], der[start : start + length], der[start + length :]
