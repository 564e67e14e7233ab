"""The events of one message, told in order: numbered, published, logged and kept until the message has ended."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson

from hermes.bus import Bus, Published
from hermes.messages import TERMINAL, Event, EventType, HermesMessage
from hermes.observe.logs import Logger

_PROGRESS_TEXT = 1000  # characters
_PROGRESS_GAP = 0.05  # seconds between two lines of progress: at most 20 a second are kept
_MANY = 1000  # lines of progress after which a message may only add one a second


class Story:
    """Tells what happens to one message. `seq` counts from 1 without gaps; nothing is told after a terminal event."""

    def __init__(self, message: HermesMessage, owner: str, *, bus: Bus, log: Logger) -> None:
        self._message = message
        self._owner = owner
        self._bus = bus
        self._log = log
        self._held: dict[str, Any] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._last_progress = 0.0
        self.intent = message.intent
        self.plugin: str | None = None
        self.told: list[Published] = []

    @property
    def ended(self) -> bool:
        """Say whether the terminal event was told."""
        return bool(self.told) and self.told[-1].event.type in TERMINAL

    def tell(self, event_type: EventType, *, at: float | None = None, **fields: Any) -> None:
        """Tell one event of the Unix time `at`, now if None; progress that is held back goes first."""
        self._release()
        number = self._bus.next_number()
        message = self._message
        time = number / 1e6 if at is None else at
        event = Event(event_type, message.request_id, message.session_id, len(self.told) + 1, time, fields)
        published = Published(number, self._owner, event, orjson.dumps(event.to_dict()))
        self.told.append(published)
        self._bus.publish(published)
        self._log.info(
            event_type,
            request_id=message.request_id,
            session_id=message.session_id,
            intent=self.intent,
            plugin=self.plugin,
            seq=event.seq,
        )

    def progress(self, text: str, percent: float | None = None, *, stage: str | None = None) -> None:
        """Tell a line of progress; if there are too many a second the newest wins."""
        if self.ended:
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

    def _tell_held(self) -> None:
        held, self._held, self._timer = self._held, None, None
        if held is not None:
            self._last_progress = asyncio.get_running_loop().time()
            self.tell("PROGRESS", **held)

    def _release(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._tell_held()


def frame_of(published: Published) -> bytes:
    """Return an event as it goes over an event stream."""
    return frame(published.number, published.event.seq, published.event.type, published.body)


def frame(number: int, seq: int, event_type: str, body: bytes) -> bytes:
    """Return a frame of an event stream; its id is good for the stream of one message and for that of all."""
    return b"id: %d-%d\nevent: %s\ndata: %s\n\n" % (number, seq, event_type.encode(), body)
