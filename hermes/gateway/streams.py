"""Event streams over HTTP: the story of one message, or everything a caller may see."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable

import orjson
from sse_starlette.event import ServerSentEvent
from sse_starlette.sse import EventSourceResponse
from starlette.responses import Response

from hermes.bus import Bus, Filter, Subscription
from hermes.dispatch.live import Live
from hermes.dispatch.records import replay
from hermes.dispatch.story import frame_of
from hermes.errors import InvalidField
from hermes.gateway.head import Head
from hermes.journal.base import Entry
from hermes.messages import TERMINAL

_HEARTBEAT = 15  # seconds
_HEADERS = {"Cache-Control": "no-cache, no-transform"}
_is_event_id = re.compile(r"(\d{1,19})-(\d{1,9})").fullmatch


def wants_stream(head: Head) -> bool:
    """Say whether the caller asks for an event stream as the answer."""
    return "text/event-stream" in head.header(b"accept")


def last_event_id(head: Head) -> int | None:
    """Return the number of the last event the caller has seen; raises InvalidField for an id of no event."""
    value = head.header(b"last-event-id")
    if not value:
        return None
    found = _is_event_id(value)
    if found is None:
        raise InvalidField("it is not the id of an event of Hermes", field="Last-Event-ID")
    return int(found[1])


def message_stream(bus: Bus, message: Live | Entry, *, after: int, replayed: bool = False) -> Response:
    """Answer with the story of a message, of it what has a higher number than `after`, then with what comes.

    `replayed` says that it answers a request_id that was known.
    """
    response = _message_response(bus, message, after=after)
    if replayed:
        response.headers["Idempotent-Replayed"] = "true"
    return response


def _message_response(bus: Bus, message: Live | Entry, *, after: int) -> Response:
    if isinstance(message, Entry):
        return _response(_from_list(replay(message, after=after)))
    told = [one for one in message.story.told if one.number > after]
    return _response(_follow(bus, bus.follow(message.key, told), ended=message.story.ended))


def all_stream(bus: Bus, accepts: Filter, *, after: int | None) -> Response:
    """Answer with the events of all messages that `accepts` lets through, live or from after a number on."""
    subscription, gap = bus.subscribe(accepts, after=after)
    return _response(_all(bus, subscription, gap=gap))


def _response(frames: AsyncIterator[bytes]) -> EventSourceResponse:
    return EventSourceResponse(
        frames, headers=_HEADERS, ping=_HEARTBEAT, sep="\n", ping_message_factory=_heartbeat
    )


def _heartbeat() -> ServerSentEvent:
    return ServerSentEvent(comment="heartbeat", sep="\n")


async def _from_list(frames: Iterable[bytes]) -> AsyncIterator[bytes]:
    for one in frames:
        yield one


async def _follow(bus: Bus, subscription: Subscription, *, ended: bool) -> AsyncIterator[bytes]:
    if ended:
        subscription.close("ended")
    try:
        async for published in subscription.events():
            yield frame_of(published)
            if published.type in TERMINAL:
                return
        for last in _last_frame(subscription):
            yield last
    finally:
        bus.unsubscribe(subscription)


async def _all(bus: Bus, subscription: Subscription, *, gap: bool) -> AsyncIterator[bytes]:
    try:
        if gap:
            yield _stream_frame("gap")
        async for published in subscription.events():
            yield frame_of(published)
        for last in _last_frame(subscription):
            yield last
    finally:
        bus.unsubscribe(subscription)


def _last_frame(subscription: Subscription) -> list[bytes]:
    if subscription.end in {"slow", "shutdown"}:
        return [_stream_frame(str(subscription.end))]
    return []


def _stream_frame(reason: str) -> bytes:
    return b"event: stream\ndata: %s\n\n" % orjson.dumps({"reason": reason})
