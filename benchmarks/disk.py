"""What the disk gives: raw sqlite3 with the journal's own schema and rows, committing so many of them at a time."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.filling import INSERT

_PAGES = 4000  # in the WAL before a checkpoint, as the journal has it


class Raw:
    """Plain sqlite3 on the file of a journal that nobody has open, synchronous=FULL; `row` makes the row of an id."""

    def __init__(self, file: Path, row: Callable[[int], list[Any]]) -> None:
        self._connection = sqlite3.connect(file, isolation_level=None)
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute(f"PRAGMA wal_autocheckpoint = {_PAGES}")
        self._row = row
        self._last = self._connection.execute("SELECT coalesce(max(id), 0) FROM messages").fetchone()[0]

    def write(self, commits: int, *, rows: int) -> float:
        """Commit so often so many new rows, and return the seconds that took."""
        started = time.perf_counter()
        for _ in range(commits):
            self._connection.execute("BEGIN IMMEDIATE")
            numbers = range(self._last + 1, self._last + 1 + rows)
            self._connection.executemany(INSERT, map(self._row, numbers))
            self._connection.execute("COMMIT")
            self._last += rows
        return time.perf_counter() - started

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
