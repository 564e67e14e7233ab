"""Messages that an earlier process accepted and did not end, in a journal whose reader can be made slow, or fail."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from hermes.dispatch.records import write_fixed, write_record
from hermes.errors import JournalError
from hermes.journal.base import Entry
from hermes.journal.memory import MemoryJournal
from hermes.messages import Confirmation, Decision, HermesMessage, Principal, Record


class Leftovers(MemoryJournal):
    """A journal in memory. `finds` and `replays` hold back what was read as long as they are cleared; `broken` fails it."""

    def __init__(self) -> None:
        super().__init__()
        self.finds = asyncio.Event()
        self.replays = asyncio.Event()
        self.finds.set()
        self.replays.set()
        self.read = 0
        self.broken = 0

    def leave(self, *request_ids: str, intent: str = "p", **members: Any) -> None:
        """Keep messages that are accepted and not begun; `members` are those of an Entry to have other ones."""
        for request_id in request_ids:
            message = HermesMessage(request_id, "s1", intent, {}, "api", 1e9)
            record = Record(
                message=message,
                principal=Principal(),
                decision=Decision("given", intent, 1.0),
                status=members.get("status", "accepted"),
                confirmation=_open(intent) if members.get("status") == "awaiting_confirmation" else None,
                received_at=1e9,
            )
            kept: dict[str, Any] = {
                "id": self.next_id(),
                "owner": record.principal.owner,
                "request_id": request_id,
                "session_id": "s1",
                "status": record.status,
                "code": None,
                "plugin": None,
                "origin": None,
                "received_at": 1e9,
                "finished_at": None,
                "fingerprint": json.dumps([None, intent, {}, None]).encode(),  # as House makes it
                "record": write_record(record, write_fixed(record)),
                "data": None,
                "events": b"[]",
            }
            entry = Entry(**kept | members)
            self._entries[entry.id] = entry
            self._ids[entry.owner, entry.request_id] = entry.id

    async def find(self, request_id: str, *, owner: str | None) -> Entry | None:
        found = await super().find(request_id, owner=owner)
        self.read += 1
        await self.finds.wait()
        return found

    async def replay(self, *, after: int, limit: int) -> Sequence[Entry]:
        found = await super().replay(after=after, limit=limit)
        await self.replays.wait()
        if self.broken:
            self.broken -= 1
            raise JournalError("the journal cannot be read: disk I/O error")
        return found


def _open(intent: str) -> Confirmation:
    return Confirmation(
        intent=intent, plugin=intent, payload={}, expires_at=4e9, by=(), other_than_asker=False
    )
