"""The host's side of the plugin wire: bytes to frames and back. It knows neither processes nor plugins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import orjson

_EDGE = 256  # bytes kept of either end of a frame that is too long, enough to find the id in
# Only an answer's own id counts, first or last among its members: a number further inside may be another call's.
_BESIDE = rb'(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*|"error"\s*:\s*null\s*,\s*)*'
_answer = re.compile(rb"\s*\{\s*" + _BESIDE + rb'"(?:result|error)"').match
_asked = re.compile(
    rb'\s*\{\s*"jsonrpc"\s*:\s*"2\.0"\s*,\s*"id"\s*:\s*(?:"([\w.:-]{1,64})"|(\d{1,18}))\s*,\s*"method"'
).match
_id_first = re.compile(
    rb"\s*\{\s*" + _BESIDE + rb'"id"\s*:\s*(\d+)\s*,\s*' + _BESIDE + rb'"(?:result|error)"'
).match
_id_last = re.compile(rb',\s*"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$').search


@dataclass(frozen=True, slots=True)
class Oversized:
    """A frame over the limit was skipped; `request_id` is that of an answer, None if it was none or hid its id.

    `asked` is the id of a request of the worker's, if it was one.
    """

    request_id: int | None
    asked: int | str | None = None


class FrameReader:
    """Cuts a byte stream into lines and holds at most `limit` bytes of an unfinished one."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._parts: list[bytes] = []
        self._size = 0
        self._skipping = False
        self._tail = b""

    def feed(self, chunk: bytes) -> Iterator[bytes | Oversized]:
        """Yield the lines that `chunk` completes, without their newline."""
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            yield from self._complete(line)
        if rest:
            self._keep(rest)

    def _complete(self, line: bytes) -> Iterator[bytes | Oversized]:
        self._keep(line)
        whole = b"".join(self._parts)
        skipped = self._skipping
        self._parts, self._size, self._skipping = [], 0, False
        if skipped:
            yield Oversized(answered_id(whole, self._tail), _asked_id(whole))
        elif whole:
            yield whole

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._skipping:
            self._tail = (self._tail + part[-_EDGE:])[-_EDGE:]
            return
        self._parts.append(part)
        if self._size > self._limit:
            whole = b"".join(self._parts)
            self._parts, self._tail = [whole[:_EDGE]], whole[-_EDGE:]
            self._skipping = True


def _asked_id(head: bytes) -> int | str | None:
    found = _asked(head)
    return None if found is None else int(found[2]) if found[2] else found[1].decode()


def answered_id(head: bytes, tail: bytes) -> int | None:
    """Return the id in an answer that cannot be read as a whole, None if it is no answer or hides its id."""
    found = _id_first(head) or (_answer(head) and _id_last(tail))
    return int(found[1]) if found else None


def request(request_id: int, method: str, *, params: Any) -> bytes:
    """Return a request of JSON-RPC as one line."""
    frame = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
    return orjson.dumps(frame, option=orjson.OPT_APPEND_NEWLINE)


def notification(method: str, params: Any) -> bytes:
    """Return a notification of JSON-RPC as one line."""
    frame = {"jsonrpc": "2.0", "method": method, "params": params}
    return orjson.dumps(frame, option=orjson.OPT_APPEND_NEWLINE)


def word(value: Any) -> str:
    """Return a text, or a number as one; anything else is no word and gives an empty one."""
    return str(value) if isinstance(value, str | int | float) else ""


def answer(request_id: int | str, result: Any) -> bytes:
    """Return the answer to a request of the worker's as one line."""
    frame = {"jsonrpc": "2.0", "id": request_id, "result": result}
    return orjson.dumps(frame, option=orjson.OPT_APPEND_NEWLINE)


def refusal(request_id: int | str, message: str, *, code: int) -> bytes:
    """Return the answer to a request of the worker's that cannot be met."""
    error = {"code": code, "message": message}
    frame = {"jsonrpc": "2.0", "id": request_id, "error": error}
    return orjson.dumps(frame, option=orjson.OPT_APPEND_NEWLINE)
