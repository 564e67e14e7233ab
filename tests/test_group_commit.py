from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from hermes.errors import HermesError
from hermes.group_commit import GroupCommit, transaction
from tests.support.disk import no_room


class LedgerError(HermesError):
    """The ledger of these tests could not be written."""


class Ledger:
    """Numbers in a table, written by a group commit: each number's result is its double, and None is refused.

    `groups` are those that were written; while `gate` is closed the thread stands before the next one.
    """

    def __init__(self, file: Path, *, limit: int = 1000) -> None:
        self.groups: list[list[int | None]] = []
        self.told: list[int] = []
        self.gate = threading.Event()
        self.gate.set()
        self.at_gate = threading.Event()
        self._connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("CREATE TABLE numbers (number INTEGER NOT NULL)")
        self.commits: GroupCommit[int | None, int] = GroupCommit(
            self._connection,
            self._write,
            name="the ledger",
            error=LedgerError,
            on_commit=lambda _seconds, items: self.told.append(items),
            limit=limit,
        )
        self.commits.start()

    async def block(self) -> asyncio.Future[int]:
        """Close the gate and bring the thread before it, with a group of one."""
        self.gate.clear()
        first = self.commits.put(0)
        await asyncio.to_thread(self.at_gate.wait, 20)
        return first

    def _write(self, group: Sequence[int | None]) -> Sequence[int]:
        self.at_gate.set()
        assert self.gate.wait(20)
        with transaction(self._connection):
            self._connection.executemany("INSERT INTO numbers VALUES (?)", [(number,) for number in group])
        self.groups.append(list(group))
        return [2 * (number or 0) for number in group]


def kept(file: Path) -> list[int]:
    connection = sqlite3.connect(file)
    rows = connection.execute("SELECT number FROM numbers ORDER BY rowid").fetchall()
    connection.close()
    return [number for (number,) in rows]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
async def ledger(file: Path) -> AsyncIterator[Ledger]:
    ledger = Ledger(file)
    yield ledger
    ledger.gate.set()
    await ledger.commits.stop()


async def test_what_arrives_in_one_round_of_the_loop_is_one_commit_and_each_gets_its_own_result(
    ledger: Ledger, file: Path
) -> None:
    assert await asyncio.gather(*(ledger.commits.put(number) for number in range(50))) == list(
        range(0, 100, 2)
    )
    assert ledger.groups == [list(range(50))]
    assert ledger.told == [50]
    assert kept(file) == list(range(50))


async def test_what_arrives_during_a_commit_is_the_next_one(ledger: Ledger) -> None:
    waiting = [await ledger.block()]
    for number in range(1, 6):
        waiting.append(ledger.commits.put(number))
        await asyncio.sleep(0)
    assert not any(one.done() for one in waiting)
    ledger.gate.set()
    assert await asyncio.gather(*waiting) == [0, 2, 4, 6, 8, 10]
    assert ledger.groups == [[0], [1, 2, 3, 4, 5]]


async def test_a_group_that_fails_fails_whole_and_harms_no_other(ledger: Ledger, file: Path) -> None:
    first = await ledger.block()
    bad = [ledger.commits.put(item) for item in (1, None, 2)]
    ledger.gate.set()
    assert await first == 0
    for future in bad:
        with pytest.raises(LedgerError, match="the ledger cannot be written: NOT NULL"):
            await future
    assert str(ledger.commits.trouble).startswith("the ledger cannot be written: NOT NULL")
    assert await ledger.commits.put(3) == 6
    assert ledger.commits.trouble is None
    assert kept(file) == [0, 3]
    assert ledger.told == [1, 1]


async def test_who_leaves_takes_nothing_back(ledger: Ledger, file: Path) -> None:
    left, stayed = ledger.commits.put(1), ledger.commits.put(2)
    left.cancel()
    assert await stayed == 4
    assert kept(file) == [1, 2]


async def test_more_than_the_limit_is_refused_until_there_is_room(file: Path) -> None:
    ledger = Ledger(file, limit=3)
    first = await ledger.block()
    taken = [ledger.commits.put(number) for number in range(3)]
    for refused in (ledger.commits.put(3), ledger.commits.put(4)):
        with pytest.raises(LedgerError, match="the ledger cannot keep up: 3 entries are waiting"):
            await refused
    ledger.gate.set()
    await asyncio.gather(first, *taken)
    assert await ledger.commits.put(5) == 10
    await ledger.commits.stop()


async def test_stopping_writes_what_was_handed_in_and_takes_nothing_more(file: Path) -> None:
    ledger = Ledger(file)
    handed_in = [ledger.commits.put(number) for number in range(5)]
    work = ledger.commits.run(
        lambda connection: connection.execute("INSERT INTO numbers VALUES (99)").rowcount
    )
    stopping = asyncio.ensure_future(ledger.commits.stop())
    await asyncio.sleep(0)
    late: list[asyncio.Future[Any]] = [
        ledger.commits.put(6),
        ledger.commits.run(lambda _: 0),
        ledger.commits.probe(),
    ]
    for refused in late:
        with pytest.raises(LedgerError, match="the ledger is closed"):
            await refused
    await stopping
    assert await asyncio.gather(*handed_in, work) == [0, 2, 4, 6, 8, 1]
    assert kept(file) == [0, 1, 2, 3, 4, 99]


async def test_work_runs_between_groups_in_turn_and_is_no_group(ledger: Ledger) -> None:
    order: list[str] = []

    def note(name: str, _connection: sqlite3.Connection) -> None:
        order.append(name)

    first = await ledger.block()
    works = [ledger.commits.run(partial(note, f"work {number}")) for number in range(2)]
    second = ledger.commits.put(1)
    second.add_done_callback(lambda _: order.append("group"))
    ledger.gate.set()
    await asyncio.gather(first, second, *works)
    assert order[0] == "work 0"
    assert set(order[1:]) == {"group", "work 1"}
    assert ledger.told == [1, 1]


async def test_work_that_fails_is_undone_and_harms_no_group_beside_it(ledger: Ledger, file: Path) -> None:
    def fail(connection: sqlite3.Connection) -> None:
        connection.execute("DELETE FROM numbers")
        raise ValueError("not like this")

    await ledger.commits.put(1)
    work, group = ledger.commits.run(fail), ledger.commits.put(2)
    with pytest.raises(LedgerError, match="the ledger cannot be written: not like this"):
        await work
    assert await group == 4
    assert ledger.commits.trouble is None
    assert kept(file) == [1, 2]


async def test_work_that_ends_the_transaction_itself_fails_alone(ledger: Ledger, file: Path) -> None:
    with pytest.raises(LedgerError):
        await ledger.commits.run(lambda connection: connection.execute("COMMIT"))
    assert await ledger.commits.put(1) == 2
    assert kept(file) == [1]


async def test_a_probe_finds_out_whether_there_is_room_again_and_leaves_nothing(
    ledger: Ledger, file: Path
) -> None:
    await ledger.commits.put(1)
    with no_room(file.parent):
        for future in [ledger.commits.probe() for _ in range(3)]:
            with pytest.raises(LedgerError, match="the ledger cannot be written: "):
                await future
        assert str(ledger.commits.trouble).startswith("the ledger cannot be written: ")
    await asyncio.gather(*(ledger.commits.probe() for _ in range(3)))
    assert ledger.commits.trouble is None
    assert ledger.told == [1]
    assert await ledger.commits.run(_tables) == ["numbers"]


def _tables(connection: sqlite3.Connection) -> list[str]:
    return [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
