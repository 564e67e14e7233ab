"""Calls that need a person's consent: parks them, lets who may decide, and lets each decision count once.

Whatever goes wrong in finding out whether somebody may decide means that they may not.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from dataclasses import replace
from typing import Protocol

from hermes.auth.policy import Caller, may_decide
from hermes.dispatch.keeping import make_safe
from hermes.dispatch.live import Live
from hermes.dispatch.outcomes import failed
from hermes.dispatch.sentences import say
from hermes.errors import AlreadyDecided, Conflict, Expired, Forbidden, JournalError, Unavailable
from hermes.host.host import Target
from hermes.host.manifests.manifest import Confirm
from hermes.journal.base import Journal
from hermes.messages import Confirmation, Principal, Record, ResultEnvelope
from hermes.observe.logs import Logger


class Check(Protocol):
    """Says whether a caller may decide what the asker asked for; nothing but True is a yes."""

    def __call__(self, confirmation: Confirmation, asker: Principal, *, caller: Caller) -> Awaitable[bool]:
        """Say so."""


_CHECKED_WITHIN = 5.0  # seconds
_LOOK_AGAIN = 0.05  # seconds between looks at a decision that is being made safe while its time runs out


class Confirmations:
    """Asks for consent and takes it. What was decided is safe before it has an effect."""

    def __init__(
        self,
        journal: Journal,
        *,
        log: Logger,
        check: Check = may_decide,
        checked_within: float = _CHECKED_WITHIN,
    ) -> None:
        self._journal = journal
        self._log = log
        self._check = check
        self._checked_within = checked_within
        self._deciding: set[Live] = set()

    async def agree_beforehand(self, live: Live, target: Target, *, caller: Caller) -> None:
        """Take a sender's word given with the message, if the sender is one who may decide."""
        if target.service.intent.confirm is None:
            return
        asked = _ask(live.record, target)
        if await self._may(asked, live.record, caller=caller):
            live.record.confirmation = replace(
                asked,
                expires_at=None,
                approved=True,
                decided_by=caller.principal,
                decided_at=live.record.received_at,
            )

    def given(self, live: Live, target: Target) -> bool:
        """Say whether a call may run: it needs no consent, or has it. Who was asked once has the last word."""
        confirmation = live.record.confirmation
        if confirmation is None:
            return target.service.intent.confirm is None
        return confirmation.approved is True and confirmation.plugin == target.plugin.manifest.name

    async def consent(self, live: Live, target: Target) -> ResultEnvelope | None:
        """Wait for the consent to a call; return why it must not run, or None once it may."""
        if live.record.confirmation is None:
            await self._park(live, _ask(live.record, target))
        confirmation = live.record.confirmation
        if confirmation is None or confirmation.plugin != target.plugin.manifest.name:
            return failed("confirmation_expired", say("confirmation_changed", live.locale))
        approved = confirmation.approved
        if approved is None:
            approved = await self._decision(live, confirmation.expires_at or 0.0)
        if approved is True:
            return None
        if live.cancelled:
            return failed("cancelled", say("cancelled", live.locale))
        if approved is False:
            return failed("declined", say("declined", live.locale))
        return failed("confirmation_expired", say("confirmation_expired", live.locale))

    def resume(self, live: Live) -> None:
        """Take decisions, from now on, about a message that an earlier process left waiting for one."""
        confirmation = live.record.confirmation
        if confirmation is not None and confirmation.approved is None:
            live.parked = asyncio.get_running_loop().create_future()

    def is_open(self, live: Live) -> bool:
        """Say whether a message waits for a decision and nobody is about to make one."""
        waits = live.parked is not None and not live.parked.done() and not live.ending
        return waits and live not in self._deciding

    def cancel(self, live: Live) -> None:
        """Let a message that waits for a decision wait no more."""
        if live.parked is not None:
            live.parked.cancel()

    async def decide(self, live: Live, caller: Caller, *, approve: bool) -> None:
        """Take a decision; returns once it is safe.

        Raises:
            Conflict: the message needs no decision. AlreadyDecided: it has been made.
            Forbidden: it is not the caller's. Expired: the time for it is over. Unavailable: it cannot be kept now.
        """
        confirmation = await self.refuse(live.record, caller)
        if not self.is_open(live):
            raise AlreadyDecided("this has been decided already, or is being decided")
        decided = replace(confirmation, approved=approve, decided_by=caller.principal, decided_at=time.time())
        self._deciding.add(live)
        try:
            await self._journal.claim(live.to_entry(None, record=replace(live.record, confirmation=decided)))
        except JournalError as error:
            raise Unavailable(f"the decision cannot be kept: {error.detail}") from error
        finally:
            self._deciding.discard(live)
        live.record.confirmation = decided
        self._log.info(
            "confirmation_decided",
            request_id=live.record.message.request_id,
            approved=approve,
            decided_by=caller.principal.owner,
            person=caller.principal.person,
        )
        if live.parked is not None and not live.parked.done():  # else the next start finds it decided
            live.parked.set_result(approve)

    async def refuse(self, record: Record, caller: Caller) -> Confirmation:
        """Return the open confirmation of a record, or raise why the caller cannot decide it."""
        confirmation = record.confirmation
        if confirmation is None:
            raise Conflict("this message needs no confirmation")
        if not await self._may(confirmation, record, caller=caller):
            raise Forbidden("this is for somebody else to decide")
        if confirmation.approved is not None:
            raise AlreadyDecided(
                f"this has been {'approved' if confirmation.approved else 'declined'} already"
            )
        error = record.envelope.error if record.envelope is not None else None
        if error is not None and error.code != "confirmation_expired":
            raise Conflict("this message has ended already")
        if error is not None or time.time() >= (confirmation.expires_at or 0.0):
            raise Expired("the time to decide this is over; send it again")
        return confirmation

    async def _park(self, live: Live, confirmation: Confirmation) -> None:
        """Let a message wait, and tell that it does once that is safe."""
        record, number = live.record, live.story.next_number()
        question = {
            "text": say("confirm", live.locale, intent=confirmation.intent),
            "stage": "awaiting_confirmation",
            "confirmation": confirmation,
        }
        foretold = live.story.compose("PROGRESS", question, number=number)
        parked = replace(record, status="awaiting_confirmation", confirmation=confirmation)
        entry = live.to_entry(None, record=parked, foretold=foretold)
        await make_safe(self._journal.claim, entry, log=self._log)
        record.status, record.confirmation = "awaiting_confirmation", confirmation
        live.parked = asyncio.get_running_loop().create_future()
        live.story.tell("PROGRESS", number=number, **question)
        live.release()

    async def _decision(self, live: Live, expires_at: float) -> bool | None:
        """Return what somebody decides; None if the time is over before, or the message is cancelled."""
        parked = live.parked = live.parked or asyncio.get_running_loop().create_future()
        try:
            while not parked.done():
                left = expires_at - time.time()
                if left <= 0 and self.is_open(live):
                    return None
                await asyncio.wait((parked,), timeout=max(left, _LOOK_AGAIN))
            return parked.result()
        except asyncio.CancelledError:
            if not live.cancelled:
                raise
            return None
        finally:
            live.parked = None

    async def _may(self, confirmation: Confirmation, record: Record, *, caller: Caller) -> bool:
        try:
            async with asyncio.timeout(self._checked_within):
                return await self._check(confirmation, record.principal, caller=caller) is True
        except Exception:  # noqa: BLE001 - a check that fails is a no
            self._log.exception("confirmation_check_failed", request_id=record.message.request_id)
            return False


def _ask(record: Record, target: Target) -> Confirmation:
    confirm = target.service.intent.confirm or Confirm()
    return Confirmation(
        intent=target.service.intent.name,
        plugin=target.plugin.manifest.name,
        payload=record.message.payload,
        expires_at=time.time() + confirm.expires,
        by=confirm.by,
        other_than_asker=confirm.other_than_asker,
    )
