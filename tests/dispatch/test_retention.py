"""What ended long ago, or takes too much room, is forgotten step by step beside all else."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from hermes.dispatch.retention import Retention
from hermes.errors import JournalError
from hermes.journal.base import Entry, Journal, Query
from hermes.observe.metrics import Metrics
from tests.support.bench import eventually
from tests.support.entries import ended, entry
from tests.support.house import House
from tests.support.journals import FragileJournal
from tests.support.logbook import Logbook

DAY = 86400.0
LARGE = b'{"text":"' + b"x" * 10_000 + b'"}'


@pytest.fixture
async def journal(durable: House) -> Journal:
    """A journal in a file."""
    return durable.journal


def retention(
    journal: Journal, book: Logbook, *, max_age: float = DAY, max_bytes: int = 1 << 40
) -> Retention:
    return Retention(journal, max_age=max_age, max_bytes=max_bytes, log=book.log, metrics=Metrics())


async def fill(journal: Journal, count: int, *, age: float, **members: Any) -> list[Entry]:
    """Keep so many entries that have ended and came so long ago, in seconds."""
    kept = [ended(entry(journal, received_at=time.time() - age, **members)) for _ in range(count)]
    await asyncio.gather(*map(journal.append, kept))
    return kept


async def ids(journal: Journal) -> list[int]:
    """Return what there is, oldest first."""
    return [one.id for one in await journal.select(Query(limit=10_000))][::-1]


async def test_what_is_too_old_goes_and_the_rest_stays(journal: Journal, book: Logbook) -> None:
    await fill(journal, 250, age=DAY + 60)
    young = await fill(journal, 50, age=DAY - 600)
    metrics = Metrics()
    keeper = Retention(journal, max_age=DAY, max_bytes=1 << 40, log=book.log, metrics=metrics)
    assert await keeper.sweep() == 250
    assert await ids(journal) == [one.id for one in young]
    assert [line["count"] for line in book.lines(event="messages_removed")] == [250]
    assert metrics.registry.get_sample_value("hermes_messages_removed_total") == 250
    assert await keeper.sweep() == 0
    assert len(book.lines(event="messages_removed")) == 1, "nothing is said about nothing"


async def test_what_has_not_ended_stays_however_old_and_large(journal: Journal, book: Logbook) -> None:
    waiting = [
        entry(journal, received_at=1.0, record=LARGE, status="awaiting_confirmation") for _ in range(5)
    ]
    await asyncio.gather(*map(journal.append, waiting))
    await fill(journal, 120, age=DAY + 60)
    assert await retention(journal, book, max_bytes=1).sweep() == 120
    assert await journal.replay(after=0, limit=10) == waiting
    assert await retention(journal, book, max_bytes=1).sweep() == 0


async def test_while_there_is_too_much_the_oldest_go(journal: Journal, book: Logbook) -> None:
    kept = await fill(journal, 400, age=60, record=LARGE)
    full = await journal.size()
    assert await retention(journal, book, max_bytes=full).sweep() == 0
    removed = await retention(journal, book, max_bytes=full // 2).sweep()
    assert 200 <= removed <= 300, "a step of a hundred too many at most"
    assert await journal.size() <= full // 2
    assert await ids(journal) == [one.id for one in kept[removed:]]


async def test_messages_that_arrive_meanwhile_are_taken_and_kept(journal: Journal, book: Logbook) -> None:
    await fill(journal, 600, age=DAY + 60)
    sweeping = asyncio.ensure_future(retention(journal, book).sweep())
    arrived = []
    while not sweeping.done():
        new = entry(journal, received_at=time.time())
        assert await journal.append(new) is None
        arrived.append(new)
        await asyncio.sleep(0.001)
    assert await sweeping == 600
    assert len(arrived) > 5
    assert await journal.replay(after=0, limit=10_000) == arrived


async def test_what_is_removed_can_be_sent_again(durable: House) -> None:
    durable.write("p", "async def handle(message, context):\n    return message['payload']\n")
    durable.open()
    await durable.send(None, "p", request_id="r1")  # a house receives everything in 2001
    assert await retention(durable.journal, durable.book).sweep() == 1
    assert (await durable.send(None, "p", request_id="r1"))["status"] == "succeeded"


async def test_a_journal_in_trouble_is_survived(book: Logbook) -> None:
    journal = FragileJournal()
    await fill(journal, 3, age=DAY + 60)
    journal.away = True
    keeper = retention(journal, book)
    with pytest.raises(JournalError):
        await keeper.sweep()
    running = asyncio.ensure_future(keeper.run())
    await eventually(lambda: book.lines(event="retention_failed"))
    assert not running.done()
    journal.away = False
    assert await keeper.sweep() == 3
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
