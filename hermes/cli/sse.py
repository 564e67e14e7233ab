"""Reads an event stream byte by byte, as the WHATWG describes it. It holds no connection."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hermes.errors import HermesError

_line_end = re.compile(rb"\r\n|\n|\r").finditer
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LARGEST = 64 << 20  # bytes of one event


class EventTooLarge(HermesError):
    """One event is larger than the parser was told to take."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One event. `id` is the last one that the stream gave, "" before the first: what to resume from."""

    id: str
    event: str
    data: str


class EventStream:
    """Turns the bytes of one stream into frames, wherever the chunks are cut.

    Lines end at LF, CR LF or CR and nowhere else: U+2028 and its like are text. Comments and unknown fields mean
    nothing, bytes that are not UTF-8 become U+FFFD, and an event that the stream ends in the middle of is none.
    """

    def __init__(self, *, limit: int = _LARGEST) -> None:
        """Take events of up to `limit` bytes."""
        self._limit = limit
        self._line = bytearray()
        self._first = True
        self._after_cr = False
        self._id = ""
        self._event = ""
        self._data: list[str] = []
        self._size = 0

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the frames that `chunk` completes; raises EventTooLarge."""
        if self._after_cr and chunk.startswith(b"\n"):
            chunk, self._after_cr = chunk[1:], False  # the second half of a CR LF
        if not chunk:
            return []
        self._after_cr = chunk.endswith(b"\r")
        frames = []
        start = 0
        for end in _line_end(chunk):
            self._collect(chunk[start : end.start()])
            frame = self._end_line()
            if frame is not None:
                frames.append(frame)
            start = end.end()
        self._collect(chunk[start:])
        return frames

    def _collect(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._limit:
            raise EventTooLarge(f"an event of the stream has more than {self._limit} bytes")
        self._line += part

    def _end_line(self) -> Frame | None:
        line = bytes(self._line)
        self._line.clear()
        if self._first:
            line, self._first = line.removeprefix(_BYTE_ORDER_MARK), False
        if not line:
            return self._end_event()
        if line.startswith(b":"):
            self._size -= len(line)  # a stream of nothing but heartbeats is no large event
            return None
        name, _, value = line.decode("utf-8", "replace").partition(":")
        self._take(name, value.removeprefix(" "))
        return None

    def _take(self, name: str, value: str) -> None:
        if name == "data":
            self._data.append(value)
        elif name == "event":
            self._event = value
        elif name == "id" and "\0" not in value:
            self._id = value

    def _end_event(self) -> Frame | None:
        event, data = self._event or "message", self._data
        self._event, self._data, self._size = "", [], 0
        return Frame(self._id, event, "\n".join(data)) if data else None
