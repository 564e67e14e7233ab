"""Reading and cancelling messages: records, raw results and event streams."""

from __future__ import annotations

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hermes.auth.policy import Caller
from hermes.bus import Bus, Filter, Published
from hermes.dispatch.live import Live
from hermes.dispatch.pipeline import Pipeline
from hermes.dispatch.shelf import Shelf, has_ended, raw_json, record_json
from hermes.errors import Conflict, NotFound
from hermes.gateway.access import Access
from hermes.gateway.bodies import ConfirmBody, MessageQuery, check, read_json
from hermes.gateway.head import Head
from hermes.gateway.streams import all_stream, last_event_id, message_stream
from hermes.journal.base import Entry, Query


class Messages:
    """The handlers of messages that exist; bodies may have at most `body_bytes`."""

    def __init__(
        self, pipeline: Pipeline, shelf: Shelf, *, bus: Bus, access: Access, body_bytes: int
    ) -> None:
        self._body_bytes = body_bytes
        self._pipeline = pipeline
        self._shelf = shelf
        self._bus = bus
        self._access = access

    @property
    def routes(self) -> list[Route]:
        """The paths that are served here."""
        one = "/v1/messages/{request_id}"
        return [
            Route("/v1/messages", self.select, methods=["GET"]),
            Route(one, self.get, methods=["GET"]),
            Route(one, self.delete, methods=["DELETE"]),
            Route(one + "/confirm", self.confirm, methods=["POST"]),
            Route(one + "/raw", self.raw, methods=["GET"]),
            Route(one + "/events", self.events, methods=["GET"]),
            Route("/v1/events", self.all_events, methods=["GET"]),
        ]

    async def select(self, request: Request) -> Response:
        """List records, newest first."""
        head = Head.of(request)
        caller = self._access(head)
        asked = check(MessageQuery, head.query(*MessageQuery.model_fields))
        query = Query(
            owner=caller.sees,
            session_id=asked.session_id,
            status=asked.status,
            code=asked.code,
            plugin=asked.plugin,
            before=asked.cursor,
            limit=asked.limit,
        )
        records, cursor = await self._shelf.page(query)
        following = b"null" if cursor is None else orjson.dumps(str(cursor))
        return _json(b'{"items":[%s],"next":%s}' % (b",".join(records), following))

    async def get(self, request: Request) -> Response:
        """Return one record."""
        _, message = await self._find(request)
        return _json(record_json(message))

    async def raw(self, request: Request) -> Response:
        """Return the whole result of a message that has ended."""
        _, message = await self._find(request)
        if not has_ended(message):
            raise Conflict("this message has not ended yet")
        data = raw_json(message)
        if data is None:
            raise NotFound("this message has no data")
        return _json(data)

    async def events(self, request: Request) -> Response:
        """Stream the story of one message."""
        head, message = await self._find(request)
        last = last_event_id(head)
        return message_stream(self._bus, message, after=last or 0)

    async def delete(self, request: Request) -> Response:
        """Cancel a message that is under way."""
        _, message = await self._find(request)
        if not isinstance(message, Live):
            raise Conflict("this message has ended already")
        self._pipeline.cancel(message)
        return _json(message.to_json(), 202)

    async def confirm(self, request: Request) -> Response:
        """Decide a call that waits for it."""
        head = Head.of(request)
        caller = self._access(head)
        head.query()
        body = check(ConfirmBody, await read_json(head, request.receive, limit=self._body_bytes))
        message = await self._shelf.find_to_decide(request.path_params["request_id"], owner=caller.sees)
        await self._pipeline.confirm(message, caller, approve=body.approve)
        return _json(record_json(message))

    async def all_events(self, request: Request) -> Response:
        """Stream the events of all messages that the caller may see."""
        head = Head.of(request)
        caller = self._access(head)
        accepts = _visible_to(caller, head.query("session_id").get("session_id"))
        return all_stream(self._bus, accepts, after=last_event_id(head))

    async def _find(self, request: Request) -> tuple[Head, Live | Entry]:
        head = Head.of(request)
        caller = self._access(head)
        head.query()
        return head, await self._shelf.find(request.path_params["request_id"], owner=caller.sees)


def _json(body: bytes, status: int = 200) -> Response:
    return Response(body, status, media_type="application/json")


def _visible_to(caller: Caller, session_id: str | None) -> Filter:
    def accepts(published: Published) -> bool:
        if caller.sees is not None and published.owner != caller.sees:
            return False
        return session_id is None or published.session_id == session_id

    return accepts
