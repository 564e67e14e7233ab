"""`POST /v1/messages`: the busiest path, an ASGI application of its own."""

from __future__ import annotations

import re

import orjson
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from hermes.bus import Bus
from hermes.dispatch.live import Live
from hermes.dispatch.pipeline import Pipeline
from hermes.dispatch.shelf import has_ended, record_json
from hermes.errors import InvalidField
from hermes.gateway.access import Access
from hermes.gateway.answers import Json
from hermes.gateway.bodies import MessageBody, check, read_json
from hermes.gateway.head import Head
from hermes.gateway.streams import message_stream, wants_stream
from hermes.journal.base import Entry
from hermes.values import value

_LONGEST_WAIT = 120.0  # seconds
_prefers_wait = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?(\d+(?:\.\d+)?)\"?(?=$|[,;\s])", re.IGNORECASE).search


@value
class _Wait:
    seconds: float
    capped: bool

    @property
    def headers(self) -> dict[str, str]:
        return {"Preference-Applied": f"wait={self.seconds:g}"} if self.capped else {}


class Submit:
    """Accepts messages, and waits for the end of each or streams its story if that is asked for."""

    def __init__(self, pipeline: Pipeline, bus: Bus, *, access: Access, body_bytes: int) -> None:
        self._pipeline = pipeline
        self._bus = bus
        self._access = access
        self._body_bytes = body_bytes

    @property
    def route(self) -> Route:
        """The path that is served here."""
        return Route("/v1/messages", self, methods=["POST"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        answer = await self._answer(Head(scope), receive)
        await answer(scope, receive, send)

    async def _answer(self, head: Head, receive: Receive) -> ASGIApp:
        caller = self._access(head)
        wait = _wait_of(head)
        body = await read_json(head, receive, limit=self._body_bytes)
        submission = check(MessageBody, body).to_submission(body)
        receipt = await self._pipeline.receive(submission, caller)
        message = receipt.message
        if wants_stream(head):
            return message_stream(self._bus, message, after=0, replayed=receipt.replayed)
        if wait.seconds and isinstance(message, Live):
            await self._pipeline.wait(message, wait.seconds)
        if receipt.replayed:
            return Json(record_json(message), headers={"Idempotent-Replayed": "true", **wait.headers})
        if isinstance(message, Entry) or (wait.seconds and (has_ended(message) or message.parked)):
            return Json(record_json(message), headers=wait.headers)
        return self._accepted(message, wait)

    def _accepted(self, live: Live, wait: _Wait) -> Json:
        message = live.record.message
        links = live.record.links
        accepted = {
            "request_id": message.request_id,
            "session_id": message.session_id,
            "status": "accepted",
            "ack": {"text": self._pipeline.acknowledge(live), "eta_ms": None},
            "links": links,
        }
        return Json(orjson.dumps(accepted), 202, headers={"Location": links["self"], **wait.headers})


def _wait_of(head: Head) -> _Wait:
    asked = head.query("wait").get("wait")
    if asked is None:
        found = _prefers_wait(head.header(b"prefer"))
        asked = found[1] if found else "0"
    try:
        seconds = float(asked)
    except ValueError:
        seconds = -1
    if not 0 <= seconds < float("inf"):
        raise InvalidField("it must be a number of seconds from 0 to 120", field="wait")
    return _Wait(min(seconds, _LONGEST_WAIT), seconds > _LONGEST_WAIT)
