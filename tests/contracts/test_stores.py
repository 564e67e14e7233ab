"""What every store has to do, whatever keeps it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes.catalog import find, known
from hermes.errors import StoreError
from hermes.stores.base import LONGEST, Store
from tests.support.redis_server import RedisServer

ODD = [
    "a",
    "A",
    "a*",
    "a?",
    "[a]",
    "a\\",
    "a\\*",
    "会话:小王",
    "🚀",
    "é",
    "e\u0301",
    'it\'s "so"',
    " ",
    "",
    "\n\x01",
    "%_",
]


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture(params=known("stores"))
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """Makes stores of one kind, each on the same empty place if the kind has one."""
    adapter = find("stores", request.param)
    wanted = inspect.signature(adapter).parameters.keys()
    offered: dict[str, Any] = {"file": tmp_path / "store.db", "sync": "normal", "prefix": "h[*]:"}
    if "url" in wanted:
        server: RedisServer = request.getfixturevalue("redis_server")
        server.command("FLUSHALL")
        offered["url"] = server.url

    def make_one() -> Store:
        made: Store = adapter(**{name: offered[name] for name in wanted if name in offered})
        return made

    return make_one


@pytest.fixture
async def store(make: Callable[[], Store]) -> AsyncIterator[Store]:
    store = make()
    await store.open()
    yield store
    await store.close()


async def keys(store: Store, prefix: str = "") -> list[str]:
    return sorted({key async for key in store.scan(prefix)})


async def gone(store: Store, key: str) -> None:
    """Wait until a key is not there any more."""
    async with asyncio.timeout(15):
        while True:
            if await store.get(key) is None:
                return
            await asyncio.sleep(0.005)


async def test_a_value_comes_back_byte_for_byte(store: Store) -> None:
    values = [b"", b"\0", bytes(range(256)), "部署 web 🚀".encode(), b"x" * (1 << 20)]
    for number, value in enumerate(values):
        await store.put(f"k{number}", value)
    assert [await store.get(f"k{number}") for number in range(len(values))] == values
    assert await store.get("other") is None


async def test_the_latest_value_wins(store: Store) -> None:
    await asyncio.gather(*(store.put("k", b"%d" % number) for number in range(20)))
    await store.put("k", b"last")
    assert await store.get("k") == b"last"


async def test_keys_that_look_alike_are_each_their_own(store: Store) -> None:
    for key in ODD:
        await store.put(key, key.encode())
    assert [await store.get(key) for key in ODD] == [key.encode() for key in ODD]
    assert await keys(store) == sorted(ODD)
    assert await store.delete("a*")
    assert await keys(store) == sorted(set(ODD) - {"a*"})


@pytest.mark.parametrize("key", ["a\0b", "\ud800"])
async def test_what_is_no_key_is_refused_and_harms_nobody_beside_it(store: Store, key: str) -> None:
    async def scan() -> list[str]:
        return await keys(store, key)

    refused = [
        store.get(key),
        store.put(key, b""),
        store.delete(key),
        store.swap(key, b"", expected=None),
        scan(),
    ]
    *outcomes, beside = await asyncio.gather(*refused, store.put("k", b"v"), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [StoreError] * len(refused)
    assert beside is None
    assert await keys(store) == ["k"]


@pytest.mark.parametrize("ttl", [0.0, -1.0, float("nan"), float("inf")])
async def test_what_is_no_time_to_live_is_refused(store: Store, ttl: float) -> None:
    with pytest.raises(StoreError, match="time to live"):
        await store.put("k", b"v", ttl=ttl)
    with pytest.raises(StoreError, match="time to live"):
        await store.swap("k", b"v", expected=None, ttl=ttl)
    assert await store.get("k") is None


async def test_a_value_is_there_for_its_time_and_not_longer(store: Store) -> None:
    await store.put("short", b"v", ttl=0.05)
    await store.put("swapped", b"v")
    assert await store.swap("swapped", b"w", expected=b"v", ttl=0.05)
    assert await store.swap("new", b"v", expected=None, ttl=0.05)
    await store.put("long", b"v", ttl=LONGEST)
    await store.put("for good", b"v")
    for key in ("short", "swapped", "new"):
        await gone(store, key)
    assert await keys(store) == ["for good", "long"]
    assert not await store.delete("short")
    assert not await store.swap("swapped", b"x", expected=b"w")
    assert await store.swap("new", b"again", expected=None)
    assert await store.get("new") == b"again"


async def test_a_new_value_brings_its_own_time(store: Store) -> None:
    await store.put("kept", b"v", ttl=0.05)
    await store.put("kept", b"w")
    await store.put("swapped", b"v", ttl=0.05)
    assert await store.swap("swapped", b"w", expected=b"v")
    await store.put("witness", b"v", ttl=0.05)
    await gone(store, "witness")
    assert [await store.get(key) for key in ("kept", "swapped")] == [b"w", b"w"]


async def test_a_key_is_removed_once(store: Store) -> None:
    await store.put("k", b"v")
    assert [await store.delete("k"), await store.delete("k"), await store.delete("never")] == [
        True,
        False,
        False,
    ]
    assert await store.get("k") is None


async def test_a_swap_takes_place_only_if_the_value_is_the_expected_one(store: Store) -> None:
    assert not await store.swap("k", b"1", expected=b"")
    assert await store.swap("k", b"1", expected=None)
    assert not await store.swap("k", b"2", expected=None)
    assert not await store.swap("k", b"2", expected=b"0")
    assert await store.get("k") == b"1"
    assert await store.swap("k", b"\0\xff", expected=b"1")
    assert await store.swap("k", b"", expected=b"\0\xff")
    assert await store.get("k") == b""


async def test_invariant_of_many_who_swap_at_once_one_wins(store: Store) -> None:
    first = await asyncio.gather(*(store.swap("k", b"%d" % number, expected=None) for number in range(50)))
    assert first.count(True) == 1
    held = await store.get("k")
    assert held == b"%d" % first.index(True)
    second = await asyncio.gather(*(store.swap("k", b"n%d" % number, expected=held) for number in range(50)))
    assert second.count(True) == 1
    assert await store.get("k") == b"n%d" % second.index(True)


async def test_no_count_is_lost_when_many_count_by_swapping(store: Store) -> None:
    async def count() -> None:
        while True:
            before = await store.get("n")
            if await store.swap("n", b"%d" % (int(before or 0) + 1), expected=before):
                return

    await asyncio.gather(*(count() for _ in range(20)))
    assert await store.get("n") == b"20"


async def test_a_scan_gives_the_keys_that_begin_with_the_prefix_whatever_is_in_it(store: Store) -> None:
    names = ["a:1", "a:2", "ab", "a*:1", "a?:1", "[ab]:1", "a\\:1", "部署:1", "部署:2", "部门"]
    for name in names:
        await store.put(name, b"v")
    for prefix in [
        "",
        "a",
        "a:",
        "a*",
        "a?",
        "[",
        "[ab]",
        "a\\",
        "*",
        "部",
        "部署:",
        "a:1",
        "z",
        "\U0010ffff",
    ]:
        assert await keys(store, prefix) == sorted(name for name in names if name.startswith(prefix)), prefix


async def test_a_scan_gives_what_is_there_throughout_while_others_come_and_go(store: Store) -> None:
    stay = [f"s:{number:04}" for number in range(1200)]
    await asyncio.gather(*(store.put(key, b"v") for key in stay))
    seen = set()
    async for key in store.scan("s:"):
        seen.add(key)
        if len(seen) % 100 == 0:
            await store.put(f"s:{len(seen):04}+", b"v")
            await store.delete(f"s:{len(seen) - 100:04}+")
    assert set(stay) <= seen


async def test_a_store_that_works_has_no_trouble(store: Store) -> None:
    await store.put("k", b"v")
    assert await store.trouble() is None


async def test_a_store_can_be_closed_twice_and_opened_again(make: Callable[[], Store]) -> None:
    store = make()
    await store.open()
    await store.put("k", b"v")
    await store.close()
    await store.close()
    await store.open()
    assert await store.get("k") in {b"v", None}  # kept or not: not every kind outlives its closing
    await store.put("k", b"w")
    assert await store.get("k") == b"w"
    await store.close()
