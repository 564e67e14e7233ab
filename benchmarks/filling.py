"""A journal with many messages in it, written by plain SQL: copies of real ones under ids and times of their own."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from random import getrandbits
from typing import Any, Literal

import orjson

from benchmarks.servers import daemon, journal_of
from hermes.journal.base import Entry

COLUMNS = tuple(field.name for field in fields(Entry))
INSERT = f"INSERT INTO messages ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
_AT = {name: COLUMNS.index(name) for name in COLUMNS}
_DAYS = 20 * 86400.0  # the time that the messages came in: less than what the daemon forgets after
_FAILED_EVERY = 20
_TURNS = 10  # messages of a session, one after another
_GROUP = 50_000


@dataclass(frozen=True, slots=True)
class Samples:
    """Two messages as the journal keeps them, one that succeeded and one that failed."""

    succeeded: dict[str, Any]
    failed: dict[str, Any]

    def unfinished(self) -> dict[str, Any]:
        """Return one as it is kept from its arrival until a worker has room for it."""
        record = orjson.loads(self.succeeded["record"])
        record |= dict.fromkeys(("plugin", "envelope", "digest", "finished_at"))
        record |= {"status": "accepted", "attempts": 0}
        kept = {"status": "accepted", "plugin": None, "finished_at": None, "events": b"[]"}
        return self.succeeded | kept | {"record": orjson.dumps(record)}


class Rows:
    """Makes rows out of a sample; with `named` under random ids as a client may choose them, else under Hermes' own."""

    def __init__(self, sample: dict[str, Any], *, named: bool) -> None:
        self._values = [sample[name] for name in COLUMNS]
        self._request_id = sample["request_id"].encode()
        self._session_id = sample["session_id"].encode()
        self._finished = sample["finished_at"] is not None
        self._named = named

    def row(self, number: int, *, at: float, session: str) -> list[Any]:
        """Return the row of a message that came at a time and belongs to a session."""
        request_id = f"{getrandbits(128):032x}" if self._named else own_id(at)
        row = self._values.copy()
        row[_AT["id"]] = number
        row[_AT["request_id"]] = request_id
        row[_AT["session_id"]] = session
        row[_AT["received_at"]] = at
        row[_AT["finished_at"]] = at + 0.005 if self._finished else None
        row[_AT["fingerprint"]] = hashlib.sha256(request_id.encode()).digest() if self._named else None
        record = row[_AT["record"]].replace(self._request_id, request_id.encode())
        row[_AT["record"]] = record.replace(self._session_id, session.encode())
        events = row[_AT["events"]].replace(self._request_id, request_id.encode())
        row[_AT["events"]] = events.replace(self._session_id, session.encode())
        return row


def own_id(at: float) -> str:
    """Return an id as Hermes makes them: sorted by the millisecond, then random."""
    return f"{int(at * 1000):012x}-{getrandbits(80):020x}"


def samples(home: Path) -> Samples:
    """Run a daemon in a place, send it two messages, and return them as its journal, which stays there, keeps them."""
    with daemon(home) as server:
        for text in ("echo hello 你好", "xyzzy"):
            status, answer = server.request("POST", "/v1/messages?wait=30", body={"text": text})
            if status != 200:
                raise SystemExit(f"the daemon answered {status}: {answer[:500]!r}")
    with closing(sqlite3.connect(journal_of(home))) as connection:
        connection.row_factory = sqlite3.Row
        succeeded, failed = map(dict, connection.execute("SELECT * FROM messages ORDER BY id"))
    return Samples(succeeded, failed)


def fill(file: Path, found: Samples, *, count: int, status: Literal["ended", "accepted"]) -> None:
    """Add messages to the journal of a daemon that has stopped, half of them under random ids; the file is synced."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -1000000")
        last = connection.execute("SELECT max(id) FROM messages").fetchone()[0]
        rows = _rows(found, last, count=count, status=status)
        for start in range(0, count, _GROUP):
            connection.execute("BEGIN")
            group = (next(rows) for _ in range(min(_GROUP, count - start)))
            connection.executemany(INSERT, group)
            connection.execute("COMMIT")
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _rows(
    found: Samples, last: int, *, count: int, status: Literal["ended", "accepted"]
) -> Iterator[list[Any]]:
    usual = found.succeeded if status == "ended" else found.unfinished()
    made = [Rows(usual, named=False), Rows(usual, named=True)]
    failed = [Rows(found.failed, named=False), Rows(found.failed, named=True)]
    now, session = time.time(), ""
    for number in range(count):
        at = now - _DAYS * (1 - number / count)
        if number % _TURNS == 0:
            session = own_id(at)
        kind = failed if status == "ended" and number % _FAILED_EVERY == 0 else made
        yield kind[number // 7 % 2].row(last + 1 + number, at=at, session=session)
