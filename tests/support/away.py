"""A store that can be away: what it holds is kept, and comes back with it."""

from __future__ import annotations

from collections.abc import AsyncIterator

from hermes.errors import StoreError
from hermes.stores.memory import MemoryStore

AWAY = "the store cannot be reached"


class AwayStore(MemoryStore):
    """A store in memory. While it is `away` every call fails; while it is `deaf` writes happen and fail all the same."""

    def __init__(self) -> None:
        super().__init__()
        self.away = False
        self.deaf = False

    async def get(self, key: str) -> bytes | None:
        self._reach()
        return await super().get(key)

    async def put(self, key: str, value: bytes, *, ttl: float | None = None) -> None:
        self._reach()
        await super().put(key, value, ttl=ttl)
        self._answer()

    async def delete(self, key: str) -> bool:
        self._reach()
        deleted = await super().delete(key)
        self._answer()
        return deleted

    async def swap(self, key: str, value: bytes, *, expected: bytes | None, ttl: float | None = None) -> bool:
        self._reach()
        swapped = await super().swap(key, value, expected=expected, ttl=ttl)
        self._answer()
        return swapped

    async def scan(self, prefix: str) -> AsyncIterator[str]:
        self._reach()
        async for key in super().scan(prefix):
            yield key

    async def trouble(self) -> str | None:
        return AWAY if self.away else None

    @property
    def values(self) -> list[bytes]:
        """All values that it holds, away or not; marks that a key was begun are none."""
        return [kept.value for kept in self._kept.values() if kept.value]

    def _reach(self) -> None:
        if self.away:
            raise StoreError(AWAY)

    def _answer(self) -> None:
        if self.deaf:
            raise StoreError("the answer of the store was lost")
