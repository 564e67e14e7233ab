"""The events of one message, told in order: numbered, published, logged and kept until the message has ended."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson

from hermes.bus import Bus, Published
from hermes.messages import TERMINAL, EventType, HermesMessage
from hermes.observe.logs import EventLines

_PROGRESS_TEXT = 1000  # characters
_PROGRESS_GAP = 0.05  # seconds between two lines of progress: at most 20 a second are kept
_COMMON = frozenset({"type", "request_id", "session_id", "seq", "timestamp"})
_MANY = 1000  # lines of progress after which a message may only add one a second


class Story:
    """Tells what happens to one message. `seq` counts from 1 without gaps; nothing is told after a terminal event."""

    def __init__(self, message: HermesMessage, owner: str, *, bus: Bus, lines: EventLines) -> None:
        self._message = message
        self._owner = owner
        self._bus = bus
        self._lines = lines
        self._held: dict[str, Any] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._last_progress = 0.0
        # Ids have no character that JSON would escape; an intent that a sender gave may have any.
        self._ids = f'"request_id":"{message.request_id}","session_id":"{message.session_id}"'.encode()
        self._intent = orjson.dumps(message.intent)
        self._plugin = b"null"
        self._code = b""
        self.told: list[Published] = []
        self._closed = False
        self.ended = False

    def set_code(self, code: str) -> None:
        """Let the line of the log that tells the end say what it failed of; a code has no character that JSON escapes."""
        self._code = b',"code":"%b"' % code.encode()

    def set_plugin(self, plugin: str) -> None:
        """Name the plugin that the lines of the log are to show from now on."""
        self._plugin = orjson.dumps(plugin)

    def next_number(self) -> int:
        """Return a number for an event that is told later: its time in microseconds."""
        return self._bus.next_number()

    def tell(self, event_type: EventType, *, number: int | None = None, **fields: Any) -> None:
        """Tell one event, now or with the number it was given before; progress that is held back goes first."""
        self._release()
        published = self.compose(event_type, fields, number=number or self._bus.next_number())
        self.told.append(published)
        self.ended = event_type in TERMINAL
        self._bus.publish(published)
        ids = (self._ids, self._intent, self._plugin, published.seq)
        members = b'%b,"intent":%b,"plugin":%b,"seq":%d' % ids
        self._lines.write(event_type, members + self._code, at=published.number / 1e6)

    def recall(self, events: list[dict[str, Any]]) -> None:
        """Take up the events that an earlier process told, as they were written; nobody is told them again."""
        for event in events:
            fields = {name: value for name, value in event.items() if name not in _COMMON}
            number = round(event["timestamp"] * 1e6)
            self.told.append(self.compose(event["type"], fields, number=number))

    def compose(self, event_type: EventType, fields: dict[str, Any], *, number: int) -> Published:
        """Return what the next event would be, and tell nobody."""
        message, seq = self._message, len(self.told) + 1
        head = b'{"type":"%b",%b,"seq":%d,"timestamp":%.6f'
        body = head % (event_type.encode(), self._ids, seq, number / 1e6)
        body += b"," + orjson.dumps(fields)[1:] if fields else b"}"
        ids = (self._owner, message.request_id, message.session_id)
        return Published(number, *ids, seq, event_type, body)

    def progress(self, text: str, percent: float | None = None, *, stage: str | None = None) -> None:
        """Tell a line of progress; if there are too many a second the newest wins."""
        if self._closed:
            return
        fields: dict[str, Any] = {"text": text[:_PROGRESS_TEXT]}
        if percent is not None:
            fields["percent"] = min(100, max(0, percent))
        if stage is not None:
            fields["stage"] = stage
        self._held = fields
        if self._timer is None:
            loop = asyncio.get_running_loop()
            gap = _PROGRESS_GAP if len(self.told) < _MANY else 1.0
            wait = self._last_progress + gap - loop.time()
            if wait <= 0:
                self._tell_held()
            else:
                self._timer = loop.call_later(wait, self._tell_held)

    def close(self) -> None:
        """Tell the progress that is held back and take no more: what is told from here on is the end."""
        self._release()
        self._closed = True

    def _release(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._tell_held()

    def _tell_held(self) -> None:
        held, self._held, self._timer = self._held, None, None
        if held is not None:
            self._last_progress = asyncio.get_running_loop().time()
            self.tell("PROGRESS", **held)


def frame_of(published: Published) -> bytes:
    """Return an event as a frame of an event stream; its id is good for that of one message and for that of all."""
    event = published.type.encode()
    return b"id: %d-%d\nevent: %s\ndata: %s\n\n" % (published.number, published.seq, event, published.body)
