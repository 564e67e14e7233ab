"""Redis on its bad days: away, slow, empty, refusing. Calls say so at once, nothing piles up, and it heals by itself."""

from __future__ import annotations

import asyncio
import traceback
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import psutil
import pytest

from hermes.errors import ConfigError, StoreError
from hermes.stores.redis import RedisStore
from tests.support.bench import eventually
from tests.support.redis_server import RedisServer

REFUSED = "Redis cannot be reached: Connection refused"
SILENT = "Redis does not answer in time"


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@asynccontextmanager
async def opened(url: str, **options: str) -> AsyncIterator[tuple[RedisStore, list[str | None]]]:
    """Open a store; beside it the list of the troubles that it tells, None for each end of one."""
    told: list[str | None] = []
    store = RedisStore(url=url, on_change=told.append, **options)
    await store.open()
    try:
        yield store, told
    finally:
        await store.close()


async def healed(told: list[str | None]) -> None:
    await eventually(lambda: bool(told) and told[-1] is None)


def connections(server: RedisServer) -> int:
    """Count the connections that this process has to the server."""
    held = psutil.Process().net_connections("tcp")
    return sum(1 for one in held if one.raddr and one.raddr.port == server.port)


async def test_a_redis_that_is_away_at_the_start_is_found_when_it_comes(server: RedisServer) -> None:
    server.stop()
    async with opened(server.url) as (store, told):
        assert await store.trouble() == REFUSED
        with pytest.raises(StoreError, match=REFUSED):
            await store.put("k", b"v")
        server.start()
        await healed(told)
        await store.put("k", b"v")
        assert await store.get("k") == b"v"
        assert await store.trouble() is None
    assert told == [REFUSED, None]


async def test_a_redis_that_goes_away_between_calls_is_noticed_by_the_next_one(server: RedisServer) -> None:
    async with opened(server.url) as (store, told):
        await store.put("k", b"v")
        await asyncio.to_thread(server.stop)
        assert await store.trouble() == REFUSED
        with pytest.raises(StoreError):
            await store.get("k")
        assert told == [REFUSED]


async def test_a_redis_that_dies_during_calls_fails_them_and_all_that_wait(server: RedisServer) -> None:
    async with opened(server.url) as (store, told):
        server.pause()
        calls = [asyncio.ensure_future(store.get("k")) for _ in range(60)]
        await eventually(lambda: connections(server) > 10)
        server.kill()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert {type(outcome) for outcome in outcomes} == {StoreError}
        server.start()
        await healed(told)
        assert await store.get("k") is None


async def test_a_redis_that_was_started_anew_is_empty_and_works(server: RedisServer) -> None:
    async with opened(server.url) as (store, told):
        await store.put("k", b"v")
        assert await store.swap("k", b"w", expected=b"v")
        await asyncio.to_thread(server.stop)
        await asyncio.to_thread(server.start)
        assert await store.get("k") is None
        assert not await store.swap("k", b"x", expected=b"w")
        assert await store.swap("k", b"x", expected=None)
        assert await store.get("k") == b"x"
        assert told == []


async def test_a_silent_redis_holds_nobody_up_and_nothing_piles_up(server: RedisServer) -> None:
    async with opened(server.url) as (store, told):
        server.pause()
        crowd = [asyncio.ensure_future(store.get(f"k{number}")) for number in range(500)]
        await eventually(lambda: connections(server) > 10)
        assert connections(server) <= 17
        outcomes = await asyncio.gather(*crowd, return_exceptions=True)
        assert {str(outcome) for outcome in outcomes} == {SILENT}
        before = connections(server)
        for _ in range(1000):
            with pytest.raises(StoreError, match=SILENT):
                await store.put("k", b"v")
        assert connections(server) <= max(before, 1)  # that of who looks for it
        assert len(asyncio.all_tasks()) == 2  # this one, and who looks for it
        assert await store.trouble() == SILENT
        server.resume()
        await healed(told)
        await store.put("k", b"v")
        assert told == [SILENT, None]


async def test_an_answer_that_comes_too_late_is_given_to_nobody_else(server: RedisServer) -> None:
    async with opened(server.url) as (store, told):
        for key in ("one", "two"):
            await store.put(key, key.encode())
        server.command("CLIENT", "PAUSE", "1500")
        with pytest.raises(StoreError, match=SILENT):
            await store.get("one")
        await healed(told)
        assert await asyncio.gather(*(store.get("two") for _ in range(20))) == [b"two"] * 20


async def test_a_caller_who_leaves_takes_no_answer_from_others(server: RedisServer) -> None:
    async with opened(server.url) as (store, told):
        for key in ("one", "two"):
            await store.put(key, key.encode())
        server.command("CLIENT", "PAUSE", "300")
        leaving = [asyncio.ensure_future(store.get("one")) for _ in range(20)]
        await asyncio.sleep(0.05)
        for call in leaving:
            call.cancel()
        await asyncio.wait(leaving)
        assert await asyncio.gather(*(store.get("two") for _ in range(40))) == [b"two"] * 40
        assert told == []


async def test_a_wrong_password_is_said_without_it_and_heals_when_it_is_right() -> None:
    with RedisServer(password="right-one") as server:
        wrong = server.url.replace("right-one", "hunter2")
        async with opened(wrong) as (store, told):
            with pytest.raises(StoreError) as caught:
                await store.get("k")
            assert await store.trouble() == "Redis refuses the user or the password"
            assert "hunter2" not in "".join(traceback.format_exception(caught.value)) + repr(told)
            server.command("CONFIG", "SET", "requirepass", "hunter2")
            await healed(told)
            await store.put("k", b"v")


async def test_a_password_that_is_right_opens(server: RedisServer) -> None:
    with RedisServer(password="p%40ss") as guarded:  # @ and all
        guarded.command("CONFIG", "SET", "requirepass", "p@ss")
        async with opened(guarded.url) as (store, told):
            await store.put("k", b"v")
            assert told == []


async def test_a_replica_is_trouble_until_it_takes_writes(server: RedisServer) -> None:
    async with opened(server.url) as (store, told):
        server.command("REPLICAOF", "127.0.0.1", "1")
        with pytest.raises(StoreError, match="replica"):
            await store.put("k", b"v")
        assert await store.trouble() == "Redis takes no writes: it is a replica"
        server.command("REPLICAOF", "NO", "ONE")
        await healed(told)
        await store.put("k", b"v")


async def test_a_full_redis_is_trouble_until_there_is_room(server: RedisServer) -> None:
    async with opened(server.url) as (store, told):
        server.command("CONFIG", "SET", "maxmemory", "1")
        with pytest.raises(StoreError, match="no memory"):
            await store.put("k", b"v")
        assert await store.trouble() == "Redis has no memory left"
        server.command("CONFIG", "SET", "maxmemory", "0")
        await healed(told)
        await store.put("k", b"v")


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"-LOADING Redis is loading the dataset in memory\r\n", "Redis is still loading its data"),
        (b"-MISCONF Redis is configured to save RDB snapshots\r\n", "Redis takes no writes: it cannot save"),
        (b"-NOPERM this user has no permissions\r\n", "Redis does not let this user read and write the keys"),
        (b"-TEAPOT hunter2 was sent\r\n", "Redis answers with the error TEAPOT"),
        (b"-ERR max number of clients reached\r\n", "Redis has too many clients"),
        (b"HTTP/1.1 400 Bad Request\r\n", "Redis cannot be reached"),
    ],
)
async def test_what_redis_answers_is_said_in_words_of_our_own(answer: bytes, reason: str) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.read(65536):
            writer.write(answer)
        writer.close()

    fake = await asyncio.start_server(talk, "127.0.0.1", 0)
    port = fake.sockets[0].getsockname()[1]
    async with fake, opened(f"redis://127.0.0.1:{port}") as (store, told):
        assert await store.trouble() == reason
        with pytest.raises(StoreError, match=reason):
            await store.get("k")
        assert told == [reason]


async def test_a_key_of_another_type_fails_alone(server: RedisServer) -> None:
    async with opened(server.url) as (store, told):
        server.command("LPUSH", "list", "x")
        with pytest.raises(StoreError, match="WRONGTYPE"):
            await store.get("list")
        await store.put("k", b"v")
        assert told == []


async def test_stores_with_different_prefixes_share_a_redis(server: RedisServer) -> None:
    async with opened(server.url, prefix="a:") as (first, _), opened(server.url, prefix="a") as (second, _):
        await first.put("k", b"1")
        assert await second.get("k") is None
        assert await second.get(":k") == b"1"
        assert [key async for key in first.scan("")] == ["k"]
        assert b"a:k" in server.command("KEYS", "*")


async def test_closing_leaves_no_task_and_no_connection_whatever_is_going_on(server: RedisServer) -> None:
    store = RedisStore(url=server.url)
    await store.open()
    calls = [asyncio.ensure_future(store.put(f"k{number}", b"v")) for number in range(100)]
    await asyncio.sleep(0)
    await store.close()
    await asyncio.gather(*calls, return_exceptions=True)
    assert len(asyncio.all_tasks()) == 1
    assert connections(server) == 0
    server.stop()
    await store.open()
    await store.close()
    assert len(asyncio.all_tasks()) == 1
    with pytest.raises(StoreError, match="not open"):
        await store.get("k")
    with pytest.raises(StoreError, match="not open"):
        await store.trouble()


@pytest.mark.parametrize(
    "url",
    [
        "localhost:6379",
        "http://:hunter2@localhost",
        "redis://:hunter2/@localhost:6379",
        "redis://:hunter2@localhost:port",
        "redis://:hunter2@localhost:6379/0?decode_responses=yes",
        "redis://:hunter2@localhost:6379/db",
    ],
)
def test_a_url_that_is_none_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(ConfigError) as caught:
        RedisStore(url=url)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))


async def test_a_host_that_does_not_exist_is_trouble_like_any_other() -> None:
    for host, why in {
        "no-such-host.invalid": ": its host name is not known",
        "a..b": "",
        "x" * 70: "",
    }.items():
        async with opened(f"redis://{host}") as (store, _):
            assert await store.trouble() == f"Redis cannot be reached{why}"
