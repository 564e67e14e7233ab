"""Journals for tests, and ways to damage them: bytes of real files are overwritten, as a bad disk does."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from hermes.journal._repair import Repair, repair
from hermes.journal.base import Entry, Query
from hermes.journal.sqlite import SqliteJournal
from tests.support.entries import ended, entry

PAGE = 4096  # bytes
ROWS, INDEX = 13, 10  # the first byte of a page at the end of a table, of an index

Damage = Callable[[Path], None]


def journal_at(file: Path) -> SqliteJournal:
    return SqliteJournal(file, sync="normal", on_commit=lambda _seconds, _entries: None)


def fill(file: Path, count: int = 120, *, into: Path | None = None) -> list[Entry]:
    """Make a journal of entries of many sizes, one commit each, every second one ended; returns them by age.

    With `into`, a copy is left there as it was before the journal was closed: its log still holds all.
    """

    async def write() -> list[Entry]:
        journal = journal_at(file)
        await journal.open()
        entries = [entry(journal, record=b'{"text":"%s"}' % (b"x" * (37 * n % 7000))) for n in range(count)]
        for one in entries:
            await journal.append(one)
        for place in range(0, count, 2):
            entries[place] = ended(entries[place])
            await journal.finish(entries[place])
        for end in ("", "-wal") if into is not None else ():
            shutil.copy(f"{file}{end}", f"{into}{end}")
        await journal.close()
        return entries

    return asyncio.run(write())


def read(file: Path) -> list[Entry]:
    """Return all entries of a journal, by age."""

    async def listed() -> list[Entry]:
        journal = journal_at(file)
        await journal.open()
        found = [
            await journal.find(one.request_id, owner=one.owner)
            for one in await journal.select(Query(limit=10_000))
        ]
        await journal.close()
        return [one for one in reversed(found) if one is not None]

    return asyncio.run(listed())


def mend(file: Path) -> Repair:
    """Repair a journal of such entries."""
    return repair(file, make=_make, readable=_is_json)


def _make(file: Path) -> None:
    async def open_and_close() -> None:
        journal = journal_at(file)
        await journal.open()
        await journal.close()

    asyncio.run(open_and_close())


def _is_json(_table: str, row: Mapping[str, Any]) -> bool:
    try:
        orjson.loads(row["record"])
    except ValueError:
        return False
    return True


def overwrite(file: Path, start: int, length: int = PAGE) -> None:
    """Write noise over a part of a file."""
    with file.open("r+b") as content:
        content.seek(start)
        content.write(os.urandom(min(length, file.stat().st_size - start)))


def overwrite_page(file: Path, page: int) -> None:
    overwrite(file, (page - 1) * PAGE)


def root(file: Path, name: str) -> int:
    """Return the page at which a table or an index begins."""
    with closing(sqlite3.connect(file)) as database:
        (page,) = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
    return int(page)


def leaves(file: Path, kind: int = ROWS) -> list[int]:
    """Return the pages at the ends of all tables, or with INDEX of all indexes."""
    content = file.read_bytes()
    return [place // PAGE + 1 for place in range(PAGE, len(content), PAGE) if content[place] == kind]
