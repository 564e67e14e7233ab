"""A pipeline with a real host, on the event loop that the daemon runs on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from pathlib import Path

import pytest
import uvloop

from hermes.journal.sqlite import SqliteJournal
from tests.support.house import House
from tests.support.journals import FragileJournal
from tests.support.logbook import Logbook


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Run these tests on the daemon's own kind of loop."""
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture
def book() -> Iterator[Logbook]:
    """The log of one test."""
    with Logbook() as book:
        yield book


@pytest.fixture
async def house(tmp_path: Path, book: Logbook) -> AsyncIterator[House]:
    """A pipeline and a host without plugins; both are stopped with the test."""
    house = House(tmp_path, book)
    yield house
    await house.stop()


@pytest.fixture
async def durable(tmp_path: Path, book: Logbook) -> AsyncIterator[House]:
    """A house whose journal is a file."""
    house = House(tmp_path, book)
    house.journal = SqliteJournal(tmp_path / "journal.db", sync="normal", on_commit=lambda _s, _n: None)
    await house.journal.open()
    yield house
    await house.stop()
    await house.journal.close()


@pytest.fixture
async def restart() -> AsyncIterator[Callable[[House], Awaitable[House]]]:
    """Leaves a house as a kill would, and opens another on the same journal and folders; it is stopped with the test."""
    houses: list[House] = []

    async def next_start(house: House) -> House:
        await house.stop()
        again = House(house.home, house.book)
        again.journal = house.journal
        houses.append(again)
        again.open()
        await again.pipeline.recover()
        return again

    yield next_start
    for again in houses:
        await again.stop()


@pytest.fixture
def fragile(house: House) -> FragileJournal:
    """The journal of the house, which fails when the test says so."""
    house.journal = journal = FragileJournal()
    return journal
