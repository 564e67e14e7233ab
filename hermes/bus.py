"""In-process publish and subscribe for events. It keeps the latest ones for who comes back, and waits for nobody."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Literal

from hermes.messages import EventType
from hermes.values import value

EndReason = Literal["ended", "slow", "shutdown"]

_KEPT_BYTES = 8 << 20  # of published events, for subscribers who come back
_BUFFER_BYTES = 1 << 20  # of events waiting in one subscription before it counts as slow
_OVERHEAD = 300  # bytes that an event costs beside its JSON


@value
class Published:
    """An event as it goes out.

    `number` grows over all events, restarts included: it is the event's time in microseconds, or one more than the
    last. `owner` is who may see it, `seq` its place in the story of its message, `body` its JSON.
    """

    number: int
    owner: str
    request_id: str
    session_id: str
    seq: int
    type: EventType
    body: bytes

    @property
    def size(self) -> int:
        """Bytes that keeping it costs, roughly."""
        return len(self.body) + _OVERHEAD


Filter = Callable[[Published], bool]
MessageKey = tuple[str, str]
"""Owner and request_id."""


class Subscription:
    """The events that one subscriber has still to take, and in the end why there are no more."""

    def __init__(
        self, accepts: Filter, replayed: Iterable[Published] = (), *, key: MessageKey | None = None
    ) -> None:
        self.accepts = accepts
        self.key = key
        self.end: EndReason | None = None
        self._waiting = deque(replayed)
        self._replayed = len(self._waiting)  # kept anyway: they take none of the subscription's own room
        self._size = 0
        self._wake = asyncio.Event()

    def offer(self, published: Published) -> bool:
        """Take an event; return False if there is no room for it, which ends the subscription as `slow`."""
        if self.end is not None:
            return True
        if self._size > _BUFFER_BYTES:
            self.close("slow")
            return False
        self._waiting.append(published)
        self._size += published.size
        self._wake.set()
        return True

    def close(self, reason: EndReason) -> None:
        """Let the subscriber take what waits, then end."""
        if self.end is None:
            self.end = reason
            self._wake.set()

    async def events(self) -> AsyncIterator[Published]:
        """Yield events as they come until the subscription has ended."""
        while True:
            while self._waiting:
                published = self._waiting.popleft()
                if self._replayed:
                    self._replayed -= 1
                else:
                    self._size -= published.size
                yield published
            if self.end is not None:
                return
            self._wake.clear()
            await self._wake.wait()


class Bus:
    """Hands every published event to every subscription that accepts it, and keeps the latest.

    `on_slow` is told of every subscription that was ended because it could not keep up.
    """

    def __init__(self, on_slow: Callable[[], None]) -> None:
        self._on_slow = on_slow
        self._kept: deque[Published] = deque()
        self._kept_size = 0
        self._last = 0
        self._forgotten = time.time_ns() // 1000  # every event of a higher number is kept
        self._subscriptions: dict[MessageKey | None, set[Subscription]] = {}
        self._closed: EndReason | None = None

    def next_number(self) -> int:
        """Return the number for the next event: its time in microseconds, but always more than the last."""
        now = time.time_ns() // 1000
        self._last = now if now > self._last else self._last + 1
        return self._last

    def publish(self, published: Published) -> None:
        """Hand out an event; never waits."""
        self._kept.append(published)
        self._kept_size += published.size
        if self._kept_size > _KEPT_BYTES:
            self._forget()
        if not self._subscriptions:
            return
        for key in (None, (published.owner, published.request_id)):
            for subscription in self._subscriptions.get(key, ()):
                if subscription.accepts(published) and not subscription.offer(published):
                    self._on_slow()

    def subscribe(self, accepts: Filter, *, after: int | None = None) -> tuple[Subscription, bool]:
        """Subscribe to the events of all messages that `accepts` lets through.

        With `after`, those come first that were published since the event of that number; the second value says
        whether some between are lost.
        """
        if after is None:
            return self._add(Subscription(accepts)), False
        replayed = [one for one in self._since(after) if accepts(one)]
        return self._add(Subscription(accepts, replayed)), after < self._forgotten

    def follow(self, key: MessageKey, story: Iterable[Published]) -> Subscription:
        """Subscribe to one message: first the `story` so far, then what comes."""
        return self._add(Subscription(lambda _: True, story, key=key))

    def unsubscribe(self, subscription: Subscription) -> None:
        """Forget a subscription; one that is not known is none."""
        subscriptions = self._subscriptions.get(subscription.key, set())
        subscriptions.discard(subscription)
        if not subscriptions:
            self._subscriptions.pop(subscription.key, None)

    def close(self, reason: EndReason) -> None:
        """End every subscription, and at once those that are still to come."""
        self._closed = reason
        for subscriptions in self._subscriptions.values():
            for subscription in subscriptions:
                subscription.close(reason)

    @property
    def subscribers(self) -> int:
        """How many subscriptions there are."""
        return sum(map(len, self._subscriptions.values()))

    def _add(self, subscription: Subscription) -> Subscription:
        self._subscriptions.setdefault(subscription.key, set()).add(subscription)
        if self._closed is not None:
            subscription.close(self._closed)
        return subscription

    def _since(self, number: int) -> list[Published]:
        """Return what was published after an event; the end of a message has its number before it is published."""
        later: list[Published] = []
        for one in reversed(self._kept):
            if one.number == number:
                return later[::-1]
            later.append(one)
        return [one for one in self._kept if one.number > number]

    def _forget(self) -> None:
        """Let go of the oldest events until the rest fits."""
        while self._kept_size > _KEPT_BYTES:
            gone = self._kept.popleft()
            self._kept_size -= gone.size
            self._forgotten = gone.number
