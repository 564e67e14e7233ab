"""Journals for tests: one in a file, and one in memory that fails, or takes its time, when a test says so."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from hermes.errors import JournalError
from hermes.journal.base import Entry, Query, Trimmed
from hermes.journal.memory import MemoryJournal
from hermes.journal.sqlite import SqliteJournal


def journal_at(file: Path, commits: list[int] | None = None) -> SqliteJournal:
    """Return a journal in a file that notes how many entries each commit held."""
    seen = [] if commits is None else commits
    return SqliteJournal(file, sync="normal", on_commit=lambda _seconds, entries: seen.append(entries))


class FragileJournal(MemoryJournal):
    """While `away` it keeps and finds nothing; while `slow` nothing that is handed in is kept."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False
        self._quick = asyncio.Event()
        self._quick.set()

    @property
    def slow(self) -> bool:
        """Whether what is handed in waits."""
        return not self._quick.is_set()

    @slow.setter
    def slow(self, value: bool) -> None:
        if value:
            self._quick.clear()
        else:
            self._quick.set()

    async def append(self, entry: Entry) -> Entry | None:
        """Keep a new entry when there is time."""
        await self._turn()
        return await super().append(entry)

    async def claim(self, entry: Entry) -> None:
        """Keep a state when there is time."""
        await self._turn()
        await super().claim(entry)

    async def finish(self, entry: Entry) -> None:
        """Keep an end when there is time."""
        await self._turn()
        await super().finish(entry)

    async def find(self, request_id: str, *, owner: str | None) -> Entry | None:
        """Return an entry."""
        self._check()
        return await super().find(request_id, owner=owner)

    async def select(self, query: Query) -> Sequence[Entry]:
        """Return the entries that match."""
        self._check()
        return await super().select(query)

    async def replay(self, *, after: int, limit: int) -> Sequence[Entry]:
        """Return entries that have not ended."""
        self._check()
        return await super().replay(after=after, limit=limit)

    async def trim(self, *, received_before: float, after: int, limit: int) -> Trimmed:
        """Remove what has ended."""
        self._check()
        return await super().trim(received_before=received_before, after=after, limit=limit)

    async def _turn(self) -> None:
        await self._quick.wait()
        self._check()

    def _check(self) -> None:
        if self.away:
            raise JournalError("the journal cannot be written: it is away")
