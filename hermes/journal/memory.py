"""A journal in memory: for tests and for trying things out. Nothing in it outlives the process."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hermes.journal.base import Entry, Query


class MemoryJournal:
    """Keeps entries in dictionaries; follows the same contract as the durable journals but for durability."""

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}
        self._ids: dict[tuple[str, str], int] = {}
        self._last_id = 0

    async def open(self) -> None:
        """Do nothing: it is ready when it is made."""

    async def close(self) -> None:
        """Do nothing: there is nothing to let go of."""

    def next_id(self) -> int:
        """Return the id for a new entry."""
        self._last_id += 1
        return self._last_id

    async def append(self, entry: Entry) -> Entry | None:
        """Keep a new entry, or return the one that has its owner and request_id."""
        key = (entry.owner, entry.request_id)
        if key in self._ids:
            return self._entries[self._ids[key]]
        self._ids[key] = entry.id
        self._entries[entry.id] = entry
        return None

    async def update(self, entry: Entry) -> None:
        """Put the new state in the old one's place."""
        self._entries[entry.id] = entry

    async def find(self, request_id: str, *, owner: str | None) -> Entry | None:
        """Return an entry, the newest of that id if the owner does not matter."""
        for entry in self._newest_first():
            if entry.request_id == request_id and owner in {None, entry.owner}:
                return entry
        return None

    async def select(self, query: Query) -> Sequence[Entry]:
        """Return the entries that match, newest first."""
        return [_listed(entry) for entry in self._newest_first() if query.accepts(entry)][: query.limit]

    async def unfinished(self, *, after: int, limit: int) -> Sequence[Entry]:
        """Return entries that have not ended, oldest first."""
        found = (self._entries[key] for key in sorted(self._entries) if key > after)
        return [_listed(entry) for entry in found if entry.finished_at is None][:limit]

    async def trouble(self) -> str | None:
        """Return None: memory is always there."""
        return None

    def _newest_first(self) -> Sequence[Entry]:
        return [self._entries[key] for key in sorted(self._entries, reverse=True)]


def _listed(entry: Entry) -> Entry:
    return replace(entry, data=None, events=b"[]")


adapter = MemoryJournal
