"""The embedded journal: one SQLite file in WAL mode, written by one thread with group commit."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from hermes.errors import JournalError
from hermes.journal._writer import Writer
from hermes.journal.base import Entry, Query, Trimmed
from hermes.sqlite_pair import Reader, open_pair, refuse_later

_COLUMNS = "id, owner, request_id, session_id, status, code, plugin, origin, received_at, finished_at, fingerprint, record, data, events"
_LISTED = _COLUMNS.replace("data, events", "NULL, x'5B5D'")  # a list needs neither, and they may be large
_SCHEMA = """
CREATE TABLE IF NOT EXISTS messages (
    id INTEGER PRIMARY KEY,
    owner TEXT NOT NULL,
    request_id TEXT NOT NULL,
    session_id TEXT NOT NULL,
    status TEXT NOT NULL,
    code TEXT,
    plugin TEXT,
    origin TEXT,
    received_at REAL NOT NULL,
    finished_at REAL,
    fingerprint BLOB,
    record BLOB NOT NULL,
    data BLOB,
    events BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS by_request ON messages (request_id, owner);
CREATE INDEX IF NOT EXISTS by_session ON messages (session_id);
CREATE INDEX IF NOT EXISTS unfinished ON messages (id) WHERE finished_at IS NULL;
CREATE INDEX IF NOT EXISTS failed ON messages (code, id) WHERE status = 'failed';
CREATE INDEX IF NOT EXISTS failures ON messages (id) WHERE status = 'failed';
CREATE INDEX IF NOT EXISTS retries ON messages (origin, id) WHERE origin IS NOT NULL;
"""
_VERSION = 2  # PRAGMA user_version; a file of a later version is not touched
_BUSY = 5.0  # seconds to wait for another process that holds the file
_PAGES = 4000  # of 4 KiB in the WAL before a checkpoint
_GIVEN_BACK = 200  # pages that one step of trimming gives back to the disk at most
_STEP_BYTES = 4 << 20  # of entries that one step of trimming removes, or one entry
_UNDER_WAY = frozenset({"accepted", "awaiting_confirmation", "running"})


class SqliteJournal:
    """Keeps entries in `file`.

    With sync "full" an entry is safe once it survives power loss, with "normal" once it survives the death of the
    process. `on_commit` is told the seconds each commit took and how many entries it held.
    """

    def __init__(
        self, file: Path, *, sync: Literal["full", "normal"], on_commit: Callable[[float, int], None]
    ) -> None:
        self._file = file
        self._sync = sync
        self._on_commit = on_commit
        self._last_id = 0
        self._unread: tuple[str, Sequence[Any]] | None = None  # what could not be read, and is tried anew
        self._reader: Reader | None = None
        self._writer: Writer | None = None

    async def open(self) -> None:
        """Open or make the file; raises StartError if that cannot be done."""
        connection, self._reader = open_pair(
            self._file, lambda writer: _prepare(writer, self._sync), name="the journal"
        )
        self._last_id = int(connection.execute("SELECT coalesce(max(id), 0) FROM messages").fetchone()[0])
        self._writer = Writer(connection, _COLUMNS, on_commit=self._on_commit)
        self._writer.start()

    async def close(self) -> None:
        """Write what was handed in, then close the file."""
        if self._writer is not None:
            await self._writer.stop()
        reader, self._reader = self._reader, None
        if reader is not None:
            await reader.close()

    def next_id(self) -> int:
        """Return the id for a new entry."""
        self._last_id += 1
        return self._last_id

    async def append(self, entry: Entry) -> Entry | None:
        """Keep a new entry, or return the one that has its owner and request_id."""
        return await self._write().put(entry, new=True)

    async def claim(self, entry: Entry) -> None:
        """Write the new state of an entry."""
        await self._write().put(entry, new=False)

    async def finish(self, entry: Entry) -> None:
        """Write the end of an entry."""
        await self._write().put(entry, new=False)

    async def find(self, request_id: str, *, owner: str | None) -> Entry | None:
        """Return an entry, the newest of that id if the owner does not matter."""
        conditions = {"request_id": request_id} | ({} if owner is None else {"owner": owner})
        found = await self._entries(conditions, order="id DESC", limit=1)
        return found[0] if found else None

    async def select(self, query: Query) -> Sequence[Entry]:
        """Return the entries that match, newest first."""
        wanted = {
            "owner": query.owner,
            "session_id": query.session_id,
            "status": query.status,
            "code": query.code,
            "plugin": query.plugin,
            "origin": query.origin,
        }
        conditions: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
        if query.code is not None and query.status is None:
            conditions["status"] = "failed"  # nothing else has a code, and there is an index of those
        if query.status in _UNDER_WAY:
            conditions["finished_at IS"] = None  # there is an index of those
        if query.before is not None:
            conditions["id <"] = query.before
        return await self._entries(conditions, order="id DESC", limit=query.limit, columns=_LISTED)

    async def replay(self, *, after: int, limit: int) -> Sequence[Entry]:
        """Return entries that have not ended, oldest first."""
        return await self._entries({"id >": after, "finished_at IS": None}, order="id", limit=limit)

    async def unfinished(self) -> int:
        """Return how many entries have not ended."""
        ((count,),) = await self._fetch("SELECT count(*) FROM messages WHERE finished_at IS NULL")
        return int(count)

    async def trim(self, *, received_before: float, after: int, limit: int) -> Trimmed:
        """Remove what has ended among the next entries that came before a time, and give some room back to the disk."""

        def step(connection: sqlite3.Connection) -> Trimmed:
            return _trim(connection, received_before=received_before, after=after, limit=limit)

        return await self._write().run(step)

    async def size(self) -> int:
        """Return how many bytes the entries take, the room that removed ones left not counted."""
        pages, free, page_bytes = [
            int((await self._fetch(f"PRAGMA {name}"))[0][0])
            for name in ("page_count", "freelist_count", "page_size")
        ]
        return (pages - free) * page_bytes

    async def trouble(self) -> str | None:
        """Return why the file cannot be written or read, None if it can; what failed is tried anew."""
        if self._unread is not None:
            try:
                await self._fetch(*self._unread)
            except JournalError as error:
                return error.detail
        writer = self._write()
        if writer.trouble is not None:
            with contextlib.suppress(JournalError):
                await writer.probe()
        return writer.trouble

    def _write(self) -> Writer:
        if self._writer is None:
            raise JournalError("the journal is not open")
        return self._writer

    async def _entries(
        self, conditions: dict[str, Any], *, order: str, limit: int, columns: str = _COLUMNS
    ) -> list[Entry]:
        where = " AND ".join(f"{name} ?" if " " in name else f"{name} = ?" for name in conditions) or "1"
        sql = f"SELECT {columns} FROM messages WHERE {where} ORDER BY {order} LIMIT ?"  # noqa: S608 - names are ours
        return [Entry(*row) for row in await self._fetch(sql, (*conditions.values(), limit))]

    async def _fetch(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        if self._reader is None:
            raise JournalError("the journal is not open")
        try:
            rows = await self._reader.fetch(sql, values)
        except sqlite3.Error as error:
            self._unread = self._unread or (sql, values)
            raise JournalError(f"the journal cannot be read: {error}") from error
        if self._unread == (sql, values):
            self._unread = None
        return rows


def _trim(connection: sqlite3.Connection, *, received_before: float, after: int, limit: int) -> Trimmed:
    rows = connection.execute(
        "SELECT id, received_at, finished_at IS NOT NULL, length(record) + ifnull(length(data), 0) + length(events) "
        "FROM messages WHERE id > ? ORDER BY id LIMIT ?",
        (after, limit),
    ).fetchall()
    last, room, ended, now = after, _STEP_BYTES, [], time.time()
    following = None if len(rows) < limit else rows[-1][0]
    for number, received_at, has_ended, size in rows:
        if received_at >= received_before:
            if received_at > now:  # a clock was wrong: the next ones may be old all the same
                last = number
                continue
            following = None
            break
        if room <= 0:
            following = last
            break
        last, room = number, room - size
        if has_ended:
            ended.append((number,))
    connection.executemany("DELETE FROM messages WHERE id = ?", ended)
    ((free,),) = connection.execute("PRAGMA freelist_count").fetchall()
    for _ in range(min(free, _GIVEN_BACK)):  # the module gives up this statement after its first page
        connection.execute("PRAGMA incremental_vacuum(1)")
    return Trimmed(len(ended), following)


def _prepare(connection: sqlite3.Connection, sync: str) -> None:
    version = refuse_later(connection, _VERSION)
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # of a new file; an older one keeps its size
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {sync.upper()}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_PAGES}")
    missing = "ALTER TABLE messages ADD COLUMN origin TEXT;" if version == 1 else ""
    connection.executescript(
        f"BEGIN IMMEDIATE; {missing} {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;"
    )


adapter = SqliteJournal
