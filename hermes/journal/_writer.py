"""What is written to the SQLite journal, and in which statements; when that is done is the group commit's business."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import TypeVar

from hermes.errors import JournalError
from hermes.group_commit import GroupCommit, transaction
from hermes.journal.base import Entry

_T = TypeVar("_T")
_Put = tuple[Entry, bool]  # and whether it is new
_CHANGING = {"status", "code", "plugin", "finished_at", "record", "data", "events"}
"""Columns that a message's life changes: what is not named costs no index a write."""
_GROUP = 64  # entries a statement; one statement is one trip into SQLite, whatever it holds


class Writer:
    """Writes entries from an event loop through a thread of its own, in groups."""

    def __init__(
        self, connection: sqlite3.Connection, columns: str, *, on_commit: Callable[[float, int], None]
    ) -> None:
        self._connection = connection
        self._columns = columns
        self._row = attrgetter(*columns.split(", "))
        self._commits: GroupCommit[_Put, Entry | None] = GroupCommit(
            connection, self._write, name="the journal", error=JournalError, on_commit=on_commit
        )

    @property
    def trouble(self) -> str | None:
        """Why the last commit failed, None if it did not."""
        return self._commits.trouble

    def start(self) -> None:
        """Start the thread."""
        self._commits.start()

    async def stop(self) -> None:
        """Write what was handed in, then end the thread and close the connection."""
        await self._commits.stop()

    def put(self, entry: Entry, *, new: bool) -> asyncio.Future[Entry | None]:
        """Hand in an entry; the future gives None once it is safe, or the older entry that is in a new one's way.

        It raises JournalError if the entry was not written.
        """
        return self._commits.put((entry, new))

    def probe(self) -> asyncio.Future[None]:
        """Try a commit that changes nothing; the future raises JournalError if it fails."""
        return self._commits.probe()

    def run(self, work: Callable[[sqlite3.Connection], _T]) -> asyncio.Future[_T]:
        """Run `work` in the thread, between two groups and in a transaction of its own; the future gives what it returns.

        Keep it short: entries wait for it. If it raises, its changes are undone and the future raises JournalError.
        """
        return self._commits.run(work)

    # From here on in the thread.

    def _write(self, group: Sequence[_Put]) -> Sequence[Entry | None]:
        """Write a group in one transaction and return for each entry the older one that stood in its way, if it is new."""
        named = [entry for entry, new in group if new and entry.fingerprint is not None]
        if not named and len(group) <= _GROUP:
            self._insert([entry for entry, _ in group])  # a statement by itself is a transaction
            return [None] * len(group)
        with transaction(self._connection):
            taken = self._taken(named)
            entries = [entry for entry, _ in group if entry.id not in taken]
            for start in range(0, len(entries), _GROUP):
                self._insert(entries[start : start + _GROUP])
        return [taken.get(entry.id) for entry, _ in group]

    def _taken(self, named: Sequence[Entry]) -> dict[int, Entry]:
        taken: dict[int, Entry] = {}
        first: dict[tuple[str, str], Entry] = {}
        for entry in named:
            sender = first.setdefault((entry.owner, entry.request_id), entry)
            if sender is not entry:
                taken[entry.id] = taken.get(sender.id, sender)
                continue
            sql = f"SELECT {self._columns} FROM messages WHERE request_id = ? AND owner = ?"  # noqa: S608
            row = self._connection.execute(sql, (entry.request_id, entry.owner)).fetchone()
            if row is not None:
                taken[entry.id] = Entry(*row)
        return taken

    def _insert(self, entries: Sequence[Entry]) -> None:
        if entries:
            values = list(chain.from_iterable(map(self._row, entries)))
            self._connection.execute(_upsert(self._columns, len(entries)), values)


@cache
def _upsert(columns: str, count: int) -> str:
    names = columns.split(", ")
    row = f"({', '.join('?' * len(names))})"
    changed = ", ".join(f"{name} = excluded.{name}" for name in names if name in _CHANGING)
    return (
        f"INSERT INTO messages ({columns}) VALUES {', '.join([row] * count)} "  # noqa: S608 - names are ours
        f"ON CONFLICT (id) DO UPDATE SET {changed}"
    )
