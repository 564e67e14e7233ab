"""Messages that are under way: what is known of each beside its record, and the table of all of them."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from hermes.bus import MessageKey, Published
from hermes.dispatch.records import WrittenEnvelope, write_events, write_fixed, write_record
from hermes.dispatch.sentences import Locale
from hermes.dispatch.story import Story
from hermes.journal.base import Entry
from hermes.messages import PluginRef, Record, Status


@dataclass(eq=False)
class Live:
    """A message from its arrival until its end is safe.

    `origin` names the message that its chain of retries began with, as `Retries` has it, None if it is no retry. `kept` is true once the
    journal has it; `keeping`, made by who waits for that, is set when it has it or has refused it. `claimed` says that
    the journal counts the next attempt already. `parked` is there while it waits for a person's decision, and is given
    it. `calling` is true while a plugin has it, `ending` once its envelope is known. `warnings` are for its envelope.
    `digest` is there if it is not to be made of the result.
    `written` is its record as JSON once its end is safe. `recovered` says that an earlier process left it.

    `hops` counts the messages above it, each of which has sent the next. What a plugin sent has a `deadline`, on the
    clock of the event loop, and `limit` is what holds it to that while a plugin has it.
    """

    id: int
    fingerprint: bytes | None
    record: Record
    locale: Locale
    story: Story
    origin: str | None = None
    kept: bool = False
    claimed: bool = False
    keeping: asyncio.Event | None = None
    waiters: list[asyncio.Future[None]] = field(default_factory=list)
    parked: asyncio.Future[bool] | None = None
    warnings: list[str] = field(default_factory=list)
    digest: str | None = None
    written: bytes | None = None
    task: asyncio.Task[None] | None = None
    calling: bool = False
    cancelled: bool = False
    ending: bool = False
    recovered: bool = False
    hops: int = 0
    deadline: float | None = None
    limit: asyncio.Timeout | None = None

    @cached_property
    def fixed(self) -> bytes:
        """What never changes in the record, as JSON."""
        return write_fixed(self.record)

    def wait(self) -> asyncio.Future[None]:
        """Return a future that is done when the end is safe, or when Hermes stops and it will not come any more."""
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.written is not None:
            waiter.set_result(None)
        else:
            self.waiters.append(waiter)
        return waiter

    def release(self) -> None:
        """Let all who wait go on."""
        for waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None)
        self.waiters.clear()

    @property
    def key(self) -> MessageKey:
        """Owner and request_id."""
        return self.record.principal.owner, self.record.message.request_id

    @property
    def parent(self) -> MessageKey | None:
        """Owner and request_id of the message that sent it, None if it came from outside."""
        return None if self.record.parent is None else (self.owner, self.record.parent)

    @property
    def owner(self) -> str:
        """Whose it is."""
        return self.record.principal.owner

    @property
    def session_id(self) -> str:
        """The conversation it belongs to."""
        return self.record.message.session_id

    @property
    def status(self) -> Status:
        """How far it may be shown to be: not ended before that is safe."""
        if not self.ending or self.written is not None:
            return self.record.status
        if self.record.attempts:
            return "running"
        confirmation = self.record.confirmation
        was_parked = confirmation is not None and confirmation.expires_at is not None
        return "awaiting_confirmation" if was_parked else "accepted"

    @property
    def code(self) -> str | None:
        """The code of its error: none as long as it is under way."""
        return None

    @property
    def plugin(self) -> str | None:
        """The plugin that runs it."""
        return self.record.plugin.name if self.record.plugin is not None else None

    def to_json(self) -> bytes:
        """Return the record as it may be shown now: not its end before that is safe."""
        if self.written is not None:
            return self.written
        record = self.record
        if self.ending:
            record = replace(record, status=self.status, envelope=None, digest=None, finished_at=None)
        return write_record(record, self.fixed)

    @property
    def first_id(self) -> str:
        """The request_id that its chain of retries began with, its own if it is none: what makes its writes one."""
        return self.record.message.request_id if self.origin is None else self.chain.rpartition("/")[2]

    @property
    def chain(self) -> str:
        """Owner and request_id of what its chain of retries began with: one name for all of them."""
        if self.origin is not None:
            return self.origin.rpartition("@")[0]
        return f"{self.owner}/{self.record.message.request_id}"

    @property
    def began_at(self) -> float:
        """When its chain of retries began, in Unix seconds."""
        return self.record.received_at if self.origin is None else float(self.origin.rpartition("@")[2])

    @property
    def seconds_left(self) -> float:
        """How much time it has until its deadline; without one there is no end of it."""
        return math.inf if self.deadline is None else self.deadline - asyncio.get_running_loop().time()

    def prolong(self, deadline: float) -> None:
        """Give what a plugin sent more time: another run of the message that sent it waits for it."""
        if self.deadline is None or deadline <= self.deadline:
            return
        self.deadline = deadline
        if self.limit is not None and not self.limit.expired():
            self.limit.reschedule(deadline)

    def warn(self, sentence: str) -> None:
        """Have a sentence in the warning of the envelope, once."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def to_entry(
        self,
        envelope: WrittenEnvelope | None,
        *,
        claim: PluginRef | None = None,
        record: Record | None = None,
        foretold: Published | None = None,
    ) -> Entry:
        """Return what the journal is to keep: with `envelope` the end, without it the message under way.

        With `claim` it is kept as if the plugin had begun to run it: it will, at once. With `record` that is kept in
        the place of the present one, and with `foretold` an event beside those told: both are shown once they are safe.
        """
        record = record or self.record
        told = self.story.told if foretold is None else [*self.story.told, foretold]
        plugin = claim or record.plugin
        error = record.envelope.error if record.envelope is not None else None
        return Entry(
            id=self.id,
            owner=record.principal.owner,
            request_id=record.message.request_id,
            session_id=record.message.session_id,
            status="running" if claim is not None else record.status,
            code=error.code if error is not None else None,
            plugin=plugin.name if plugin is not None else None,
            origin=self.origin,
            received_at=record.received_at,
            finished_at=record.finished_at,
            fingerprint=self.fingerprint,
            record=write_record(record, self.fixed, envelope=envelope, claim=claim),
            data=envelope.apart if envelope is not None else None,
            events=write_events(told),
        )


class LiveTable:
    """All messages that are under way, by owner and request_id, in the order of their arrival."""

    def __init__(self) -> None:
        self._messages: dict[MessageKey, Live] = {}
        self._retries: set[str | None] = set()
        self._sent: dict[MessageKey, set[Live]] = {}
        self._intents: Counter[str] = Counter()
        self.size = 0
        """Bytes of JSON that came with them."""

    def __len__(self) -> int:
        return len(self._messages)

    def __iter__(self) -> Iterator[Live]:
        return iter(list(self._messages.values()))

    def add(self, live: Live) -> None:
        """Take a message in, in the place of one of the same id: what was sent again, and is about to be found to be known."""
        replaced = self._messages.get(live.key)
        self.size += len(live.fixed) - (0 if replaced is None else len(replaced.fixed))
        self._messages[live.key] = live
        self._intents[live.record.message.intent] += 1
        if replaced is not None:
            self._forget_intent(replaced)
        if live.origin is not None:
            self._retries.add(live.origin)
        if live.parent is not None:
            self._sent.setdefault(live.parent, set()).add(live)

    def remove(self, live: Live) -> None:
        """Let a message go, if it has not been replaced."""
        if self._messages.get(live.key) is live:
            del self._messages[live.key]
            self.size -= len(live.fixed)
            self._retries.discard(live.origin)
            self._forget_intent(live)
        if live.parent is not None and live.parent in self._sent:
            self._sent[live.parent].discard(live)
            if not self._sent[live.parent]:
                del self._sent[live.parent]

    def retries(self, origin: str) -> bool:
        """Say whether a retry of a message is under way."""
        return origin in self._retries

    def count(self, intents: Iterable[str]) -> int:
        """Return how many messages for these intents are under way."""
        return sum(self._intents[intent] for intent in intents)

    def _forget_intent(self, live: Live) -> None:
        intent = live.record.message.intent
        self._intents[intent] -= 1
        if not self._intents[intent]:
            del self._intents[intent]

    def sent_by(self, live: Live) -> list[Live]:
        """Return what a message has sent and is under way."""
        return list(self._sent.get(live.key, ()))

    def get(self, key: MessageKey) -> Live | None:
        """Return a message by owner and request_id."""
        return self._messages.get(key)

    def find(self, request_id: str, *, owner: str | None) -> Live | None:
        """Return a message that the journal has; with owner None the newest of that id, whoever it belongs to."""
        if owner is not None:
            found = self._messages.get((owner, request_id))
        else:
            ours = [one for (_, known), one in self._messages.items() if known == request_id]
            found = ours[-1] if ours else None
        return found if found is not None and found.kept else None
