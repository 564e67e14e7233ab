"""Files and places in which no journal can be opened; each refusal is one sentence with the file's name."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hermes.errors import StartError
from hermes.journal.sqlite import SqliteJournal
from tests.support.entries import entry

NOBODY = 65534


def journal_at(file: Path) -> SqliteJournal:
    return SqliteJournal(file, sync="full", on_commit=lambda _seconds, _entries: None)


async def refusal(file: Path) -> str:
    """Open a journal that cannot be opened, and return the sentence that says why."""
    journal = journal_at(file)
    with pytest.raises(StartError) as refused:
        await journal.open()
    await journal.close()
    assert str(file) in refused.value.detail
    return refused.value.detail


def test_a_file_that_is_no_journal_is_refused_and_left_as_it_is(file: Path) -> None:
    content = b"not a database, " * 1000
    file.write_bytes(content)
    assert "not a database" in asyncio.run(refusal(file))
    assert file.read_bytes() == content


def test_a_journal_of_a_later_version_is_refused_and_left_as_it_is(file: Path) -> None:
    later = sqlite3.connect(file)
    later.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, something TEXT)")
    later.execute("PRAGMA user_version = 99")
    later.close()
    content = file.read_bytes()
    assert "later version of Hermes (format 99)" in asyncio.run(refusal(file))
    assert file.read_bytes() == content


async def test_a_place_where_no_file_can_be_is_refused(tmp_path: Path) -> None:
    assert "unable to open" in await refusal(tmp_path)
    assert "unable to open" in await refusal(tmp_path / "missing" / "journal.db")


@contextmanager
def unprivileged() -> Iterator[None]:
    """Be somebody whom permissions concern; root is above them."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(user)


def test_a_file_that_may_not_be_written_is_refused() -> None:
    async def open_and_close(file: Path) -> None:
        journal = journal_at(file)
        await journal.open()
        await journal.close()

    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to others
        folder = Path(name)
        file = folder / "journal.db"
        asyncio.run(open_and_close(file))
        file.chmod(0o444)
        folder.chmod(0o555)
        with unprivileged():
            assert "readonly" in asyncio.run(refusal(file))
        folder.chmod(0o755)


async def test_what_people_say_is_for_the_daemon_alone(file: Path) -> None:
    journal = journal_at(file)
    await journal.open()
    await journal.append(entry(journal))
    try:
        assert {path.name: path.stat().st_mode & 0o777 for path in file.parent.iterdir()} == {
            "journal.db": 0o600,
            "journal.db-shm": 0o600,
            "journal.db-wal": 0o600,
        }
    finally:
        await journal.close()


def test_an_empty_file_beside_a_log_that_is_not_is_refused_and_the_log_is_left(file: Path) -> None:
    log = file.with_name("journal.db-wal")
    log.write_bytes(b"messages")
    sentence = "is empty and its write-ahead log is not; run hermes check --repair"
    assert sentence in asyncio.run(refusal(file))
    file.touch()
    assert sentence in asyncio.run(refusal(file))
    assert (file.read_bytes(), log.read_bytes()) == (b"", b"messages")
