"""Lets workers start a few at a time, so that a start of the daemon does not take every core; who is waited for goes first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class StartGate:
    """Lets `width` starts happen at a time, and any that are in demand beside them."""

    def __init__(self, width: int) -> None:
        self._free = asyncio.Semaphore(width)

    @asynccontextmanager
    async def enter(self, demand: asyncio.Event) -> AsyncIterator[None]:
        """Wait for a turn, or until `demand` is set, whichever comes first."""
        turn = asyncio.ensure_future(self._free.acquire())
        hurry = asyncio.ensure_future(demand.wait())
        try:
            await asyncio.wait((turn, hurry), return_when=asyncio.FIRST_COMPLETED)
            yield
        finally:
            hurry.cancel()
            if turn.done() and not turn.cancelled():
                self._free.release()
            else:
                turn.cancel()
