"""A file that grows old: one of an earlier format is taken over, and what is removed makes room."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import pytest

from hermes.errors import JournalError, StartError
from hermes.journal.base import Entry, Query
from hermes.journal.memory import MemoryJournal
from hermes.journal.sqlite import SqliteJournal
from tests.support.disk import no_room
from tests.support.entries import ended, entry
from tests.support.journals import journal_at

FORMAT_1 = """
CREATE TABLE messages (
    id INTEGER PRIMARY KEY, owner TEXT NOT NULL, request_id TEXT NOT NULL, session_id TEXT NOT NULL,
    status TEXT NOT NULL, code TEXT, plugin TEXT, received_at REAL NOT NULL, finished_at REAL, fingerprint BLOB,
    record BLOB NOT NULL, data BLOB, events BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX by_request ON messages (request_id, owner);
CREATE INDEX by_session ON messages (session_id);
CREATE INDEX unfinished ON messages (id) WHERE finished_at IS NULL;
CREATE INDEX failed ON messages (code, id) WHERE status = 'failed';
PRAGMA user_version = 1;
"""
OLD = [
    "owner",
    "request_id",
    "session_id",
    "status",
    "code",
    "plugin",
    "received_at",
    "finished_at",
    "fingerprint",
    "record",
    "data",
    "events",
]


def write_format_1(file: Path) -> list[Entry]:
    """Make a journal as an earlier Hermes left it, and return what is in it."""
    spare = MemoryJournal()
    kept = [
        entry(spare),
        ended(entry(spare)),
        ended(entry(spare), status="failed", code="no_match", data=b"[1]"),
    ]
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.executescript(FORMAT_1)
        rows = [(one.id, *(getattr(one, name) for name in OLD)) for one in kept]
        marks = ", ".join("?" * len(rows[0]))
        connection.executemany(f"INSERT INTO messages (id, {', '.join(OLD)}) VALUES ({marks})", rows)
        connection.commit()
    return kept


async def test_a_journal_of_format_1_is_taken_over_with_all_that_is_in_it(file: Path) -> None:
    kept = write_format_1(file)
    for _ in range(2):
        journal = journal_at(file)
        await journal.open()
        assert [await journal.find(one.request_id, owner=None) for one in kept] == kept
        assert await journal.replay(after=0, limit=9) == kept[:1]
        await journal.close()
    await journal.open()
    retried = entry(journal, origin="local:local/r1")
    assert await journal.append(retried) is None
    assert await journal.select(Query(origin="local:local/r1")) == [retried]
    assert retried.id > kept[-1].id
    await journal.trim(received_before=2e9, after=0, limit=100)
    assert [one.id for one in await journal.select(Query())] == [retried.id, kept[0].id]
    await journal.close()


async def test_a_journal_of_format_1_that_cannot_be_taken_over_is_left_as_it_is(file: Path) -> None:
    kept = write_format_1(file)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE retries (in_the_way TEXT)")  # where an index of that name is to be
        columns = connection.execute("PRAGMA table_info(messages)").fetchall()
    with pytest.raises(StartError, match="retries"):
        await journal_at(file).open()
    with contextlib.closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("PRAGMA table_info(messages)").fetchall() == columns
        connection.execute("DROP TABLE retries")
    journal = journal_at(file)
    await journal.open()
    assert [await journal.find(one.request_id, owner=None) for one in kept] == kept
    await journal.close()


async def test_large_entries_are_removed_a_few_at_a_time(journal: SqliteJournal) -> None:
    kept = [ended(entry(journal, record=b"x" * 1_500_000)) for _ in range(8)]
    await asyncio.gather(*map(journal.append, kept))
    steps, after = [], 0
    while (step := await journal.trim(received_before=2e9, after=after, limit=100)).after is not None:
        steps.append(step.removed)
        after = step.after
    assert [*steps, step.removed] == [3, 3, 2]
    assert await journal.select(Query()) == []


def bytes_of(file: Path) -> int:
    return file.stat().st_size


async def test_the_room_of_what_was_removed_is_given_back_to_the_disk(file: Path) -> None:
    journal = journal_at(file)
    await journal.open()
    await asyncio.gather(*(journal.append(ended(entry(journal, record=b"x" * 50_000))) for _ in range(40)))
    await journal.close()
    before = bytes_of(file)
    await journal.open()
    for _ in range(5):
        await journal.trim(received_before=2e9, after=0, limit=10)
    await journal.close()
    assert before > 2_000_000
    assert bytes_of(file) < 200_000


async def test_a_step_of_trimming_that_fails_removes_nothing(journal: SqliteJournal, file: Path) -> None:
    kept = [ended(entry(journal, record=b"x" * 3000)) for _ in range(50)]
    await asyncio.gather(*map(journal.append, kept))
    with no_room(file.parent), pytest.raises(JournalError, match="the journal cannot be written: "):
        await journal.trim(received_before=2e9, after=0, limit=100)
    assert len(await journal.select(Query(limit=100))) == 50
    assert (await journal.trim(received_before=2e9, after=0, limit=100)).removed == 50
