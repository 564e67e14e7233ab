"""Takes messages in: what was sent before is found again, what there is room for is kept. It runs nothing."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from hermes.auth.policy import Caller
from hermes.dispatch.confirmations import Confirmations
from hermes.dispatch.conversation import Conversation, Resumption
from hermes.dispatch.execution import Execution
from hermes.dispatch.intake import Intake
from hermes.dispatch.live import Live, LiveTable
from hermes.dispatch.questions import CLOSING, goes_on
from hermes.dispatch.retries import Retried, Retries
from hermes.dispatch.submission import Submission
from hermes.errors import Conflict, InvalidField, JournalError, RateLimited, Unavailable
from hermes.host.host import Host
from hermes.journal.base import Entry, Journal
from hermes.values import value

_RETRY_AFTER = 5  # seconds a refused sender is asked to wait


@value
class Receipt:
    """What became of a submission: the message under way, or the entry of one that had ended before.

    `replayed` says that the request_id was known and nothing new was accepted.
    """

    message: Live | Entry
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Desk:
    """What a reception works with."""

    journal: Journal
    host: Host
    live: LiveTable
    intake: Intake
    execution: Execution
    confirmations: Confirmations
    conversation: Conversation


class Reception:
    """Accepts messages; `pending` and `pending_bytes` bound how much may be under way, `plugin_queue` what waits for one
    plugin beyond what it runs at a time.
    """

    def __init__(self, desk: Desk, *, pending: int, pending_bytes: int, plugin_queue: int) -> None:
        self._desk = desk
        self._live = desk.live
        self._journal = desk.journal
        self._retries = Retries(desk.live, desk.journal)
        self._pending = pending
        self._pending_bytes = pending_bytes
        self._plugin_queue = plugin_queue
        self.closed = False
        """True once nothing is taken in from outside any more; what runs then may still send."""
        self.over = False
        """True once nothing at all is taken in any more."""

    async def receive(self, submission: Submission, caller: Caller) -> Receipt:
        """Keep a message; returns once it is safe.

        Raises:
            Conflict: the request_id is known with another body, or what is to be tried again has not failed.
            NotFound: what is to be tried again does not exist.
            InvalidField: the payload cannot be kept as JSON.
            RateLimited, Unavailable: nothing can be accepted now.
        """
        try:
            return await self._receive(submission, caller)
        except JournalError as error:
            raise Unavailable(error.detail) from error

    async def _receive(self, submission: Submission, caller: Caller) -> Receipt:
        known = await self._under_way(submission, caller)
        if known is not None:
            return _replayed(known, submission)
        resumed = await self._desk.conversation.read(submission, caller)
        retried = None
        if submission.again or resumed is not None:
            ended = await self._ended(submission, caller)
            if ended is not None:
                return _replayed(ended, submission)
        if submission.again:
            retried = await self._retries.find(submission, caller)
        known = await self._under_way(submission, caller)  # it may have come meanwhile
        if known is not None:
            return _replayed(known, submission)
        self._admit(submission, retried)
        if resumed is not None and not self._desk.conversation.questions.take(resumed.key, resumed.question):
            resumed = None  # another answer was first, or the question has been closed
        try:
            return await self._accept(submission, caller, retried=retried, resumed=resumed)
        finally:
            if resumed is not None:  # it is taken for good by what was kept, and comes back for nothing else
                self._desk.conversation.questions.give_back(resumed.key, resumed.question)

    async def _accept(
        self, submission: Submission, caller: Caller, *, retried: Retried | None, resumed: Resumption | None
    ) -> Receipt:
        live = self._desk.intake.open(
            submission,
            caller.principal,
            entry_id=self._journal.next_id(),
            retried=retried,
            resumed=resumed,
        )
        self._queue_up(live)
        older = await self._keep(live, caller if submission.approve else None)
        if older is not None:
            return _replayed(older, submission)
        if goes_on(live.record) and live.record.message.intent not in CLOSING:
            self._desk.conversation.questions.supersede((live.owner, live.session_id), live.id)
        return Receipt(live)

    def _admit(self, submission: Submission, retried: Retried | None) -> None:
        if self.over or (self.closed and submission.sent is None):
            raise Unavailable("Hermes is shutting down; try again in a moment", retry_after=_RETRY_AFTER)
        count = len(self._live)
        if count >= self._pending and count < 2 * self._pending:
            # Those wait for people, and nobody for them.
            count -= sum(live.parked is not None for live in self._live)
        full = count >= self._pending
        if full and self._desk.intake.is_word(submission):
            # Who is told that too much is under way must be able to ask what, and to stop it.
            full = count >= 2 * self._pending
        if full or self._live.size >= self._pending_bytes:
            raise RateLimited(
                f"{count} messages are waiting already; try again later", retry_after=_RETRY_AFTER
            )
        if retried is not None:
            self._retries.hold(retried)

    def _queue_up(self, live: Live) -> None:
        """Raise RateLimited if too many messages wait for the plugin of this one already."""
        target = self._desk.host.find(live.record.message.intent)
        if target is None:
            return
        intents, room = target.plugin.services, self._plugin_queue + self._desk.host.capacity(target)
        count = self._live.count(intents)
        if count >= room:  # those that wait for people wait for no plugin
            parked = (one for one in self._live if one.parked is not None)
            count -= sum(one.record.message.intent in intents for one in parked)
        if count >= room:
            name = target.plugin.manifest.name
            raise RateLimited(
                f"{count} messages for {name} are waiting already; try again later", retry_after=_RETRY_AFTER
            )

    async def _under_way(self, submission: Submission, caller: Caller) -> Live | None:
        """Return the message under way that has the submission's request_id, once it is safe that it has."""
        if submission.request_id is None:
            return None
        key = (caller.principal.owner, submission.request_id)
        while (known := self._live.get(key)) is not None and not known.kept:
            known.keeping = known.keeping or asyncio.Event()
            await known.keeping.wait()
        return known

    async def _ended(self, submission: Submission, caller: Caller) -> Entry | None:
        """Return the entry that has the submission's request_id: a retry that is known asks for nothing new."""
        if submission.request_id is None:
            return None
        return await self._journal.find(submission.request_id, owner=caller.principal.owner)

    async def _keep(self, live: Live, approver: Caller | None) -> Entry | None:
        """Make a new message safe, or return the older entry that has its request_id."""
        try:
            self._live.add(live)
            if approver is not None:
                await self._agree(live, approver)
            claim = self._desk.execution.foresee(live)
            live.claimed = claim is not None
            older = await self._journal.append(live.to_entry(None, claim=claim))
            live.kept = older is None
        except TypeError as error:
            raise InvalidField(f"it cannot be kept as JSON: {error}", field="payload") from error
        finally:
            if not live.kept:
                self._live.remove(live)
            if live.keeping is not None:
                live.keeping.set()
        return older

    async def _agree(self, live: Live, approver: Caller) -> None:
        target = self._desk.host.find(live.record.message.intent)
        if target is not None:
            await self._desk.confirmations.agree_beforehand(live, target, caller=approver)


def _replayed(known: Live | Entry, submission: Submission) -> Receipt:
    if known.fingerprint != submission.fingerprint:
        if submission.sent is not None:
            raise Conflict(f"{submission.request_id} was sent before with another intent or payload")
        raise Conflict(f"the request_id {submission.request_id} was used before with another body")
    return Receipt(known, replayed=True)
