"""A store in memory: for tests, and where nothing needs to be remembered past the death of the process."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable

from hermes.stores.base import check
from hermes.values import value

_STEPS = 2  # entries looked at in each call: more than a call can add


@value
class _Kept:
    value: bytes
    expires: float | None  # by the monotonic clock


class MemoryStore:
    """Keeps values in a dictionary. Each call drops a few entries whose time is up, so that they do not pile up."""

    def __init__(self, *, on_change: Callable[[str | None], None] | None = None) -> None:
        """Take `on_change` as every store does; memory is never in trouble."""
        del on_change
        self._kept: OrderedDict[str, _Kept] = OrderedDict()  # who was looked at longest ago comes first

    async def open(self) -> None:
        """Do nothing: it is ready when it is made."""

    async def close(self) -> None:
        """Do nothing: there is nothing to let go of."""

    async def get(self, key: str) -> bytes | None:
        """Return the value, None if there is none."""
        check(key)
        self._sweep()
        return self._live(key)

    async def put(self, key: str, value: bytes, *, ttl: float | None = None) -> None:
        """Keep a value."""
        check(key, value, ttl=ttl)
        self._sweep()
        self._keep(key, value, ttl=ttl)

    async def delete(self, key: str) -> bool:
        """Remove a key; say whether it was there."""
        check(key)
        self._sweep()
        there = self._live(key) is not None
        self._kept.pop(key, None)
        return there

    async def swap(self, key: str, value: bytes, *, expected: bytes | None, ttl: float | None = None) -> bool:
        """Put a value if the present one is `expected`."""
        check(key, value, ttl=ttl)
        self._sweep()
        if self._live(key) != expected:
            return False
        self._keep(key, value, ttl=ttl)
        return True

    async def scan(self, prefix: str) -> AsyncIterator[str]:
        """Go through the keys that begin with `prefix`."""
        check(prefix)
        for key in [key for key in self._kept if key.startswith(prefix)]:
            if self._live(key) is not None:
                yield key

    async def trouble(self) -> str | None:
        """Return None: memory is always there."""
        return None

    def _live(self, key: str) -> bytes | None:
        kept = self._kept.get(key)
        return None if kept is None or _is_over(kept) else kept.value

    def _keep(self, key: str, value: bytes, *, ttl: float | None) -> None:
        self._kept[key] = _Kept(value, None if ttl is None else time.monotonic() + ttl)

    def _sweep(self) -> None:
        for _ in range(min(_STEPS, len(self._kept))):
            key, kept = next(iter(self._kept.items()))
            if _is_over(kept):
                del self._kept[key]
            else:
                self._kept.move_to_end(key)


def _is_over(kept: _Kept) -> bool:
    return kept.expires is not None and kept.expires <= time.monotonic()


adapter = MemoryStore
