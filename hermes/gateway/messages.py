"""`/v1/messages` and `/v1/events`: messages in, records and event streams out."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hermes.bus import Bus, Filter, Published
from hermes.dispatch.live import Live
from hermes.dispatch.pipeline import Pipeline, Receipt
from hermes.dispatch.shelf import Shelf, has_ended, raw_json, record_json
from hermes.errors import Conflict, InvalidField, NotFound
from hermes.gateway.access import Access, Caller
from hermes.gateway.bodies import MessageBody, MessageQuery, check, read_json
from hermes.gateway.streams import all_stream, last_event_id, message_stream, wants_stream
from hermes.journal.base import Entry, Query

_LONGEST_WAIT = 120.0  # seconds
_prefers_wait = re.compile(r"(?:^|[,;\s])wait\s*=\s*\"?(\d+(?:\.\d+)?)\"?(?=$|[,;\s])", re.IGNORECASE).search


@dataclass(frozen=True, slots=True)
class _Wait:
    seconds: float
    capped: bool

    @property
    def headers(self) -> dict[str, str]:
        return {"Preference-Applied": f"wait={self.seconds:g}"} if self.capped else {}


class Messages:
    """The handlers of messages; bodies may have at most `body_bytes`."""

    def __init__(
        self, pipeline: Pipeline, shelf: Shelf, bus: Bus, *, access: Access, body_bytes: int
    ) -> None:
        self._pipeline = pipeline
        self._shelf = shelf
        self._bus = bus
        self._access = access
        self._body_bytes = body_bytes

    @property
    def routes(self) -> list[Route]:
        """The paths that are served here, the busiest first."""
        one = "/v1/messages/{request_id}"
        return [
            Route("/v1/messages", self.post, methods=["POST"]),
            Route("/v1/messages", self.select, methods=["GET"]),
            Route(one, self.get, methods=["GET"]),
            Route(one, self.delete, methods=["DELETE"]),
            Route(one + "/raw", self.raw, methods=["GET"]),
            Route(one + "/events", self.events, methods=["GET"]),
            Route("/v1/events", self.all_events, methods=["GET"]),
        ]

    async def post(self, request: Request) -> Response:
        """Accept a message, and wait for its end or stream its story if that is asked for."""
        caller = self._access(request)
        wait = _wait_of(request)
        body = await read_json(request, limit=self._body_bytes)
        submission = check(MessageBody, body).to_submission(body)
        receipt = await self._pipeline.receive(submission, caller.principal)
        message = receipt.message
        if wants_stream(request):
            return message_stream(self._bus, message, after=0)
        if wait.seconds and isinstance(message, Live) and message.written is None:
            await _until_released(message, wait.seconds)
        return self._answer(receipt, wait)

    async def select(self, request: Request) -> Response:
        """List records, newest first."""
        caller = self._access(request)
        asked = check(MessageQuery, dict(request.query_params))
        query = Query(
            owner=caller.owner,
            session_id=asked.session_id,
            status=asked.status,
            code=asked.code,
            plugin=asked.plugin,
            before=None if asked.cursor is None else int(asked.cursor),
            limit=asked.limit,
        )
        records, cursor = await self._shelf.page(query)
        following = b"null" if cursor is None else orjson.dumps(str(cursor))
        return _json(b'{"items":[%s],"next":%s}' % (b",".join(records), following))

    async def get(self, request: Request) -> Response:
        """Return one record."""
        return _json(record_json(await self._find(request, self._access(request))))

    async def raw(self, request: Request) -> Response:
        """Return the whole result of a message that has ended."""
        message = await self._find(request, self._access(request))
        if not has_ended(message):
            raise Conflict("this message has not ended yet")
        data = raw_json(message)
        if data is None:
            raise NotFound("this message has no data")
        return _json(data)

    async def events(self, request: Request) -> Response:
        """Stream the story of one message."""
        message = await self._find(request, self._access(request))
        last = last_event_id(request)
        return message_stream(self._bus, message, after=0 if last is None else last[1])

    async def delete(self, request: Request) -> Response:
        """Cancel a message that is under way."""
        message = await self._find(request, self._access(request))
        if not isinstance(message, Live):
            raise Conflict("this message has ended already")
        self._pipeline.cancel(message)
        return _json(message.to_json(), 202)

    async def all_events(self, request: Request) -> Response:
        """Stream the events of all messages that the caller may see."""
        caller = self._access(request)
        last = last_event_id(request)
        accepts = _visible_to(caller, request.query_params.get("session_id"))
        return all_stream(self._bus, accepts, after=None if last is None else last[0])

    async def _find(self, request: Request, caller: Caller) -> Live | Entry:
        return await self._shelf.find(request.path_params["request_id"], owner=caller.owner)

    def _answer(self, receipt: Receipt, wait: _Wait) -> Response:
        message = receipt.message
        if receipt.replayed:
            return _json(record_json(message), 200, {"Idempotent-Replayed": "true", **wait.headers})
        if has_ended(message) and wait.seconds:
            return _json(record_json(message), 200, wait.headers)
        assert isinstance(message, Live)  # noqa: S101 - only a replay can be an entry
        record = message.record.to_dict()
        accepted = {
            "request_id": record["request_id"],
            "session_id": record["session_id"],
            "status": "accepted" if message.ending else record["status"],
            "ack": {"text": self._pipeline.acknowledge(message), "eta_ms": None},
            "links": record["links"],
        }
        return _json(orjson.dumps(accepted), 202, {"Location": record["links"]["self"], **wait.headers})


def _json(body: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(body, status, headers, media_type="application/json")


def _wait_of(request: Request) -> _Wait:
    asked = request.query_params.get("wait")
    if asked is None:
        found = _prefers_wait(request.headers.get("prefer", ""))
        asked = found[1] if found else "0"
    try:
        seconds = float(asked)
    except ValueError:
        seconds = -1
    if not 0 <= seconds < float("inf"):
        raise InvalidField("it must be a number of seconds from 0 to 120", field="wait")
    return _Wait(min(seconds, _LONGEST_WAIT), seconds > _LONGEST_WAIT)


async def _until_released(live: Live, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await live.released.wait()
    except TimeoutError:
        return  # the answer says how far it is


def _visible_to(caller: Caller, session_id: str | None) -> Filter:
    def accepts(published: Published) -> bool:
        if caller.owner is not None and published.owner != caller.owner:
            return False
        return session_id is None or published.event.session_id == session_id

    return accepts
