"""Finds messages again, those under way and those that have ended, for whoever may see them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from operator import attrgetter

import orjson

from hermes.dispatch.live import Live, LiveTable
from hermes.dispatch.records import raw_data
from hermes.errors import NotFound
from hermes.journal.base import Entry, Journal, Query

_UNDER_WAY = frozenset({"accepted", "awaiting_confirmation", "running"})


class Shelf:
    """Reads messages. `owner` is whose messages the reader may see, None for everybody's.

    `current` returns a message as it is under way, taking it up if an earlier process left it.
    """

    def __init__(
        self, live: LiveTable, journal: Journal, *, current: Callable[[Entry], Awaitable[Live | Entry]]
    ) -> None:
        self._live = live
        self._journal = journal
        self._take_up = current

    async def find(self, request_id: str, *, owner: str | None) -> Live | Entry:
        """Return a message; raises NotFound, also for another's."""
        live = self._live.find(request_id, owner=owner)
        if live is not None:
            return live
        entry = await self._journal.find(request_id, owner=owner)
        if entry is None:
            raise NotFound(f"there is no message {request_id!r}")
        return await self._take_up(entry)

    async def find_to_decide(self, request_id: str, *, owner: str | None) -> Live | Entry:
        """Return a message to decide about: one's own, or of another's one that needs a decision."""
        try:
            return await self.find(request_id, owner=owner)
        except NotFound:
            message = await self.find(request_id, owner=None)
            if orjson.loads(record_json(message))["confirmation"] is None:
                raise
            return message

    async def page(self, query: Query) -> tuple[list[bytes], int | None]:
        """Return records as JSON, newest first, and where the next page starts, None if this is the last."""
        kept = await self._journal.select(query)
        page: Sequence[Live | Entry] = kept
        if query.status in _UNDER_WAY:
            page = self._under_way(query, kept)
        more = len(kept) == query.limit or len(page) > query.limit
        page = page[: query.limit]
        last = page or kept
        return [self._current(one) for one in page], last[-1].id if last and more else None

    def _under_way(self, query: Query, kept: Sequence[Entry]) -> list[Live | Entry]:
        """Return what is under way in this process, and beside it what the journal alone knows of: the backlog."""
        oldest = kept[-1].id if len(kept) == query.limit else 0
        waiting = [one for one in kept if self._live.find(one.request_id, owner=one.owner) is None]
        ours = [live for live in self._live if live.kept and live.id >= oldest and query.accepts(live)]
        return sorted([*ours, *waiting], key=attrgetter("id"), reverse=True)

    def _current(self, message: Live | Entry) -> bytes:
        if isinstance(message, Live):
            return message.to_json()
        if message.finished_at is not None:
            return message.record
        live = self._live.find(message.request_id, owner=message.owner)
        return message.record if live is None else live.to_json()


def record_json(message: Live | Entry) -> bytes:
    """Return the record of a message as it is now."""
    return message.to_json() if isinstance(message, Live) else message.record


def has_ended(message: Live | Entry) -> bool:
    """Say whether the end of a message is safe."""
    return message.written is not None if isinstance(message, Live) else message.finished_at is not None


def raw_json(message: Live | Entry) -> bytes | None:
    """Return the whole data of a message that has ended, None if it has none."""
    if isinstance(message, Entry):
        return raw_data(message)
    envelope = message.record.envelope
    return None if envelope is None or envelope.data is None else orjson.dumps(envelope.data)
