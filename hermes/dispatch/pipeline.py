"""The way of a message: admission, routing, journal, execution, journal. It owns every message under way."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass
from typing import Literal

from hermes.bus import Bus
from hermes.deadlines import Deadlines
from hermes.dispatch.ending import Ending
from hermes.dispatch.execution import Execution
from hermes.dispatch.intake import Intake
from hermes.dispatch.keeping import make_safe
from hermes.dispatch.live import Live, LiveTable
from hermes.dispatch.outcomes import failed
from hermes.dispatch.records import read_record
from hermes.dispatch.sentences import say
from hermes.dispatch.submission import Submission
from hermes.errors import Conflict, InvalidField, JournalError, RateLimited, Unavailable
from hermes.host.host import Host
from hermes.host.manifest import Summary
from hermes.journal.base import Entry, Journal
from hermes.messages import Principal, ResultEnvelope
from hermes.observe.logs import Logs
from hermes.observe.metrics import Metrics
from hermes.routing.router import Router
from hermes.values import value

_RETRY_AFTER = 5  # seconds a refused sender is asked to wait
_RECOVERED_AT_A_TIME = 500


@dataclass(frozen=True, slots=True)
class PipelineSettings:
    """`pending` and `pending_bytes` bound the messages under way; `locale` is auto, zh or en."""

    pending: int
    pending_bytes: int
    result_bytes: int
    inline_bytes: int
    locale: Literal["auto", "zh", "en"]


@dataclass(frozen=True, slots=True)
class Rooms:
    """What the pipeline passes messages through."""

    journal: Journal
    router: Router
    host: Host
    bus: Bus
    logs: Logs
    deadlines: Deadlines
    metrics: Metrics


@value
class Receipt:
    """What became of a submission: the message under way, or the entry of one that had ended before.

    `replayed` says that the request_id was known and nothing new was accepted.
    """

    message: Live | Entry
    replayed: bool = False


class Pipeline:
    """Accepts messages and sees each to its end. What `receive` returned survives the death of the process."""

    def __init__(self, settings: PipelineSettings, rooms: Rooms) -> None:
        self.live = LiveTable()
        self._settings = settings
        self._journal = rooms.journal
        self._host = rooms.host
        self._deadlines = rooms.deadlines
        self._log = rooms.logs.log
        self._intake = Intake(
            rooms.router, rooms.host, bus=rooms.bus, lines=rooms.logs.events, locale=settings.locale
        )
        self._execution = Execution(
            rooms.host,
            result_bytes=settings.result_bytes,
            rivals=rooms.router.rivals,
            claim=self._claim,
            metrics=rooms.metrics,
        )
        self._ending = Ending(
            rooms.journal,
            inline_bytes=settings.inline_bytes,
            result_bytes=settings.result_bytes,
            log=rooms.logs.log,
            metrics=rooms.metrics,
        )
        self._accept_seconds = rooms.metrics.stage_seconds.labels("accept")
        self.stopping = False
        rooms.metrics.pending.set_function(lambda: len(self.live))

    async def receive(self, submission: Submission, principal: Principal) -> Receipt:
        """Accept a message; returns once it is safe, before it has run.

        Raises:
            Conflict: the request_id is known with another body.
            InvalidField: the payload cannot be kept as JSON.
            RateLimited, Unavailable: nothing can be accepted now.
        """
        started = time.perf_counter()
        known = await self._known(submission, principal)
        if known is not None:
            return _replayed(known, submission)
        self._admit()
        live = self._intake.open(submission, principal, entry_id=self._journal.next_id())
        older = await self._keep(live)
        if older is not None:
            return _replayed(older, submission)
        if not self.stopping:  # what is kept while Hermes stops is for the next start
            live.story.tell("TASK_RECEIVED")
            self._begin(live)
        self._accept_seconds.observe(time.perf_counter() - started)
        return Receipt(live)

    async def wait(self, live: Live, seconds: float) -> None:
        """Wait for the end of a message, at most `seconds`, and not for one that will not be begun."""
        if live.task is None:
            return
        with contextlib.suppress(TimeoutError):
            await self._deadlines.wait(live.wait(), seconds)

    def acknowledge(self, live: Live) -> str:
        """Return the first sentence for who sent a message."""
        return self._intake.acknowledge(live)

    def cancel(self, live: Live) -> None:
        """Stop a message that is under way; raises Conflict if it is past stopping."""
        if live.task is None or not live.calling:
            raise Conflict("this message has ended already")
        live.cancelled = True
        live.task.cancel()

    async def recover(self) -> int:
        """Take up what an earlier process accepted and did not end, and return how many messages that were."""
        last_id = count = 0
        while entries := await self._journal.unfinished(after=last_id, limit=_RECOVERED_AT_A_TIME):
            count += sum(map(self._take_up, entries))
            last_id = entries[-1].id
        return count

    async def stop(self, grace: float) -> None:
        """Accept nothing more, give running calls `grace` seconds, and leave the rest to the next start."""
        self.stopping = True
        tasks = {live.task for live in self.live if live.task is not None}
        for live in self.live:
            if live.task is not None and live.calling and live.record.status == "accepted":
                live.task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=grace)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for live in self.live:
            live.release()

    def _admit(self) -> None:
        if self.stopping:
            raise Unavailable("Hermes is shutting down; try again in a moment", retry_after=_RETRY_AFTER)
        if len(self.live) >= self._settings.pending or self.live.size >= self._settings.pending_bytes:
            raise RateLimited(
                f"{len(self.live)} messages are waiting already; try again later", retry_after=_RETRY_AFTER
            )

    async def _known(self, submission: Submission, principal: Principal) -> Live | None:
        """Return the message under way that has the submission's request_id, once it is safe that it has."""
        if submission.request_id is None:
            return None
        key = (principal.owner, submission.request_id)
        while (known := self.live.get(key)) is not None and not known.kept:
            known.keeping = known.keeping or asyncio.Event()
            await known.keeping.wait()
        return known

    async def _keep(self, live: Live) -> Entry | None:
        """Make a new message safe, or return the older entry that has its request_id."""
        try:
            self.live.add(live)
            claim = self._execution.foresee(live)
            live.claimed = claim is not None
            older = await self._journal.append(live.to_entry(None, claim=claim))
            live.kept = older is None
        except JournalError as error:
            raise Unavailable(error.detail) from error
        except TypeError as error:
            raise InvalidField(f"it cannot be kept as JSON: {error}", field="payload") from error
        finally:
            if not live.kept:
                self.live.remove(live)
            if live.keeping is not None:
                live.keeping.set()
        return older

    def _begin(self, live: Live) -> None:
        live.task = asyncio.get_running_loop().create_task(self._run(live))

    async def _run(self, live: Live) -> None:
        target = self._host.find(live.record.message.intent)
        try:
            if live.record.status == "running" and (target is None or not target.service.repeatable):
                envelope = _interrupted(live)
            else:
                envelope = await self._execution.settle(live)
        except Exception:  # noqa: BLE001 - the pipeline's wall: whatever goes wrong, the message ends
            self._log.exception("message_failed", request_id=live.record.message.request_id)
            envelope = failed("internal", say("internal", live.locale))
        summary = Summary() if target is None else target.plugin.manifest.summary
        await self._ending.end(live, envelope, summary=summary)
        self.live.remove(live)

    def _take_up(self, entry: Entry) -> bool:
        """Go on with a message; one that cannot be read must not keep the others, or the daemon, from starting."""
        try:
            record = read_record(entry)
        except ValueError as error:
            self._log.error("entry_unreadable", request_id=entry.request_id, reason=str(error)[:200])
            return False
        live = self._intake.reopen(record, entry_id=entry.id, fingerprint=entry.fingerprint)
        self.live.add(live)
        live.kept = True
        live.story.recall("TASK_RECEIVED", record.received_at)
        self._begin(live)
        return True

    async def _claim(self, live: Live) -> None:
        await make_safe(self._journal, live.to_entry(None), log=self._log)


def _interrupted(live: Live) -> ResultEnvelope:
    """Only an earlier process can have started it, and nobody knows how far it came."""
    warning = say("may_have_taken_effect", live.locale)
    return failed("interrupted", say("interrupted", live.locale), warning=warning)


def _replayed(known: Live | Entry, submission: Submission) -> Receipt:
    if known.fingerprint != submission.fingerprint:
        raise Conflict(f"the request_id {submission.request_id} was used before with another body")
    return Receipt(known, replayed=True)
