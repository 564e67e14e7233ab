"""Looks up host names in threads of its own: one that hangs must hold up neither other plugins nor the end of the daemon."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from typing import Any

from aiohttp.abc import AbstractResolver, ResolveResult

_AT_ONCE = 8  # look-ups of one worker; a call whose look-up must wait for one of them has its own time


class Names(AbstractResolver):
    """Resolves by the system's rules; a thread that hangs is left to itself and ends with the process."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(_AT_ONCE)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of a host; raises OSError if it has none."""
        await self._room.acquire()
        loop = asyncio.get_running_loop()
        found: asyncio.Future[list[Any]] = loop.create_future()

        def settle(result: list[Any] | None, error: OSError | None) -> None:
            self._room.release()
            if found.done():
                return
            if error is not None:
                found.set_exception(error)
            else:
                found.set_result(result or [])

        def look_up() -> None:
            result, failure = None, None
            try:
                result = socket.getaddrinfo(
                    host, port, family=family, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG
                )
            except (OSError, UnicodeError) as error:
                failure = error if isinstance(error, OSError) else OSError(f"{host!r} is no host name")
            with contextlib.suppress(RuntimeError):  # the daemon has ended meanwhile
                loop.call_soon_threadsafe(settle, result, failure)

        threading.Thread(target=look_up, name="hermes-name", daemon=True).start()
        return [
            ResolveResult(
                hostname=host,
                host=address[0],
                port=address[1],
                family=kind,
                proto=protocol,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for kind, _, protocol, _, address in await found
        ]

    async def close(self) -> None:
        """Keep nothing."""
