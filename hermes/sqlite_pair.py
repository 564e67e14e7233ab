"""The two connections to one SQLite file: one that writes, and one that only reads, in a thread of its own."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from hermes.errors import StartError
from hermes.sqlite_file import has_only_its_log

_BUSY = 5.0  # seconds to wait for another process that holds the file


class Reader:
    """A connection that only reads, in a thread of its own: no reading waits for a commit, or the loop for either."""

    def __init__(self, connection: sqlite3.Connection, *, name: str) -> None:
        self._connection = connection
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"{name} reader")

    async def fetch(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows that a statement gives; raises sqlite3.Error."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._fetch, sql, values)

    async def close(self) -> None:
        """Close the connection and end the thread."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._connection.close)
        self._thread.shutdown()

    def _fetch(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values).fetchall()


def open_pair(
    file: Path, prepare: Callable[[sqlite3.Connection], None], *, name: str
) -> tuple[sqlite3.Connection, Reader]:
    """Open or make a file for its owner alone, `prepare` it, and return who writes and who reads it.

    Neither commits by itself. Raises StartError, which calls the file by `name`, if that cannot be done.
    """
    if has_only_its_log(file):
        raise StartError(f"{name} {file} is empty and its write-ahead log is not; run hermes check --repair")
    try:
        with contextlib.suppress(OSError):  # there is one already, or SQLite will say why there cannot be
            file.touch(mode=0o600, exist_ok=False)  # what people say is in it
        with contextlib.ExitStack() as opened:
            writer = opened.enter_context(contextlib.closing(_connect(file)))
            prepare(writer)
            reader = opened.enter_context(contextlib.closing(_connect(file)))
            reader.execute("PRAGMA query_only = 1")
            opened.pop_all()  # both are good: they stay open
    except sqlite3.Error as error:
        raise StartError(f"{name} {file} cannot be opened: {error}; see docs/operations.md") from error
    return writer, Reader(reader, name=name)


def refuse_later(connection: sqlite3.Connection, version: int) -> int:
    """Return the format of a file as it tells; raises DatabaseError if it is a later one than `version`."""
    found = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if found > version:
        raise sqlite3.DatabaseError(f"it was written by a later version of Hermes (format {found})")
    return found


def _connect(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(
        file, timeout=_BUSY, isolation_level=None, check_same_thread=False, cached_statements=256
    )
