"""The way of a message: admission, routing, journal, execution, journal. It owns every message under way."""

from __future__ import annotations

import asyncio
import contextlib
import time

from hermes.auth.policy import Caller, may_use
from hermes.dispatch.backlog import Backlog
from hermes.dispatch.cancels import Cancels
from hermes.dispatch.confirmations import Confirmations
from hermes.dispatch.conversation import Conversation
from hermes.dispatch.ending import Ending
from hermes.dispatch.execution import Execution, Parts
from hermes.dispatch.intake import Intake
from hermes.dispatch.keeping import make_safe
from hermes.dispatch.live import Live, LiveTable
from hermes.dispatch.outcomes import failed
from hermes.dispatch.questions import Questions
from hermes.dispatch.reception import Desk, Receipt, Reception
from hermes.dispatch.records import read_events, read_record
from hermes.dispatch.rooms import PipelineSettings, Rooms
from hermes.dispatch.sends import Sends, given_up
from hermes.dispatch.sentences import say
from hermes.dispatch.submission import Submission
from hermes.dispatch.under_way import UnderWay
from hermes.dispatch.vocabulary import Vocabulary
from hermes.dispatch.words.base import Surroundings
from hermes.errors import RateLimited, Unavailable
from hermes.host.manifests.manifest import Summary
from hermes.journal.base import Entry
from hermes.messages import ResultEnvelope

_DECLINED_WITHIN = (
    5.0  # seconds that the end of a declined call may take to be safe before its decider hears of it
)


class Pipeline:
    """Accepts messages and sees each to its end. What `receive` returned survives the death of the process."""

    def __init__(self, settings: PipelineSettings, rooms: Rooms) -> None:
        self.live = LiveTable()
        self._journal = rooms.journal
        self._host = rooms.host
        self._deadlines = rooms.deadlines
        self._log = rooms.logs.log
        self._metrics = rooms.metrics
        self.words = self._vocabulary(rooms)
        self._intake = self._make_intake(settings, rooms)
        self._confirmations = Confirmations(rooms.journal, log=self._log)
        self._cancels = Cancels(self.live, self._confirmations)
        self._conversation = Conversation(
            rooms.journal, rooms.host, router=rooms.router, log=self._log, is_word=self.words.includes
        )
        self._sends = Sends(self._send, stop=self._cancels.give_up, payload_bytes=settings.payload_bytes)
        self._execution = Execution(
            self._parts(rooms),
            result_bytes=settings.result_bytes,
            hops=settings.hops,
            metrics=rooms.metrics,
        )
        self._ending = Ending(
            rooms.journal,
            ended=self._conversation.recall.ask,
            inline_bytes=settings.inline_bytes,
            result_bytes=settings.result_bytes,
            log=rooms.logs.log,
            metrics=rooms.metrics,
        )
        parts = (self._intake, self._execution, self._confirmations, self._conversation)
        self._reception = Reception(
            Desk(rooms.journal, rooms.host, self.live, *parts),
            pending=settings.pending,
            pending_bytes=settings.pending_bytes,
            plugin_queue=settings.plugin_queue,
        )
        self.backlog = Backlog(rooms.journal, rooms.host, take_up=self._take_up, log=self._log)
        self._accept_seconds = rooms.metrics.stage_seconds.labels("accept")
        rooms.metrics.pending.set_function(lambda: len(self.live))

    def _make_intake(self, settings: PipelineSettings, rooms: Rooms) -> Intake:
        return Intake(
            rooms.router,
            rooms.host,
            words=self.words,
            bus=rooms.bus,
            lines=rooms.logs.events,
            locale=settings.locale,
        )

    def _parts(self, rooms: Rooms) -> Parts:
        return Parts(
            rooms.host,
            self._confirmations,
            rooms.once,
            self._sends,
            rooms.router.rivals,
            self._claim,
            self.words,
        )

    def _vocabulary(self, rooms: Rooms) -> Vocabulary:
        under_way = UnderWay(
            self.live,
            rooms.journal,
            current=self.current,
            cancel=self.cancel,
            left=lambda: self.backlog.waiting,
        )
        return Vocabulary(
            Surroundings(
                host=rooms.host,
                under_way=under_way.of,
                stop=under_way.stop,
                questions=lambda: self.questions,
                forget=_forget_session,
                may_use=may_use,
                words=tuple,
            )
        )

    @property
    def questions(self) -> Questions:
        """The questions that are open."""
        return self._conversation.questions

    @property
    def stopping(self) -> bool:
        """Say whether nothing is accepted any more."""
        return self._reception.closed

    async def receive(self, submission: Submission, caller: Caller) -> Receipt:
        """Accept a message; returns once it is safe, before it has run. Raises what `Reception.receive` does."""
        started = time.perf_counter()
        try:
            receipt = await self._reception.receive(submission, caller)
        except (RateLimited, Unavailable) as refusal:
            self._metrics.messages_refused.labels(refusal.code).inc()
            raise
        if receipt.replayed:
            return Receipt(await self.current(receipt.message), replayed=True)
        live = receipt.message
        # What is kept while Hermes stops is for the next start, unless somebody that runs waits for it.
        stopping = self._reception.over if submission.sent is not None else self.stopping
        if isinstance(live, Live) and not stopping:
            live.story.tell("TASK_RECEIVED")
            self._begin(live)
        self._accept_seconds.observe(time.perf_counter() - started)
        return receipt

    async def current(self, message: Live | Entry) -> Live | Entry:
        """Return a message as it is now; if an earlier process left it and its turn has not come, it has now."""
        if isinstance(message, Live) or message.finished_at is not None:
            return message
        live = self.backlog.ask_for(message)
        if live is not None:
            await asyncio.sleep(0)  # its task takes its first step: now it can be cancelled
            return live
        live = self.live.get((message.owner, message.request_id))
        if live is not None:
            return live
        # It has ended since it was read.
        return await self._journal.find(message.request_id, owner=message.owner) or message

    async def wait(self, live: Live, seconds: float) -> None:
        """Wait for the end of a message, at most `seconds`; not for a person's decision, or for what is not begun."""
        if live.task is None or live.task.done() or self._confirmations.is_open(live):
            return
        with contextlib.suppress(TimeoutError):
            await self._deadlines.wait(live.wait(), seconds)

    def acknowledge(self, live: Live) -> str:
        """Return the first sentence for who sent a message."""
        return self._intake.acknowledge(live)

    def cancel(self, live: Live) -> None:
        """Stop a message that is under way; raises Conflict if it is past stopping."""
        self._cancels.cancel(live)

    async def confirm(self, message: Live | Entry, caller: Caller, *, approve: bool) -> None:
        """Decide a call that waits for it; returns once that is safe, and of a declined one its end too.

        Raises what `Confirmations.decide` does.
        """
        if isinstance(message, Entry) or self.stopping:
            record = read_record(message) if isinstance(message, Entry) else message.record
            await self._confirmations.refuse(record, caller)
            raise Unavailable("Hermes is shutting down; try again in a moment")
        await self._confirmations.decide(message, caller, approve=approve)
        if not approve:
            with contextlib.suppress(TimeoutError):
                await self._deadlines.wait(message.wait(), _DECLINED_WITHIN)

    async def recover(self) -> int:
        """Begin to take up what an earlier process accepted and did not end, and return how many messages that are."""
        count = await self.backlog.open()
        self.backlog.start()
        self._conversation.recall.start()
        return count

    async def stop(self, grace: float) -> None:
        """Accept nothing more, give running calls `grace` seconds, and leave the rest to the next start."""
        self._reception.closed = True
        await self._conversation.recall.stop()
        await self.backlog.stop()
        for live in self.live:
            waits = live.calling or live.parked is not None
            needed = live.parent is not None and self.live.get(live.parent) is not None
            if live.task is not None and waits and not needed and live.record.status != "running":
                live.task.cancel()
        end = asyncio.get_running_loop().time() + grace
        while (tasks := self._tasks()) and (left := end - asyncio.get_running_loop().time()) > 0:
            await asyncio.wait(tasks, timeout=left)
        self._reception.over = True
        tasks = self._tasks()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for live in self.live:
            live.release()

    def _tasks(self) -> set[asyncio.Task[None]]:
        return {live.task for live in self.live if live.task is not None and not live.task.done()}

    async def _send(self, submission: Submission, caller: Caller) -> Live | Entry:
        """Take in what a plugin sends, and return that message as it is now; raises what `receive` does."""
        return (await self.receive(submission, caller)).message

    def _begin(self, live: Live) -> None:
        live.task = asyncio.get_running_loop().create_task(self._run(live))

    async def _run(self, live: Live) -> None:
        target = self._host.find(live.record.message.intent)
        try:
            if live.record.status == "running" and (target is None or not target.service.repeatable):
                envelope = _interrupted(live)
            elif live.recovered and await given_up(live, self.live, journal=self._journal):
                envelope = failed("cancelled", say("cancelled", live.locale))
            else:
                envelope = await self._execution.settle(live)
        except Exception:  # noqa: BLE001 - the pipeline's wall: whatever goes wrong, the message ends
            self._log.exception("message_failed", request_id=live.record.message.request_id)
            envelope = failed("internal", say("internal", live.locale))
        summary = Summary() if target is None else target.plugin.manifest.summary
        await self._ending.end(live, envelope, summary=summary)
        self.live.remove(live)

    def _take_up(self, entry: Entry) -> Live | None:
        """Go on with a message; one that cannot be read must not keep the others, or the daemon, from starting."""
        try:
            live = self._intake.reopen(
                read_record(entry), entry_id=entry.id, fingerprint=entry.fingerprint, origin=entry.origin
            )
            live.story.recall(read_events(entry))
            if live.plugin is not None:
                live.story.set_plugin(live.plugin)
        except (ValueError, TypeError, KeyError, AttributeError) as error:  # events may be anything
            self._log.error("entry_unreadable", request_id=entry.request_id, reason=str(error)[:200])
            return None
        self.live.add(live)
        live.kept = live.recovered = True
        self._confirmations.resume(live)
        self._begin(live)
        return live

    async def _claim(self, live: Live) -> None:
        await make_safe(self._journal.claim, live.to_entry(None), log=self._log)


async def _forget_session(_owner: str, _session_id: str) -> None:
    """Forget a session: beside its question nothing of it is kept."""


def _interrupted(live: Live) -> ResultEnvelope:
    """Only an earlier process can have started it, and nobody knows how far it came."""
    warning = say("may_have_taken_effect", live.locale)
    return failed("interrupted", say("interrupted", live.locale), warning=warning)
