from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hermes.errors import JournalError, StartError
from hermes.journal.base import Query
from hermes.journal.sqlite import SqliteJournal
from tests.support.disk import no_room
from tests.support.entries import ended, entry
from tests.support.journals import journal_at


async def test_what_arrives_together_is_one_commit(file: Path) -> None:
    commits: list[int] = []
    journal = journal_at(file, commits)
    await journal.open()
    accepted = [entry(journal) for _ in range(150)]
    await asyncio.gather(*map(journal.append, accepted))
    assert commits == [150]
    await asyncio.gather(*(journal.finish(ended(one)) for one in accepted))
    assert commits == [150, 150]
    await journal.close()


async def test_what_arrives_during_a_commit_is_the_next_one(file: Path) -> None:
    commits: list[int] = []
    slow_disk = threading.Event()

    def on_commit(_seconds: float, entries: int) -> None:
        commits.append(entries)
        assert slow_disk.wait(20)

    journal = SqliteJournal(file, sync="full", on_commit=on_commit)
    await journal.open()
    waiting = [asyncio.ensure_future(journal.append(entry(journal)))]
    for _ in range(5):  # each in a round of the loop of its own
        await asyncio.sleep(0)
        waiting.append(asyncio.ensure_future(journal.append(entry(journal))))
        await asyncio.sleep(0)
    assert not any(one.done() for one in waiting)
    slow_disk.set()
    await asyncio.gather(*waiting)
    assert sum(commits) == 6
    assert commits[0] + commits[1] == 6
    await journal.close()


async def test_closing_writes_what_was_handed_in_and_takes_nothing_more(file: Path) -> None:
    journal = journal_at(file)
    await journal.open()
    waiting = [asyncio.ensure_future(journal.append(entry(journal))) for _ in range(40)]
    await asyncio.sleep(0)
    await journal.close()
    assert await asyncio.gather(*waiting) == [None] * 40
    late = entry(journal)
    with pytest.raises(JournalError):
        await journal.append(late)
    with pytest.raises(JournalError):
        await journal.find(late.request_id, owner=None)
    again = journal_at(file)
    await again.open()
    assert len(await again.select(Query(limit=100))) == 40
    await again.close()


async def test_a_journal_that_is_not_open_says_so(file: Path) -> None:
    journal = journal_at(file)
    with pytest.raises(JournalError, match="not open"):
        await journal.append(entry(journal))
    with pytest.raises(JournalError, match="not open"):
        await journal.select(Query())
    await journal.close()


WRITE_WITHOUT_END = """
import asyncio, sys
from pathlib import Path
from hermes.journal.sqlite import SqliteJournal
from tests.support.disk import no_room
from tests.support.entries import ended, entry
from tests.support.journals import journal_at

async def write(journal):
    while True:
        accepted = entry(journal)
        await journal.append(accepted)
        print("accepted", accepted.request_id, flush=True)
        await journal.finish(ended(accepted))
        print("ended", accepted.request_id, flush=True)

async def main():
    journal = SqliteJournal(Path(sys.argv[1]), sync="normal", on_commit=lambda *_: None)
    await journal.open()
    await asyncio.gather(*(write(journal) for _ in range(8)))

asyncio.run(main())
"""


def write_and_be_killed(file: Path) -> dict[str, str]:
    """Let a process write to the journal, kill it, and return what it told last of each request_id."""
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITE_WITHOUT_END, str(file)],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    told = [writer.stdout.readline() for _ in range(300)]
    writer.kill()
    told += writer.stdout.read().splitlines(keepends=True)
    writer.wait()
    writer.stdout.close()
    return {line.split()[1]: line.split()[0] for line in told if line.endswith("\n")}


async def test_invariant_what_was_acknowledged_survives_the_death_of_the_process(file: Path) -> None:
    last_told = write_and_be_killed(file)
    assert len(last_told) > 10
    journal = journal_at(file)
    await journal.open()
    for request_id, told_as in last_told.items():
        found = await journal.find(request_id, owner=None)
        assert found is not None, request_id
        assert told_as == "accepted" or found.status == "succeeded"
    newest = (await journal.select(Query(limit=1)))[0]
    assert journal.next_id() > newest.id
    await journal.close()


async def test_a_full_disk_fails_what_it_hits_and_is_forgotten_once_there_is_room(
    journal: SqliteJournal, file: Path
) -> None:
    kept = entry(journal)
    await journal.append(kept)
    large = entry(journal, record=b"x" * 3_000_000)
    with no_room(file.parent):
        with pytest.raises(JournalError, match="the journal cannot be written: "):
            await journal.append(large)
        assert str(await journal.trouble()).startswith("the journal cannot be written: ")
        assert await journal.select(Query()) == [kept]
    assert await journal.trouble() is None
    assert await journal.append(large) is None
    assert await journal.select(Query()) == [large, kept]


async def test_an_entry_that_cannot_be_written_fails_and_the_next_one_is_kept(journal: SqliteJournal) -> None:
    for impossible in ({"id": 2**70}, {"session_id": "\ud800"}):
        with pytest.raises(JournalError, match="the journal cannot be written: "):
            await journal.append(entry(journal, **impossible))
    assert await journal.append(entry(journal)) is None
    assert await journal.trouble() is None


async def test_a_commit_that_failed_is_not_counted(file: Path) -> None:
    commits: list[int] = []
    journal = journal_at(file, commits)
    await journal.open()
    with pytest.raises(JournalError):
        await journal.append(entry(journal, id=2**70))
    await journal.append(entry(journal))
    await journal.close()
    assert commits == [1]


async def test_a_file_that_another_process_holds_is_trouble_until_it_lets_go(file: Path) -> None:
    journal = journal_at(file)
    await journal.open()
    accepted = entry(journal)
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    held_up = asyncio.ensure_future(journal.append(accepted))
    second = journal_at(file)
    with pytest.raises(StartError, match="locked"):
        await asyncio.to_thread(asyncio.run, second.open())
    with pytest.raises(JournalError, match="locked"):
        await held_up
    assert await journal.find(accepted.request_id, owner=None) is None
    other.execute("ROLLBACK")
    other.close()
    assert await journal.trouble() is None
    await journal.append(accepted)
    await journal.close()


def damage(file: Path, pages: slice) -> None:
    content = bytearray(file.read_bytes())
    damaged = slice(pages.start * 4096, pages.stop * 4096)
    content[damaged] = os.urandom(len(content[damaged]))
    file.write_bytes(content)


async def test_a_damaged_page_fails_the_reading_with_a_sentence(file: Path) -> None:
    journal = journal_at(file)
    await journal.open()
    kept = [entry(journal, record=b"x" * 2000) for _ in range(100)]
    await asyncio.gather(*map(journal.append, kept))
    await journal.close()
    damage(file, slice(8, -8))
    await journal.open()
    with pytest.raises(JournalError, match="the journal cannot be read: "):
        await journal.select(Query(limit=1000))
    await journal.close()


@pytest.mark.parametrize("harm", ["removed", "replaced", "emptied"])
async def test_a_file_that_is_taken_away_under_the_journal_refuses_what_would_be_lost(
    tmp_path: Path, harm: str
) -> None:
    file = tmp_path / "journal.db"
    journal = SqliteJournal(file, sync="normal", on_commit=lambda _seconds, _entries: None)
    await journal.open()
    assert await journal.append(entry(journal)) is None
    if harm == "removed":
        file.unlink()
    elif harm == "replaced":
        other = tmp_path / "other.db"
        other.write_bytes(file.read_bytes())
        other.replace(file)
    else:
        os.truncate(file, 0)
    assert "removed, replaced or emptied" in str(await journal.trouble())
    with pytest.raises(JournalError, match="removed, replaced or emptied"):
        await journal.append(entry(journal))
    await journal.close()
