"""A server that says what a test wrote down, a connection at a time, and keeps what it was asked."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

_PATIENCE = 20.0  # seconds


@dataclass(frozen=True, slots=True)
class Asked:
    """One request; the names of `headers` are in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


class Scripted:
    """Gives each connection the next of `answers`; after the last one nobody is let in any more.

    An answer is sent in its parts; an event among them is waited for.
    """

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.answers: list[list[bytes | threading.Event]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._serve)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def say(self, *parts: bytes | threading.Event) -> None:
        """Add an answer that is sent in these parts."""
        self.answers.append(list(parts))

    def say_json(self, body: object, status: str = "200 OK", media_type: str = "application/json") -> None:
        """Add an answer of JSON."""
        self.say(whole(json.dumps(body).encode(), status, media_type))

    def hang_up(self) -> None:
        """Add the end of a connection without an answer."""
        self.answers.append([])

    def start(self) -> str:
        """Begin to answer and return the URL."""
        self._thread.start()
        return self.url

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        # Closing does not wake a thread that waits for a connection; shutting down does, once.
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        if self._thread.ident is not None:
            self._thread.join(_PATIENCE)
        self._listener.close()

    def _serve(self) -> None:
        for answer in self.answers:
            try:
                connection, _ = self._listener.accept()
                if answer is self.answers[-1]:
                    self._listener.shutdown(socket.SHUT_RDWR)
            except OSError:
                return  # the test is over
            with connection:
                connection.settimeout(_PATIENCE)
                self.asked.append(_read_request(connection))
                self._answer(connection, answer)

    def _answer(self, connection: socket.socket, parts: list[bytes | threading.Event]) -> None:
        try:
            for part in parts:
                if isinstance(part, bytes):
                    connection.sendall(part)
                else:
                    part.wait(_PATIENCE)
        except OSError:
            return  # the caller has heard enough


def whole(body: bytes, status: str = "200 OK", media_type: str = "application/json") -> bytes:
    """Return an answer that says how long it is."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def stream(*frames: bytes) -> bytes:
    """Return the beginning of an event stream that ends with its connection."""
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + b"".join(frames)


def frame(event: dict[str, Any], number: int) -> bytes:
    """Return an event as a frame."""
    return f"id: {number}\nevent: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _read_request(connection: socket.socket) -> Asked:
    reader = connection.makefile("rb")
    method, path, _ = reader.readline().decode().split(" ")
    headers = {}
    while line := reader.readline().strip():
        name, _, value = line.decode().partition(":")
        headers[name.lower()] = value.strip()
    body = reader.read(int(headers.get("content-length", "0")))
    return Asked(method, path, headers, json.loads(body) if body else None)
