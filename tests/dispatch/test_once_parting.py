"""A call that is over while what it said last is still being written: who comes next waits for that and is told what it was."""

from __future__ import annotations

import asyncio

import orjson
import pytest

from hermes.dispatch.once import Once, OnceScope
from hermes.dispatch.once_states import States
from hermes.stores.memory import MemoryStore
from tests.support.bench import HOLD, eventually
from tests.support.house import House


class SlowStore(MemoryStore):
    """Writes nothing until its gate is open; `reads` and `writes` count what was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()
        self.reads = self.writes = 0

    async def get(self, key: str) -> bytes | None:
        self.reads += 1
        return await super().get(key)

    async def put(self, key: str, value: bytes, *, ttl: float | None = None) -> None:
        self.writes += 1
        await self.gate.wait()
        await super().put(key, value, ttl=ttl)

    async def delete(self, key: str) -> bool:
        self.writes += 1
        await self.gate.wait()
        return await super().delete(key)


@pytest.fixture
async def store(house: House) -> SlowStore:
    return SlowStore()


@pytest.fixture
async def calls(house: House, store: SlowStore) -> list[OnceScope]:
    """Two attempts at one message."""
    house.write("p", HOLD)
    house.open()
    live, once = await house.begin(None, "p"), Once(States(store, None, ttl=1e10))
    return [once.scope(live, plugin="p", call=call) for call in ("c1", "c2")]


async def ask(call: OnceScope, method: str, **params: object) -> object:
    """Return the answer to a request about one key."""
    return orjson.loads(orjson.dumps(await call.answer(f"once.{method}", {"key": "工单", **params})))


@pytest.mark.parametrize(
    ("last", "found"),
    [("done", {"state": "done", "result": 7}), ("fail", {"state": "new"})],
)
async def test_who_comes_next_is_told_what_the_one_before_said_last(
    store: SlowStore, calls: list[OnceScope], last: str, found: object
) -> None:
    first, second = calls
    assert await ask(first, "begin") == {"state": "new"}
    said = asyncio.create_task(ask(first, last, result=7))
    await eventually(lambda: store.writes == 1)
    first.leave()  # its worker has died
    reads = store.reads
    begun = asyncio.create_task(ask(second, "begin"))
    await eventually(lambda: store.reads > reads)
    store.gate.set()
    assert await said == {}
    assert await begun == found


async def test_who_is_over_too_waits_for_nobody(store: SlowStore, calls: list[OnceScope]) -> None:
    first, second = calls
    assert await ask(first, "begin") == {"state": "new"}
    said = asyncio.create_task(ask(first, "done", result=7))
    await eventually(lambda: store.writes == 1)
    first.leave()
    asked = second.answer("once.begin", {"key": "工单"})
    second.leave()
    assert await asked == {"state": "running"}
    store.gate.set()
    assert await said == {}
