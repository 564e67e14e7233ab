"""Running failed work again: finds what a retry is of, and holds that one of a chain runs at a time."""

from __future__ import annotations

from hermes.auth.policy import Caller
from hermes.dispatch.live import LiveTable
from hermes.dispatch.records import read_record
from hermes.errors import Conflict, NotFound
from hermes.journal.base import Journal, Query
from hermes.messages import Record
from hermes.values import value


@value
class Retried:
    """The message that is tried again, and the origin of the chain of retries that it belongs to.

    An origin is `<owner>/<request_id>@<received_at>` of the message that the chain began with.
    """

    record: Record
    origin: str


class Retries:
    """Looks up what may be tried again."""

    def __init__(self, live: LiveTable, journal: Journal) -> None:
        self._live = live
        self._journal = journal

    async def find(self, retry_of: str, caller: Caller, *, request_id: str | None) -> Retried:
        """Return what a retry that is to be called `request_id` is of.

        Raises:
            NotFound: there is no such message, or it is another's.
            Conflict: it has not failed, or another retry of it is under way.
        """
        entry = await self._journal.find(retry_of, owner=caller.sees)
        if entry is None:
            raise NotFound(f"there is no message {retry_of!r}")
        if entry.status != "failed":
            how = "succeeded" if entry.status == "succeeded" else "not ended yet"
            raise Conflict(f"only what has failed can be tried again; the message {retry_of} has {how}")
        origin = entry.origin or f"{entry.owner}/{entry.request_id}@{entry.received_at:.3f}"
        newest = await self._journal.select(Query(origin=origin, limit=1))
        mine = (caller.principal.owner, request_id)
        for one in newest:
            if one.finished_at is None and (one.owner, one.request_id) != mine:
                raise _under_way(retry_of, one.request_id)
        return Retried(read_record(entry), origin)

    def hold(self, retried: Retried) -> None:
        """Raise Conflict if another retry of the chain is under way."""
        if self._live.retries(retried.origin):
            raise _under_way(retried.record.message.request_id)


def _under_way(request_id: str, retry: str | None = None) -> Conflict:
    which = "" if retry is None else f": {retry}, which may wait for a confirmation"
    return Conflict(f"a retry of {request_id} is under way already{which}")
