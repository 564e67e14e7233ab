"""The embedded store: one SQLite file in WAL mode, written by one thread in groups and read by another."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from hermes.errors import StoreError
from hermes.group_commit import GroupCommit, transaction
from hermes.sqlite_pair import Reader, open_pair, refuse_later
from hermes.stores.base import check

_SCHEMA = """
CREATE TABLE IF NOT EXISTS entries (
    key TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL,
    expires REAL  -- Unix seconds: they go on counting while the daemon is down
) STRICT;
CREATE INDEX IF NOT EXISTS by_expiry ON entries (expires) WHERE expires IS NOT NULL;
"""
_VERSION = 1  # PRAGMA user_version; a file of a later version is not touched
_BUSY = 5.0  # seconds to wait for another process that holds the file
_PAGE = 500  # keys or entries a step

_LIVE = "(expires IS NULL OR expires > ?)"
_GET = f"SELECT value FROM entries WHERE key = ? AND {_LIVE}"  # noqa: S608 - here as below nothing but constants
_SCAN = f"SELECT key FROM entries WHERE key >= ? AND {_LIVE} ORDER BY key LIMIT {_PAGE}"  # noqa: S608
_ADD = "INSERT INTO entries VALUES (?, ?, ?) ON CONFLICT (key) DO "
_PUT = _ADD + "UPDATE SET value = excluded.value, expires = excluded.expires"
_PUT_NEW = _PUT + " WHERE entries.expires <= ?"
_SWAP = f"UPDATE entries SET value = ?, expires = ? WHERE key = ? AND value = ? AND {_LIVE}"  # noqa: S608
_DELETE = f"DELETE FROM entries WHERE key = ? AND {_LIVE}"  # noqa: S608
_SWEEP = f"DELETE FROM entries WHERE rowid IN (SELECT rowid FROM entries WHERE expires <= ? LIMIT {_PAGE})"  # noqa: S608
_SWEEP_PAUSE = 30.0  # seconds

_Statement = tuple[str, tuple[Any, ...]]


class SqliteStore:
    """Keeps entries in `file`.

    With sync "full" a value is safe once it survives power loss, with "normal" once it survives the death of the
    process. Entries whose time is up leave the file within a minute, at the latest when it is opened again.
    """

    def __init__(
        self,
        *,
        file: Path,
        sync: Literal["full", "normal"] = "full",
        on_change: Callable[[str | None], None] | None = None,
    ) -> None:
        self._file = file
        self._sync = sync
        self._on_change = on_change
        self._told: str | None = None
        self._commits: GroupCommit[_Statement, bool] | None = None
        self._reader: Reader | None = None
        self._sweeper: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Open or make the file; raises StartError if that cannot be done."""
        connection, self._reader = open_pair(
            self._file, lambda writer: _prepare(writer, self._sync), name="the store"
        )
        self._commits = GroupCommit(
            connection, lambda group: _write(connection, group), name="the store", error=StoreError
        )
        self._commits.start()
        self._sweeper = asyncio.get_running_loop().create_task(self._sweep(self._commits))

    async def close(self) -> None:
        """Write what was handed in, then close the file."""
        sweeper, self._sweeper = self._sweeper, None
        if sweeper is not None:
            sweeper.cancel()
            await asyncio.wait([sweeper])
        commits, self._commits = self._commits, None
        if commits is not None:
            await commits.stop()
        reader, self._reader = self._reader, None
        if reader is not None:
            await reader.close()

    async def get(self, key: str) -> bytes | None:
        """Return the value, None if there is none."""
        check(key)
        found = await self._read(_GET, (key, time.time()))
        return found[0][0] if found else None

    async def put(self, key: str, value: bytes, *, ttl: float | None = None) -> None:
        """Keep a value."""
        check(key, value, ttl=ttl)
        await self._change(_PUT, (key, value, _end(ttl)))

    async def delete(self, key: str) -> bool:
        """Remove a key; say whether it was there."""
        check(key)
        return await self._change(_DELETE, (key, time.time()))

    async def swap(self, key: str, value: bytes, *, expected: bytes | None, ttl: float | None = None) -> bool:
        """Put a value if the present one is `expected`."""
        check(key, value, ttl=ttl)
        if expected is None:
            return await self._change(_PUT_NEW, (key, value, _end(ttl), time.time()))
        return await self._change(_SWAP, (value, _end(ttl), key, expected, time.time()))

    async def scan(self, prefix: str) -> AsyncIterator[str]:
        """Go through the keys that begin with `prefix`."""
        check(prefix)
        start = prefix
        while page := await self._read(_SCAN, (start, time.time())):
            for (key,) in page:
                if not key.startswith(prefix):
                    return
                yield key
            start = page[-1][0] + "\0"  # no key has that, so it is the very next one

    async def trouble(self) -> str | None:
        """Return why the file cannot be written, None if it can; after a failure a commit that changes nothing is tried."""
        commits = self._writer()
        if commits.trouble is not None:
            with contextlib.suppress(StoreError):
                await commits.probe()
            self._tell(commits.trouble)
        return commits.trouble

    async def _change(self, sql: str, values: tuple[Any, ...]) -> bool:
        commits = self._writer()
        try:
            return await commits.put((sql, values))
        finally:
            self._tell(commits.trouble)

    async def _read(self, sql: str, values: tuple[Any, ...]) -> list[Any]:
        if self._reader is None:
            raise StoreError("the store is not open")
        try:
            return await self._reader.fetch(sql, values)
        except sqlite3.Error as error:
            raise StoreError(f"the store cannot be read: {error}") from error

    def _writer(self) -> GroupCommit[_Statement, bool]:
        if self._commits is None:
            raise StoreError("the store is not open")
        return self._commits

    def _tell(self, trouble: str | None) -> None:
        if trouble != self._told:
            self._told = trouble
            if self._on_change is not None:
                self._on_change(trouble)

    async def _sweep(self, commits: GroupCommit[_Statement, bool]) -> None:
        while True:
            with contextlib.suppress(
                StoreError
            ):  # it will be there next time; whoever writes meets the reason
                while await commits.run(_sweep_step) == _PAGE:
                    pass
            await asyncio.sleep(_SWEEP_PAUSE)


def _prepare(connection: sqlite3.Connection, sync: str) -> None:
    refuse_later(connection, _VERSION)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {sync.upper()}")
    connection.executescript(_SCHEMA)
    connection.execute(f"PRAGMA user_version = {_VERSION}")


def _write(connection: sqlite3.Connection, group: Sequence[_Statement]) -> Sequence[bool]:
    with transaction(connection):
        return [connection.execute(sql, values).rowcount > 0 for sql, values in group]


def _sweep_step(connection: sqlite3.Connection) -> int:
    return connection.execute(_SWEEP, (time.time(),)).rowcount


def _end(ttl: float | None) -> float | None:
    return None if ttl is None else time.time() + ttl


adapter = SqliteStore
