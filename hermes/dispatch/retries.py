"""Running failed work again: finds what a retry is of, and holds that one of a chain runs at a time."""

from __future__ import annotations

from hermes.auth.policy import Caller
from hermes.dispatch.lineage import Sent
from hermes.dispatch.live import LiveTable
from hermes.dispatch.records import read_record
from hermes.dispatch.submission import Submission
from hermes.errors import Conflict, NotFound
from hermes.journal.base import Entry, Journal, Query
from hermes.messages import Record
from hermes.values import value


class UnderWay(Conflict):
    """Another message of the same chain of retries has not ended yet."""


@value
class Retried:
    """What is tried again: its id and the origin of the chain of retries that it belongs to.

    An origin is `<owner>/<request_id>@<received_at>` of the message that the chain began with. `record` is None for
    what a plugin sends again: that says itself what it is.
    """

    request_id: str
    origin: str
    record: Record | None = None


class Retries:
    """Looks up what may be tried again."""

    def __init__(self, live: LiveTable, journal: Journal) -> None:
        self._live = live
        self._journal = journal

    async def find(self, submission: Submission, caller: Caller) -> Retried:
        """Return what a submission of a chain of retries is of.

        Raises:
            NotFound: there is no such message, or it is another's.
            Conflict: it has not failed. UnderWay: another retry of it has not ended.
        """
        if submission.sent is not None:
            retried = await self._sent_before(submission.sent)
        else:
            retried = await self._failed(submission.retry_of or "", caller)
        newest = await self._journal.select(Query(origin=retried.origin, limit=1))
        mine = (caller.principal.owner, submission.request_id)
        for one in newest:
            if one.finished_at is None and (one.owner, one.request_id) != mine:
                raise _under_way(retried.request_id, one.request_id)
        return retried

    def hold(self, retried: Retried) -> None:
        """Raise UnderWay if another retry of the chain is under way."""
        if self._live.retries(retried.origin):
            raise _under_way(retried.request_id)

    async def _failed(self, retry_of: str, caller: Caller) -> Retried:
        entry = await self._journal.find(retry_of, owner=caller.sees)
        if entry is None:
            raise NotFound(f"there is no message {retry_of!r}")
        if entry.status != "failed":
            how = "succeeded" if entry.status == "succeeded" else "not ended yet"
            raise Conflict(f"only what has failed can be tried again; the message {retry_of} has {how}")
        return Retried(retry_of, _origin(entry), read_record(entry))

    async def _sent_before(self, sent: Sent) -> Retried:
        """Return what the first of the retries of a message sent in this place, however that ended; it may have sent nothing."""
        owner, _, first_parent = sent.parent.chain.rpartition("/")
        entry = await self._journal.find(sent.first_id, owner=owner)
        if entry is None:
            return Retried(sent.first_id, f"{owner}/{sent.first_id}@{sent.parent.began_at:.3f}")
        if read_record(entry).parent != first_parent:
            raise Conflict(f"{sent.first_id} is the id of another message")
        if entry.finished_at is None:
            raise UnderWay(f"{sent.first_id}, which an earlier try sent, is under way still")
        return Retried(sent.first_id, _origin(entry))


def _origin(entry: Entry) -> str:
    return entry.origin or f"{entry.owner}/{entry.request_id}@{entry.received_at:.3f}"


def _under_way(request_id: str, retry: str | None = None) -> UnderWay:
    which = "" if retry is None else f": {retry}, which may wait for a confirmation"
    return UnderWay(f"a retry of {request_id} is under way already{which}")
