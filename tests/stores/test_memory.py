from __future__ import annotations

import asyncio
import tracemalloc

from hermes.stores.memory import MemoryStore


async def test_entries_whose_time_is_up_leave_memory_with_the_calls_that_follow() -> None:
    store = MemoryStore()
    await store.put("stays", b"v")
    tracemalloc.start()
    try:
        for number in range(200):
            await store.put(f"k{number}", bytes(100_000), ttl=0.05)
        full, _ = tracemalloc.get_traced_memory()
        assert full > 10_000_000
        async with asyncio.timeout(15):
            while (await store.get("k199")) is not None:  # noqa: ASYNC110 - there is nothing that tells
                await asyncio.sleep(0.005)
        for _ in range(200):
            await store.get("other")
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert left < full / 10
    assert await store.get("stays") == b"v"


async def test_a_key_that_is_written_for_ever_takes_the_room_of_one() -> None:
    store = MemoryStore()
    tracemalloc.start()
    try:
        for _ in range(100):
            await store.put("k", bytes(1000), ttl=3600)
        before, _ = tracemalloc.get_traced_memory()
        for _ in range(5000):
            await store.put("k", bytes(1000), ttl=3600)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after < before + 20_000
