"""What the disk gives: raw sqlite3 with the journal's own table, committing as many rows at a time as the daemon did."""

from __future__ import annotations

import sqlite3
import tempfile
import time
from pathlib import Path

_ROW_BYTES = 1200  # about what an entry of a short message has


def rows_per_second(rows_per_commit: int, *, seconds: float) -> float:
    """Return the rows a second that plain sqlite3 makes safe with synchronous=FULL, in WAL mode."""
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(Path(folder) / "raw.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(
            "CREATE TABLE messages (id INTEGER PRIMARY KEY, owner TEXT, request_id TEXT, session_id TEXT, record BLOB)"
        )
        connection.execute("CREATE UNIQUE INDEX by_request ON messages (request_id, owner)")
        connection.execute("CREATE INDEX by_session ON messages (session_id)")
        record, number = b"x" * _ROW_BYTES, 0
        started = time.perf_counter()
        while time.perf_counter() - started < seconds:
            rows = []
            for _ in range(rows_per_commit):
                number += 1
                rows.append((number, "local:local", f"{number:032x}", f"{number:032x}", record))
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO messages VALUES (?, ?, ?, ?, ?)", rows)
            connection.execute("COMMIT")
        elapsed = time.perf_counter() - started
        connection.close()
    return number / elapsed
