"""A store in Redis, which several daemons may share. While Redis is away calls fail at once, and one task looks for it."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import random
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.connection import parse_url
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, RedisError
from redis.exceptions import TimeoutError as RedisTimeoutError

from hermes.errors import ConfigError, StoreError
from hermes.stores.base import check

_CALLS = 16  # at a time; further ones wait
_SILENCE = 1.0  # seconds for a connection, and for each answer
_LIMIT = 2.0  # seconds for a call with all it needs, and before that for its turn
_FIRST_PAUSE, _LAST_PAUSE = 0.1, 5.0  # seconds between two looks for a Redis that is away
_PAGE = 500  # keys a step

_SWAP = b"""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[3] == '' then redis.call('SET', KEYS[1], ARGV[2]) else redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) end
return 1
"""
_URL_OPTIONS = {"host", "port", "path", "db", "username", "password", "connection_class"}
_FAILURES = (RedisError, OSError)
_REASONS = {
    "max number of clients reached": "Redis has too many clients",
    "LOADING": "Redis is still loading its data",
    "READONLY": "Redis takes no writes: it is a replica",
    "OOM": "Redis has no memory left",
    "MISCONF": "Redis takes no writes: it cannot save",
    "NOPERM": "Redis does not let this user read and write the keys",
}


class RedisStore:
    """Keeps entries in the Redis at `url` under keys that begin with `prefix`.

    `url` is `redis://[[user]:password@]host[:port][/database]`, `rediss://…` for TLS or `unix://…`; ConfigError if it is
    not. A value is as safe as that Redis makes it. Reasons never hold the URL or anything of it.
    """

    def __init__(
        self, *, url: str, prefix: str = "", on_change: Callable[[str | None], None] | None = None
    ) -> None:
        check(prefix)
        self._place = _place(url)
        self._prefix = prefix.encode()
        self._on_change = on_change
        self._client: Redis | None = None
        self._turns = asyncio.Semaphore(_CALLS)
        self._trouble: str | None = None  # not None: Redis is away, or does not do its work
        self._healer: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Look for Redis; if it is away it is looked for in the background."""
        pool = BlockingConnectionPool(
            max_connections=_CALLS + 1,  # one for the healer
            timeout=_SILENCE,
            **self._place,
            socket_timeout=_SILENCE,
            socket_connect_timeout=_SILENCE,
            retry=Retry(NoBackoff(), 0),  # who calls is told at once
            protocol=2,
            driver_info=None,
            decode_responses=False,
        )
        self._client = Redis.from_pool(pool)
        self._turns = asyncio.Semaphore(_CALLS)
        await self.trouble()

    async def close(self) -> None:
        """Let calls that are under way end, then let go of all connections."""
        client, self._client = self._client, None
        if client is None:
            return
        healer, self._healer = self._healer, None
        if healer is not None:
            healer.cancel()
            await asyncio.wait([healer])
        for _ in range(_CALLS):
            await self._turns.acquire()
        with contextlib.suppress(*_FAILURES):  # they are closed, whatever the other side made of it
            await client.aclose()

    async def get(self, key: str) -> bytes | None:
        """Return the value, None if there is none."""
        check(key)
        value: bytes | None = await self._ask("GET", self._name(key))
        return value

    async def put(self, key: str, value: bytes, *, ttl: float | None = None) -> None:
        """Keep a value."""
        check(key, value, ttl=ttl)
        await self._ask("SET", self._name(key), value, *_expiry(ttl))

    async def delete(self, key: str) -> bool:
        """Remove a key; say whether it was there."""
        check(key)
        return bool(await self._ask("DEL", self._name(key)))

    async def swap(self, key: str, value: bytes, *, expected: bytes | None, ttl: float | None = None) -> bool:
        """Put a value if the present one is `expected`."""
        check(key, value, ttl=ttl)
        name, expiry = self._name(key), _expiry(ttl)
        if expected is None:
            return bool(await self._ask("SET", name, value, *expiry, "NX"))
        return bool(await self._ask("EVAL", _SWAP, 1, name, expected, value, expiry[1] if expiry else b""))

    async def scan(self, prefix: str) -> AsyncIterator[str]:
        """Go through the keys that begin with `prefix`."""
        check(prefix)
        pattern = re.sub(rb"[*?\[\]\\]", rb"\\\g<0>", self._name(prefix)) + b"*"
        cursor = 0
        while True:
            cursor, names = await self._ask("SCAN", cursor, "MATCH", pattern, "COUNT", _PAGE)
            for name in names:
                yield name[len(self._prefix) :].decode(
                    errors="replace"
                )  # who puts other keys there may see them
            if not cursor:
                return

    async def trouble(self) -> str | None:
        """Return why Redis cannot be used, None if it can; asks it, unless it is being looked for already."""
        with contextlib.suppress(StoreError):
            await self._ask(*self._try())
        if self._client is None:
            raise StoreError("the store is not open")
        return self._trouble

    def _name(self, key: str) -> bytes:
        return self._prefix + key.encode()

    def _try(self) -> tuple[Any, ...]:
        """Return a command that Redis refuses if it would refuse a write, and that writes nothing."""
        return "SET", self._prefix + b"\0", b"", "PX", 1, "XX"

    async def _ask(self, *command: Any) -> Any:
        """Send a command and return the answer; raises StoreError, at once while Redis is away."""
        self._open_client()
        try:
            async with asyncio.timeout(_LIMIT):
                await self._turns.acquire()
        except TimeoutError:
            raise StoreError("Redis is too slow for all who wait for it") from None
        try:
            client = self._open_client()  # again: the one whose turn it was may have found it away
            return await _send(client, command)
        except _FAILURES as error:
            raise self._failed(error) from None  # what redis-py says may quote what was sent
        finally:
            self._turns.release()

    def _open_client(self) -> Redis:
        if self._client is None:
            raise StoreError("the store is not open")
        if self._trouble is not None:
            self._look_for_it(self._client)
            raise StoreError(self._trouble)
        return self._client

    def _failed(self, error: Exception) -> StoreError:
        reason = _reason(error)
        if not str(error).startswith("WRONGTYPE") and self._client is not None:
            self._say(reason)
            self._look_for_it(self._client)
        return StoreError(reason)

    def _say(self, trouble: str | None) -> None:
        if trouble != self._trouble:
            self._trouble = trouble
            if self._on_change is not None:
                self._on_change(trouble)

    def _look_for_it(self, client: Redis) -> None:
        if self._healer is None or self._healer.done():
            self._healer = asyncio.get_running_loop().create_task(self._heal(client))

    async def _heal(self, client: Redis) -> None:
        pause = _FIRST_PAUSE
        while self._trouble is not None:
            await asyncio.sleep(pause * random.uniform(0.5, 1))  # noqa: S311 - so that daemons do not come all at once
            pause = min(2 * pause, _LAST_PAUSE)
            try:
                await client.connection_pool.disconnect(inuse_connections=False)  # they may lead nowhere
                await _send(client, self._try())
            except _FAILURES as error:
                self._say(_reason(error))
            else:
                self._say(None)


async def _send(client: Redis, command: Sequence[Any]) -> Any:
    execute: Callable[..., Awaitable[Any]] = client.execute_command  # redis-py gives it no types
    async with asyncio.timeout(_LIMIT):
        return await execute(*command)


def _place(url: str) -> dict[str, Any]:
    """Return what redis-py makes of the URL; all else is ours to set."""
    try:
        place: dict[str, Any] = dict(parse_url(url))
        database = "" if "path" in place else urlsplit(url).path
    except ValueError:  # whose text may quote a part of the password
        place, database = {}, "unknown"
    if not re.fullmatch(r"/?\d*", database):  # redis-py would take 0
        raise ConfigError(
            "the URL of Redis cannot be read; it is redis://[[user]:password@]host[:port][/database], rediss://… or "
            "unix://…, with special characters of the password percent-encoded"
        )
    strange = sorted(name for name in place if name not in _URL_OPTIONS and not name.startswith("ssl_"))
    if strange:
        raise ConfigError(f"the URL of Redis has options that have no effect here: {', '.join(strange)}")
    return place


def _expiry(ttl: float | None) -> tuple[str, int] | tuple[()]:
    return () if ttl is None else ("PX", math.ceil(ttl * 1000))


def _reason(error: Exception) -> str:
    """Say what is wrong with Redis in words of our own; those of redis-py and of the server may quote anything."""
    text = str(error)
    if isinstance(error, AuthenticationError):
        return "Redis refuses the user or the password"
    if isinstance(error, RedisTimeoutError | TimeoutError):
        return "Redis does not answer in time"
    if tls := re.search(r"\[SSL: (\w+)", text):
        return f"Redis cannot be reached over TLS: {tls[1]}"
    if system := re.search(r"Err(?:or|no) (-?\d+)", text):  # below 0 are those of the name service
        number = int(system[1])
        return (
            f"Redis cannot be reached: {os.strerror(number) if number > 0 else 'its host name is not known'}"
        )
    code = getattr(error, "status_code", None) or text.partition(" ")[0]
    if code.isupper():
        return _REASONS.get(text) or _REASONS.get(code) or f"Redis answers with the error {code}"
    return (
        "Redis closed the connection" if text.startswith("Connection closed") else "Redis cannot be reached"
    )


adapter = RedisStore
