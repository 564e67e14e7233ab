"""Lets workers start a few at a time, so that a start of the daemon does not take every core; who is waited for goes first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_PATIENCE = 2.0


class StartGate:
    """Lets `width` starts happen at a time, and any that are in demand beside them.

    A start that takes more than `patience` seconds makes room for the next: it waits for something, and takes no core.
    """

    def __init__(self, width: int, *, patience: float = _PATIENCE) -> None:
        self._free = asyncio.Semaphore(width)
        self._patience = patience

    @asynccontextmanager
    async def enter(self, demand: asyncio.Event) -> AsyncIterator[None]:
        """Wait for a turn, or until `demand` is set, whichever comes first."""
        turn = asyncio.ensure_future(self._free.acquire())
        hurry = asyncio.ensure_future(demand.wait())
        made_room = False

        def make_room() -> None:
            nonlocal made_room
            if not made_room and turn.done() and not turn.cancelled():
                self._free.release()
            made_room = True
            turn.cancel()

        late = None
        try:
            await asyncio.wait((turn, hurry), return_when=asyncio.FIRST_COMPLETED)
            late = asyncio.get_running_loop().call_later(self._patience, make_room)
            yield
        finally:
            if late is not None:
                late.cancel()
            hurry.cancel()
            make_room()
