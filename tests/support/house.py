"""Everything between an entrance and a plugin, without the entrance: a pipeline with a real host, as data in and out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hermes.auth.policy import Caller
from hermes.bus import Bus
from hermes.deadlines import Deadlines
from hermes.dispatch.live import Live
from hermes.dispatch.once import Once
from hermes.dispatch.once_states import States
from hermes.dispatch.pipeline import Pipeline
from hermes.dispatch.reception import Receipt
from hermes.dispatch.rooms import PipelineSettings, Rooms
from hermes.dispatch.shelf import Shelf, has_ended, record_json
from hermes.dispatch.submission import Submission
from hermes.host.host import Host
from hermes.journal.base import Entry, Journal
from hermes.journal.memory import MemoryJournal
from hermes.messages import Principal
from hermes.routing.decision import Thresholds
from hermes.routing.lexicon import IntentEntry
from hermes.routing.router import Router
from hermes.stores.base import Store
from hermes.stores.memory import MemoryStore
from tests.support.bench import Bench, eventually
from tests.support.logbook import Logbook

Shown = dict[str, Any]
ME = Caller(Principal())
SETTINGS = PipelineSettings(
    pending=100,
    pending_bytes=1 << 24,
    result_bytes=1 << 20,
    inline_bytes=1 << 16,
    locale="auto",
    hops=8,
    payload_bytes=1 << 20,
)


class House(Bench):
    """A bench with a pipeline before its host. Write plugins, `open` it, and `send` messages."""

    def __init__(self, home: Path, book: Logbook) -> None:
        super().__init__(home, book)
        self.journal: Journal = MemoryJournal()
        self.store: Store = MemoryStore()
        self.spare: Store | None = None
        self.bus = Bus(on_slow=lambda: None)

    def open(self, settings: PipelineSettings = SETTINGS, **host: float) -> None:
        """Load and start the plugins, and make the pipeline; the journal is open already."""
        loaded = self.load(**host)
        router = Router(("prefix", "keyword"), Thresholds(), entries=_entries(loaded))
        once = Once(States(self.store, self.spare, ttl=1e10))
        rooms = Rooms(self.journal, router, loaded, self.bus, self.book.logs, Deadlines(), self.metrics, once)
        self.pipeline = Pipeline(settings, rooms)
        self.shelf = Shelf(self.pipeline.live, self.journal, current=self.pipeline.current)
        loaded.start()

    async def submit(
        self, text: str | None = None, intent: str | None = None, *, caller: Caller = ME, **members: Any
    ) -> Receipt:
        """Hand in a message; `members` are those of a Submission, with `request_id` its fingerprint is the body's."""
        payload = members.pop("payload", {})
        body = (
            json.dumps([text, intent, payload, members.get("retry_of")]).encode()
            if "request_id" in members
            else None
        )
        submission = Submission(text, intent, payload, received_at=1e9, fingerprint=body, **members)
        return await self.pipeline.receive(submission, caller)

    async def begin(self, text: str | None = None, intent: str | None = None, **members: Any) -> Live:
        """Hand in a new message, and return it as it is under way."""
        receipt = await self.submit(text, intent, **members)
        assert isinstance(receipt.message, Live)
        assert not receipt.replayed
        return receipt.message

    async def send(self, text: str | None = None, intent: str | None = None, **members: Any) -> Shown:
        """Hand in a new message, wait for its end, and return its record."""
        return await self.end(await self.begin(text, intent, **members))

    async def end(self, live: Live) -> Shown:
        """Wait for the end of a message and return its record."""
        await self.pipeline.wait(live, 20)
        assert has_ended(live), live.record
        return shown(live)

    def story(self, live: Live) -> list[Shown]:
        """Return the events of a message so far."""
        return [json.loads(one.body) for one in live.story.told]

    def types(self, live: Live) -> list[str]:
        """Return the types of the events of a message so far."""
        return [one.type for one in live.story.told]

    async def reached(self, live: Live, event: str) -> None:
        """Wait until a message has come as far as an event of this type."""
        await eventually(lambda: event in self.types(live))

    async def stop(self) -> None:
        """Stop the pipeline at once, then the host."""
        if hasattr(self, "pipeline"):
            await self.pipeline.stop(0)
        await super().stop()


def shown(message: Live | Entry) -> Shown:
    """Return the record of a message as it is shown now."""
    record: Shown = json.loads(record_json(message))
    return record


def _entries(host: Host) -> list[IntentEntry]:
    entries = []
    for target in host.targets:
        intent, name = target.service.intent, target.plugin.manifest.name
        entries.append(
            IntentEntry(intent.name, name, intent.keywords, priority=intent.priority, writes=intent.writes)
        )
    return entries
