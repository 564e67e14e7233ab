"""Hands a message in and sees it to its end, over as many connections as that takes. It prints nothing."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from hermes.cli.client import Client, NotHermes, Unreachable
from hermes.cli.sse import Frame

_PAUSES = (0.1, 0.2, 0.5, 1.0, 2.0)  # seconds before each new connection, the last one over and over
_PATIENCE = 30.0  # seconds without the daemon before it is given up: a restart takes less
_ENDED = frozenset({"succeeded", "failed"})

OnEvent = Callable[[dict[str, Any]], None]


class Delivery:
    """One message. `body` is that of `POST /v1/messages` with a request_id of its own: should the answer to the
    first try be lost it can be sent again and still runs once.
    """

    def __init__(
        self, client: Client, body: Mapping[str, Any], *, on_event: OnEvent, deadline: float | None = None
    ) -> None:
        """Tell `on_event` of every event; wait for the end until `deadline` on the monotonic clock, None for ever."""
        self._client = client
        self._body = body
        self._path = f"/v1/messages/{body['request_id']}"
        self._on_event = on_event
        self._deadline = deadline
        self._sent = False
        self._accepted = False
        self._last_id = ""
        self._pauses = 0
        self._heard_at = time.monotonic()

    @property
    def sent(self) -> bool:
        """Say whether the daemon has the message or may have it, so that it runs whoever waits for it."""
        return self._sent

    def run(self) -> dict[str, Any]:
        """Return the record once the message has ended, or as it is at the deadline.

        Raises:
            Unreachable: the daemon is not there, or has been gone for too long.
            Declined: it does not take the message.
            NotHermes: something else answers.
        """
        while True:
            try:
                self._listen()
                record = self._record()
            except Unreachable as error:
                self._sent = self._sent or error.sent
                if not self._sent or self._left() <= 0 or time.monotonic() - self._heard_at > _PATIENCE:
                    raise
            else:
                if record["status"] in _ENDED or self._left() <= 0:
                    return record
            time.sleep(min(_PAUSES[min(self._pauses, len(_PAUSES) - 1)], max(0, self._left())))
            self._pauses += 1

    def _listen(self) -> None:
        """Take events until the stream ends: the message has ended, the deadline has come, or it was cut off."""
        if self._accepted:
            stream = self._client.stream(
                self._path + "/events", last_id=self._last_id, deadline=self._deadline
            )
        else:
            stream = self._client.stream("/v1/messages", body=self._body, deadline=self._deadline)
        with stream as frames:
            self._sent = self._accepted = True
            for frame in frames:
                self._heard_at = time.monotonic()
                if frame.event != "stream":  # a word about the stream itself is no event to resume from
                    self._pauses = 0
                    self._last_id = frame.id
                    self._on_event(event_of(frame))

    def _record(self) -> dict[str, Any]:
        record = self._client.get(self._path)
        if "status" not in record:
            raise NotHermes("the daemon's answer holds no record")
        self._heard_at = time.monotonic()
        return record

    def _left(self) -> float:
        """Return the seconds until the deadline."""
        return math.inf if self._deadline is None else self._deadline - time.monotonic()


def event_of(frame: Frame) -> dict[str, Any]:
    """Return what an event's frame holds; raises NotHermes."""
    try:
        event = json.loads(frame.data)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise NotHermes("the daemon sent an event that holds no JSON object")
    return event
