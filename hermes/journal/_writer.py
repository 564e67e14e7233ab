"""The one thread that writes the SQLite journal. It commits in groups: what arrives during a commit is the next one."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from operator import attrgetter
from queue import SimpleQueue

from hermes.errors import JournalError
from hermes.journal.base import Entry
from hermes.values import value

_GROUP = 64  # entries a statement; one statement is one trip into SQLite, whatever it holds


@value
class _Put:
    entry: Entry | None  # None: nothing but a try
    new: bool
    done: asyncio.Future[Entry | None]


class Writer:
    """Writes entries from an event loop through a thread of its own.

    Not more than one group is under way; the loop collects the next one meanwhile, so that a slow disk makes larger
    groups and not a longer queue of commits.
    """

    def __init__(
        self, connection: sqlite3.Connection, columns: str, *, on_commit: Callable[[float, int], None]
    ) -> None:
        self._connection = connection
        self._columns = columns
        self._row = attrgetter(*columns.split(", "))
        self._on_commit = on_commit
        self._loop = asyncio.get_running_loop()
        self._groups: SimpleQueue[list[_Put] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="journal-writer", daemon=True)
        self._collected: list[_Put] = []
        self._busy = False
        self._idle = asyncio.Event()
        self._idle.set()
        self._stopped = False
        self.trouble: str | None = None

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    async def stop(self) -> None:
        """Write what was handed in, then end the thread and close the connection."""
        self._stopped = True
        await self._idle.wait()
        self._groups.put(None)
        await self._loop.run_in_executor(None, self._thread.join)

    def put(self, entry: Entry, *, new: bool) -> asyncio.Future[Entry | None]:
        """Hand in an entry; the future gives None once it is safe, or the older entry that is in a new one's way.

        It raises JournalError if the entry was not written.
        """
        return self._collect(entry, new)

    def probe(self) -> asyncio.Future[Entry | None]:
        """Try a commit that changes nothing; the future raises JournalError if it fails."""
        return self._collect(None, new=False)

    def _collect(self, entry: Entry | None, new: bool) -> asyncio.Future[Entry | None]:
        done: asyncio.Future[Entry | None] = self._loop.create_future()
        if self._stopped:
            done.set_exception(JournalError("the journal is closed"))
            return done
        if not self._busy and not self._collected:
            # At the end of this round of the loop: others who arrive in the same round share the commit.
            self._loop.call_soon(self._hand_over)
            self._idle.clear()
        self._collected.append(_Put(entry, new, done))
        return done

    def _hand_over(self) -> None:
        if not self._busy and self._collected:
            group, self._collected = self._collected, []
            self._busy = True
            self._groups.put(group)

    def _settle(self, group: Sequence[_Put], outcome: dict[int, Entry] | Exception) -> None:
        """Tell who waits for a group what came of it: the older entries in the way of its own, or why it failed."""
        self._busy = False
        self._hand_over()
        self.trouble = f"the journal cannot be written: {outcome}" if isinstance(outcome, Exception) else None
        for put in group:
            if put.done.done():
                continue
            if isinstance(outcome, Exception):
                put.done.set_exception(JournalError(str(self.trouble)))
            else:
                put.done.set_result(None if put.entry is None else outcome.get(put.entry.id))
        if not self._busy:
            self._idle.set()

    # From here on in the thread.

    def _run(self) -> None:
        while (group := self._groups.get()) is not None:
            outcome: dict[int, Entry] | Exception
            started = time.perf_counter()
            try:
                outcome = self._commit(group)
            except Exception as problem:  # noqa: BLE001 - the thread's wall: who waits would wait for ever
                outcome = problem
            else:
                self._on_commit(time.perf_counter() - started, len(group))
            self._loop.call_soon_threadsafe(self._settle, group, outcome)
        self._connection.close()

    def _commit(self, group: Sequence[_Put]) -> dict[int, Entry]:
        """Write a group in one transaction and return the older entries that stood in a new one's way, by id."""
        entries = [put.entry for put in group if put.entry is not None]
        named = [put.entry for put in group if put.new and put.entry and put.entry.fingerprint is not None]
        if not named and len(entries) == len(group) <= _GROUP:
            self._insert(entries)  # a statement by itself is a transaction
            return {}
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            taken = self._taken(named)
            if len(entries) < len(group):
                self._connection.execute("CREATE TABLE probe (filling)")
                self._connection.execute(
                    "INSERT INTO probe VALUES (zeroblob(65536))"
                )  # room for real entries
                self._connection.execute("DROP TABLE probe")
            entries = [entry for entry in entries if entry.id not in taken]
            for start in range(0, len(entries), _GROUP):
                self._insert(entries[start : start + _GROUP])
            self._connection.execute("COMMIT")
        except Exception:
            with contextlib.suppress(sqlite3.Error):  # it may have been rolled back by the error itself
                self._connection.execute("ROLLBACK")
            raise
        return taken

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
            values = [value for entry in entries for value in self._row(entry)]
            self._connection.execute(_upsert(self._columns, len(entries)), values)


@cache
def _upsert(columns: str, count: int) -> str:
    names = columns.split(", ")
    row = f"({', '.join('?' * len(names))})"
    changed = ", ".join(f"{name} = excluded.{name}" for name in names if name != "id")
    return (
        f"INSERT INTO messages ({columns}) VALUES {', '.join([row] * count)} "  # noqa: S608 - names are ours
        f"ON CONFLICT (id) DO UPDATE SET {changed}"
    )
