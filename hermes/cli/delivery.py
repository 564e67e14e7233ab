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
_UNDECIDED = "awaiting_confirmation"  # a status, and the stage of the event that tells it

OnEvent = Callable[[dict[str, Any]], None]
OnQuestion = Callable[[dict[str, Any]], bool]


class Delivery:
    """One message. `body` is that of `POST /v1/messages` with a request_id of its own: should the answer to the
    first try be lost it can be sent again and still runs once. Of a message that is `accepted` already, only the
    request_id is read.
    """

    def __init__(
        self,
        client: Client,
        body: Mapping[str, Any],
        *,
        on_event: OnEvent,
        on_question: OnQuestion,
        deadline: float | None = None,
        accepted: bool = False,
    ) -> None:
        """Tell `on_event` of every event; wait for the end until `deadline` on the monotonic clock, None for ever.

        `on_question` is given the record of a call that waits for its confirmation, with no connection open while it
        thinks. It returns whether to go on to the end, and is asked again, also about what it has answered, as long
        as the record says that nobody has decided. If it raises Unreachable, it is asked again later.
        """
        self._client = client
        self._body = body
        self._path = f"/v1/messages/{body['request_id']}"
        self._on_event = on_event
        self._on_question = on_question
        self._deadline = deadline
        self._sent = self._accepted = accepted
        self._undecided = False
        self._last_id = ""
        self._pauses = 0
        self._heard_at = time.monotonic()

    @property
    def sent(self) -> bool:
        """Say whether the daemon has the message or may have it, so that it runs whoever waits for it."""
        return self._sent

    def run(self) -> dict[str, Any]:
        """Return the record once the message has ended, or as it is at the deadline or at a question left open.

        Raises:
            Unreachable: the daemon is not there, or has been gone for too long.
            Declined: it does not take the message.
            NotHermes: something else answers.
        """
        while True:
            try:
                # A stream has nothing to tell before somebody decides.
                asked = not self._undecided and self._listen()
                record = self._record()
                if asked and not is_undecided(record):
                    continue  # decided before we came: the rest of the story is still to be heard
                if record["status"] in _ENDED or self._left() <= 0 or not self._go_on(record):
                    return record
            except Unreachable as error:
                self._sent = self._sent or error.sent
                if not self._sent or self._left() <= 0 or time.monotonic() - self._heard_at > _PATIENCE:
                    raise
            time.sleep(min(_PAUSES[min(self._pauses, len(_PAUSES) - 1)], max(0, self._left())))
            self._pauses += 1

    def _go_on(self, record: dict[str, Any]) -> bool:
        """Say whether to wait for the end of a message that is under way."""
        self._undecided = is_undecided(record)
        if not self._undecided:
            return True
        try:
            answered = self._on_question(record)
        finally:
            self._heard_at = time.monotonic()  # the time that a person took is no silence of the daemon
        self._undecided = False
        return answered

    def _listen(self) -> bool:
        """Take events until the stream ends: with the message, at the deadline, or cut off; or until there is a
        question, of which it returns True.
        """
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
                    event = event_of(frame)
                    self._on_event(event)
                    if event.get("stage") == _UNDECIDED:
                        return True
        return False

    def _record(self) -> dict[str, Any]:
        record = self._client.get(self._path)
        if "status" not in record:
            raise NotHermes("the daemon's answer holds no record")
        self._heard_at = time.monotonic()
        return record

    def _left(self) -> float:
        """Return the seconds until the deadline."""
        return math.inf if self._deadline is None else self._deadline - time.monotonic()


def is_undecided(record: dict[str, Any]) -> bool:
    """Say whether a call still waits for a yes or no. One that was approved keeps its status until a worker is free."""
    return record.get("status") == _UNDECIDED and (record.get("confirmation") or {}).get("approved") is None


def event_of(frame: Frame) -> dict[str, Any]:
    """Return what an event's frame holds; raises NotHermes."""
    try:
        event = json.loads(frame.data)
    except ValueError:
        event = None
    if not isinstance(event, dict):
        raise NotHermes("the daemon sent an event that holds no JSON object")
    return event
