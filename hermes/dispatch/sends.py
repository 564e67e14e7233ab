"""What `context["send"]` stands on: a message of its own for everything that a call sends, and its envelope as the answer.

A message that is run again sends the same messages again, and is given what has become of them.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import orjson

from hermes.auth.policy import Caller
from hermes.dispatch.lineage import Sent
from hermes.dispatch.live import Live, LiveTable
from hermes.dispatch.records import read_envelope
from hermes.dispatch.retries import UnderWay
from hermes.dispatch.sentences import say
from hermes.dispatch.submission import Submission
from hermes.errors import Conflict, InvalidField, JournalError, RateLimited, Unavailable
from hermes.host.workers.calls import Call
from hermes.host.workers.failures import RequestRefused
from hermes.journal.base import Entry, Journal
from hermes.messages import ErrorInfo, ResultEnvelope
from hermes.sdk.wire import INVALID_PARAMS, STILL_RUNNING, STORE_AWAY
from hermes.values import value

_MOST = 1000  # messages that one call sends
_AT_ONCE = 64  # of them under way at a time; the others wait for their turn
_INTENT_CHARS = 200
_STOPPED = {"cancelled", "plugin_timeout"}  # how a message ends that nobody lets run any longer
_OVER = "the call is over"


class Sends:
    """All that plugins send in this process.

    `hand_in` takes a message in as the pipeline does, and begins it; `stop` ends one; a payload may have `payload_bytes`.
    """

    def __init__(
        self,
        hand_in: Callable[[Submission, Caller], Awaitable[Live | Entry]],
        *,
        stop: Callable[[Live], None],
        payload_bytes: int,
    ) -> None:
        self.hand_in = hand_in
        self.stop = stop
        self.payload_bytes = payload_bytes

    def scope(self, live: Live, deadline: Callable[[], float]) -> SendScope:
        """Return what answers one call of a message; `deadline` is when its time is over, on the clock of the event loop."""
        return SendScope(self, live, deadline=deadline)


class SendScope:
    """What one call sends, numbered in the order in which it came."""

    def __init__(self, sends: Sends, live: Live, *, deadline: Callable[[], float]) -> None:
        self._sends = sends
        self._live = live
        self._deadline = deadline
        self._count = 0
        self._unanswered = 0
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self._left = False

    def answer(self, params: dict[str, Any]) -> Awaitable[Any]:
        """Send a message and return its envelope; it may raise RequestRefused."""
        self._count += 1
        self._unanswered += 1
        return self._answered(params, number=self._count, queued=self._unanswered > _AT_ONCE)

    def leave(self) -> None:
        """Send nothing more of what still waits for its turn."""
        self._left = True

    async def _answered(self, params: dict[str, Any], *, number: int, queued: bool) -> Any:
        try:
            async with self._turn:
                if queued and self._left:
                    raise RequestRefused(_OVER, code=STORE_AWAY)
                return await self._send(params, number)
        finally:
            self._unanswered -= 1

    async def _send(self, params: dict[str, Any], number: int) -> Any:
        parent, deadline = self._live, self._deadline()
        submission = self._submission(params, Sent(parent, number, deadline))
        if parent.cancelled or deadline <= asyncio.get_running_loop().time():
            raise RequestRefused(_OVER, code=STORE_AWAY)
        # Whom it is sent for is all that counts: what it may decide, nobody has said.
        caller = Caller(parent.record.principal, frozenset())
        try:
            message = await self._sends.hand_in(submission, caller)
        except (RateLimited, Unavailable):
            return _shown(
                ResultEnvelope(error=ErrorInfo("overloaded", say("overloaded", parent.locale), True))
            )
        except UnderWay as refusal:
            raise RequestRefused(refusal.detail, code=STILL_RUNNING) from refusal
        except (Conflict, InvalidField) as refusal:
            raise RequestRefused(f"send {number}: {refusal.detail}", code=INVALID_PARAMS) from refusal
        if isinstance(message, Live):
            await self._wait(message, deadline)
        envelope = _envelope(message)
        if envelope is None:  # Hermes stops, and leaves both to the next start
            await _end(parent)
            raise RequestRefused("Hermes is shutting down", code=STORE_AWAY)
        return _shown(envelope)

    async def _wait(self, message: Live, deadline: float) -> None:
        message.prolong(deadline)
        if self._live.cancelled:  # meanwhile
            self._sends.stop(message)
        await _end(message)

    def _submission(self, params: dict[str, Any], sent: Sent) -> Submission:
        if sent.number > _MOST:
            raise RequestRefused(f"one call may send {_MOST} messages", code=INVALID_PARAMS)
        intent, payload = params.get("intent"), params.get("payload")
        if not isinstance(intent, str) or not 0 < len(intent) <= _INTENT_CHARS:
            raise RequestRefused(
                f"intent must be a text of 1 to {_INTENT_CHARS} characters", code=INVALID_PARAMS
            )
        if not isinstance(payload, dict):
            raise RequestRefused("payload must be an object", code=INVALID_PARAMS)
        received_at = time.time()
        return Submission(
            text=None,
            intent=intent,
            payload=payload,
            received_at=received_at,
            session_id=sent.parent.session_id,
            request_id=sent.request_id,
            fingerprint=self._fingerprint(intent, payload, sent=sent),
            source="agent",
            metadata=sent.metadata(received_at),
            sent=sent,
        )

    def _fingerprint(self, intent: str, payload: dict[str, Any], *, sent: Sent) -> bytes:
        try:
            written = orjson.dumps(payload, option=orjson.OPT_SORT_KEYS)
        except TypeError as error:  # nested more deeply than can be written
            raise RequestRefused(f"the payload cannot be kept: {error}", code=INVALID_PARAMS) from error
        most = self._sends.payload_bytes
        if len(written) > most:
            raise RequestRefused(
                f"the payload has {len(written)} bytes, and may have {most} (limits.body_bytes)",
                code=INVALID_PARAMS,
            )
        # What else may have the id must not be taken for it: no other body begins like this.
        parent = sent.parent.record.message.request_id
        return hashlib.sha256(b"send\0%b\0%b\0%b" % (parent.encode(), orjson.dumps(intent), written)).digest()


@value
class SentCall(Call):
    """A call that may have less time than its plugin takes: at its start the worker is told the lesser of both."""

    seconds_left: Callable[[], float] = lambda: math.inf

    def params(self) -> dict[str, Any]:
        """Return the parameters of the wire's `handle`."""
        params = Call.params(self)
        params["context"]["deadline_ms"] = round(min(self.timeout, max(self.seconds_left(), 0.0)) * 1000)
        return params


async def given_up(live: Live, table: LiveTable, *, journal: Journal) -> bool:
    """Say whether the message that sent this one was stopped, so that nobody waits for it."""
    if live.parent is None:
        return False
    parent = table.get(live.parent)
    if parent is not None and parent.cancelled:
        return True
    owner, request_id = live.parent
    try:
        entry = await journal.find(request_id, owner=owner)
    except JournalError:
        return False  # it is run as any other
    return entry is not None and entry.code in _STOPPED


async def _end(live: Live) -> None:
    """Wait until a message has ended, or Hermes stops and it will not end any more."""
    if live.task is not None:
        await asyncio.wait((live.task,))


def _envelope(message: Live | Entry) -> ResultEnvelope | None:
    """Return the envelope of a message, None if it has not ended."""
    if isinstance(message, Live):
        return message.record.envelope if message.written is not None else None
    return None if message.finished_at is None else read_envelope(message)


def _shown(envelope: ResultEnvelope) -> ResultEnvelope:
    """Return an envelope as it can be written: its data may be nested as deeply as that allows, and a frame goes around it."""
    return replace(envelope, data=orjson.Fragment(orjson.dumps(envelope.data)))
