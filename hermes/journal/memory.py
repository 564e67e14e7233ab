"""A journal in memory: for tests and for trying things out. Nothing in it outlives the process."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, takewhile

from hermes.journal.base import Entry, Query, Trimmed


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

    async def claim(self, entry: Entry) -> None:
        """Put the new state in the old one's place."""
        self._entries[entry.id] = entry

    async def finish(self, entry: Entry) -> None:
        """Put the end in the place of what was there."""
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

    async def replay(self, *, after: int, limit: int) -> Sequence[Entry]:
        """Return entries that have not ended, oldest first."""
        keys = sorted(self._entries)
        found = (self._entries[key] for key in keys[bisect_right(keys, after) :])
        return list(islice((entry for entry in found if entry.finished_at is None), limit))

    async def unfinished(self) -> int:
        """Return how many entries have not ended."""
        return sum(entry.finished_at is None for entry in self._entries.values())

    async def trim(self, *, received_before: float, after: int, limit: int) -> Trimmed:
        """Remove what has ended among the next entries that came before a time."""
        following = [self._entries[key] for key in sorted(self._entries) if key > after][:limit]
        now = time.time()  # beyond it a clock was wrong, and the next ones may be old all the same
        passed = list(takewhile(lambda one: not received_before <= one.received_at <= now, following))
        old = [entry for entry in passed if entry.received_at < received_before]
        ended = [entry for entry in old if entry.finished_at is not None]
        for entry in ended:
            del self._entries[entry.id]
            del self._ids[entry.owner, entry.request_id]
        return Trimmed(len(ended), passed[-1].id if len(passed) == limit else None)

    async def size(self) -> int:
        """Return the bytes of JSON in the entries."""
        return sum(
            len(entry.record) + len(entry.data or b"") + len(entry.events) for entry in self._entries.values()
        )

    async def trouble(self) -> str | None:
        """Return None: memory is always there."""
        return None

    def _newest_first(self) -> Sequence[Entry]:
        return [self._entries[key] for key in sorted(self._entries, reverse=True)]


def _listed(entry: Entry) -> Entry:
    return replace(entry, data=None, events=b"[]")


adapter = MemoryJournal
