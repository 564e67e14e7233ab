"""What a store promises: values by key, with a time to live and compare-and-set. What they mean is decided above it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Protocol

from hermes.errors import StoreError

LONGEST = 1e10
"""The longest time to live in seconds: some three hundred years."""
LARGEST = 256 << 20
"""The most bytes of a value."""


class Store(Protocol):
    """Keeps bytes under keys. Its file names the class as `adapter`.

    The class takes its options by name, and `on_change`: what to call with the trouble when one appears or becomes
    another, and with None when it is over.

    A key is any text without NUL; it is its own, however alike another one looks. A value has at most LARGEST bytes.
    `ttl` is in seconds, over 0 and at most LONGEST; an entry whose time is up is not there, and leaves nothing behind
    for long. Without one it stays.

    Every method but `trouble` raises `StoreError` if it could not do what it says, within a few seconds. What was to
    be written may then be written all the same: a connection that is lost takes the answer with it.
    """

    async def open(self) -> None:
        """Make the store ready. Raises StartError if it never will be; one that is only away now is no reason."""

    async def close(self) -> None:
        """Write what was handed in and let go of everything."""

    async def get(self, key: str) -> bytes | None:
        """Return the value, None if there is none; what was put before is seen."""

    async def put(self, key: str, value: bytes, *, ttl: float | None = None) -> None:
        """Keep a value in place of what is there, its time to live included; return once it is as safe as it gets here."""

    async def delete(self, key: str) -> bool:
        """Remove a key; say whether it was there."""

    async def swap(self, key: str, value: bytes, *, expected: bytes | None, ttl: float | None = None) -> bool:
        """Put a value if the present one is `expected`, with None if there is none; say whether that was so.

        Of many who swap at once, each sees what the one before it left.
        """

    def scan(self, prefix: str) -> AsyncIterator[str]:
        """Go through the keys that begin with `prefix`, in no order.

        A key that is there throughout comes at least once; one that comes or goes meanwhile may or may not.
        """

    async def trouble(self) -> str | None:
        """Return why the store cannot be used, None if it can; it is tried anew, or being tried already."""


def check(key: str, value: bytes = b"", *, ttl: float | None = None) -> None:
    """Raise StoreError for what is no key, value or time to live: the same in every store."""
    if "\0" in key:
        raise StoreError("a key of the store must not contain NUL")
    try:
        key.encode()
    except UnicodeEncodeError:
        raise StoreError("a key of the store must be valid Unicode") from None
    if len(value) > LARGEST:
        raise StoreError(f"a value of {len(value)} bytes is too large for the store")
    if ttl is not None and not 0 < ttl <= LONGEST:
        raise StoreError(f"a time to live must be over 0 and at most {LONGEST:.0f} s")
