"""A small HTTP client for tests: whole answers, and event streams read frame by frame. It hides no status and no header."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

_PATIENCE = 20.0  # seconds without a byte after which a test has failed


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer; the names of `headers` are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def problem(self) -> tuple[int, str]:
        """The status and the code of a problem; fails if the answer is none, or one without its members."""
        assert self.headers["content-type"] == "application/problem+json", self.body
        body = self.json
        assert body["status"] == self.status
        assert {"type", "title", "detail"} <= body.keys()
        assert body["detail"]
        return self.status, body["code"]


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of an event stream."""

    id: str | None
    event: str
    data: dict[str, Any]


class Stream:
    """An open event stream: iterate over its frames; a stream that Hermes ends ends the iteration."""

    def __init__(self, connection: HTTPConnection, response: HTTPResponse) -> None:
        self._connection = connection
        self._response = response
        self.status = response.status
        self.headers = _lower(response)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._response.close()
        self._connection.close()

    def __iter__(self) -> Iterator[Frame]:
        fields: dict[str, str] = {}
        while line := self._response.readline():
            text = line.decode().removesuffix("\n")
            if text.startswith(":"):
                continue
            if text:
                name, _, value = text.partition(": ")
                fields[name] = value
            elif fields:
                yield Frame(fields.get("id"), fields["event"], json.loads(fields["data"]))
                fields = {}

    def next(self) -> Frame:
        """Return the next frame."""
        return next(iter(self))

    def until(self, event: str) -> list[Frame]:
        """Return the frames up to the first of this type, that one included."""
        frames = []
        for frame in self:
            frames.append(frame)
            if frame.event == event:
                return frames
        raise AssertionError(f"the stream ended without {event}: {frames}")


class Client:
    """Calls one daemon. `headers` go with every request."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        address = urlsplit(url)
        self.host, self.port = str(address.hostname), int(address.port or 80)
        self._headers = dict(headers or {})

    def request(
        self, method: str, path: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send bytes as they are and return the answer."""
        connection, response = self._open(method, path, body=body, headers=headers)
        try:
            return Answer(response.status, _lower(response), response.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.request("GET", path, headers=_dashed(headers))

    def delete(self, path: str) -> Answer:
        return self.request("DELETE", path)

    def post(self, path: str, body: object, **headers: str) -> Answer:
        """Send `body` as JSON."""
        return self.request("POST", path, body=json.dumps(body).encode(), headers=_json_headers(headers))

    def send(self, text: str | None = None, *, wait: float = 20, **members: Any) -> dict[str, Any]:
        """Send a message, wait for its end and return its record."""
        body = members if text is None else {"text": text, **members}
        answer = self.post(f"/v1/messages?wait={wait}", body)
        assert answer.status == 200, answer.body
        record: dict[str, Any] = answer.json
        return record

    def accept(self, text: str | None = None, **members: Any) -> str:
        """Send a message, do not wait, and return its request_id."""
        answer = self.post("/v1/messages", members if text is None else {"text": text, **members})
        assert answer.status == 202, answer.body
        return str(answer.json["request_id"])

    def record(self, request_id: str) -> dict[str, Any]:
        answer = self.get(f"/v1/messages/{request_id}")
        assert answer.status == 200, answer.body
        record: dict[str, Any] = answer.json
        return record

    def exchange(self, *parts: bytes) -> Answer:
        """Send bytes that need not be HTTP, each part by itself, and return the answer."""
        with socket.create_connection((self.host, self.port), timeout=_PATIENCE) as connection:
            for part in parts:
                connection.sendall(part)
            response = HTTPResponse(connection)
            response.begin()
            return Answer(response.status, _lower(response), response.read())

    def stream(self, path: str, **headers: str) -> Stream:
        """Open an event stream with GET."""
        return Stream(*self._open("GET", path, headers=_dashed(headers)))

    def post_stream(self, body: object) -> Stream:
        """Send a message and take its event stream as the answer."""
        headers = _json_headers({"accept": "text/event-stream"})
        return Stream(*self._open("POST", "/v1/messages", body=json.dumps(body).encode(), headers=headers))

    def story(self, request_id: str, **headers: str) -> list[Frame]:
        """Return all frames of a message's stream, which ends with the message."""
        with self.stream(f"/v1/messages/{request_id}/events", **headers) as stream:
            return list(stream)

    def _open(
        self, method: str, path: str, *, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[HTTPConnection, HTTPResponse]:
        connection = HTTPConnection(self.host, self.port, timeout=_PATIENCE)
        try:
            connection.request(method, path, body, self._headers | dict(headers or {}))
            return connection, connection.getresponse()
        except BaseException:
            connection.close()
            raise


def _lower(response: HTTPResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.getheaders()}


def _dashed(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "-"): value for name, value in headers.items()}


def _json_headers(headers: Mapping[str, str]) -> dict[str, str]:
    return {"content-type": "application/json"} | _dashed(headers)
