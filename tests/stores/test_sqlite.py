from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.errors import StartError, StoreError
from hermes.stores.sqlite import SqliteStore
from tests.support.bench import eventually
from tests.support.disk import no_room


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def told() -> list[str | None]:
    return []


@pytest.fixture
async def store(file: Path, told: list[str | None]) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(file=file, sync="normal", on_change=told.append)
    await store.open()
    yield store
    await store.close()


def rows(file: Path, condition: str = "1") -> int:
    """Count the rows that are in the file, over or not."""
    with contextlib.closing(sqlite3.connect(file)) as connection:
        sql = f"SELECT count(*) FROM entries WHERE {condition}"
        return int(connection.execute(sql).fetchone()[0])


async def test_values_outlive_the_store_that_took_them(store: SqliteStore, file: Path) -> None:
    await asyncio.gather(
        *(store.put(f"k{number}", b"v") for number in range(100)), store.put("t", b"v", ttl=3600)
    )
    await store.close()
    again = SqliteStore(file=file)
    await again.open()
    assert [key async for key in again.scan("k1")] == ["k1", *(f"k1{number}" for number in range(10))]
    assert await again.get("t") == b"v"
    await again.close()


async def test_what_was_handed_in_before_the_end_is_written(store: SqliteStore, file: Path) -> None:
    writing = [asyncio.ensure_future(store.put(f"k{number}", b"v")) for number in range(50)]
    await asyncio.sleep(0)
    await store.close()
    await asyncio.gather(*writing)
    assert rows(file) == 50
    for call in (store.put("late", b"v"), store.get("k1"), store.trouble()):
        with pytest.raises(StoreError, match="not open"):
            await call


async def test_time_goes_on_while_the_store_is_closed_and_what_is_over_leaves_the_file_in_steps(
    file: Path,
) -> None:
    store = SqliteStore(file=file, sync="normal")
    await store.open()
    await store.put("stays", b"v", ttl=3600)  # the sweep of the opening comes before the next group
    await asyncio.gather(*(store.put(f"k{number}", b"v", ttl=0.05) for number in range(1200)))
    await store.close()
    await eventually(lambda: rows(file, f"expires < {time.time()}") == 1200)
    await store.open()
    await eventually(lambda: rows(file) == 1)
    assert [key async for key in store.scan("")] == ["stays"]
    await store.close()


async def test_a_full_disk_is_trouble_until_there_is_room(
    store: SqliteStore, file: Path, told: list[str | None]
) -> None:
    await store.put("k", b"v")
    with no_room(file.parent):
        with pytest.raises(StoreError, match="the store cannot be written: "):
            await store.put("large", bytes(3_000_000))
        trouble = await store.trouble()
        assert str(trouble).startswith("the store cannot be written: ")
        assert await store.get("k") == b"v"
    assert await store.trouble() is None
    await store.put("large", bytes(3_000_000))
    assert told == [trouble, None]


async def test_nobody_who_reads_waits_for_somebody_who_writes(store: SqliteStore, file: Path) -> None:
    await store.put("k", b"v")
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    held_up = asyncio.ensure_future(store.swap("k", b"w", expected=b"v"))
    assert [await store.get("k") for _ in range(20)] == [b"v"] * 20
    assert not held_up.done()
    other.execute("ROLLBACK")
    other.close()
    assert await held_up
    assert await store.get("k") == b"w"


WRITE_WITHOUT_END = """
import asyncio, sys
from pathlib import Path
from hermes.stores.sqlite import SqliteStore

async def write(store, name):
    held = None
    for number in range(10**9):
        value = str(number).encode()
        assert await store.swap(name, value, expected=held)
        held = value
        print(name, number, flush=True)

async def main():
    store = SqliteStore(file=Path(sys.argv[1]), sync="normal")
    await store.open()
    await asyncio.gather(*(write(store, f"w{number}") for number in range(8)))

asyncio.run(main())
"""


def write_and_be_killed(file: Path) -> dict[str, str]:
    """Let a process write to the store, kill it, and return the last number it told for each key."""
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITE_WITHOUT_END, str(file)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    lines = [writer.stdout.readline() for _ in range(300)]
    writer.kill()
    lines += writer.stdout.read().splitlines(keepends=True)
    writer.wait()
    writer.stdout.close()
    return dict(line.split() for line in lines if line.endswith("\n"))


async def test_invariant_what_was_acknowledged_survives_the_death_of_the_process(file: Path) -> None:
    told = write_and_be_killed(file)
    assert len(told) == 8
    store = SqliteStore(file=file)
    await store.open()
    for name, number in told.items():
        assert int(await store.get(name) or -1) >= int(number)
    await store.close()


async def test_what_is_kept_is_for_the_daemon_alone(store: SqliteStore, file: Path) -> None:
    await store.put("k", b"v")
    assert {path.name: path.stat().st_mode & 0o777 for path in file.parent.iterdir()} == {
        "store.db": 0o600,
        "store.db-shm": 0o600,
        "store.db-wal": 0o600,
    }


async def refusal(file: Path) -> str:
    """Open a store that cannot be opened, and return the sentence that says why."""
    store = SqliteStore(file=file)
    with pytest.raises(StartError) as refused:
        await store.open()
    await store.close()
    assert str(file) in refused.value.detail
    return refused.value.detail


def test_a_file_of_a_later_version_is_refused_and_left_as_it_is(file: Path) -> None:
    later = sqlite3.connect(file)
    later.execute("PRAGMA user_version = 99")
    later.close()
    content = file.read_bytes()
    assert "later version of Hermes (format 99)" in asyncio.run(refusal(file))
    assert file.read_bytes() == content


def test_what_is_no_store_is_refused(tmp_path: Path, file: Path) -> None:
    assert "unable to open" in asyncio.run(refusal(tmp_path))
    assert "unable to open" in asyncio.run(refusal(tmp_path / "missing" / "store.db"))
    file.write_bytes(b"not a database, " * 1000)
    assert "not a database" in asyncio.run(refusal(file))


def damage(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[8 * 4096 : -8 * 4096] = os.urandom(len(content) - 16 * 4096)
    file.write_bytes(content)


async def test_a_damaged_file_fails_the_reading_with_a_sentence(file: Path) -> None:
    store = SqliteStore(file=file)
    await store.open()
    await asyncio.gather(*(store.put(f"k{number}", bytes(2000)) for number in range(200)))
    await store.close()
    damage(file)
    await store.open()
    with pytest.raises(StoreError, match="the store cannot be "):
        await asyncio.gather(*(store.get(f"k{number}") for number in range(200)))
    await store.close()


def test_an_empty_file_beside_a_log_that_is_not_is_refused_and_the_log_is_left(file: Path) -> None:
    file.touch()
    log = file.with_name("store.db-wal")
    log.write_bytes(b"values")
    with pytest.raises(
        StartError, match=r"is empty and its write-ahead log is not; run hermes check --repair"
    ):
        asyncio.run(SqliteStore(file=file).open())
    assert (file.read_bytes(), log.read_bytes()) == (b"", b"values")
