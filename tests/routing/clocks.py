"""A clock that shows what a test has written down."""

from __future__ import annotations

from collections.abc import Iterable


class Ticks:
    """Shows nanoseconds; between its first and second reading lie the first of the microseconds, and so on."""

    def __init__(self, taken: Iterable[int]) -> None:
        self._taken = iter(taken)
        self._now = 0
        self._running = False

    def __call__(self) -> int:
        if self._running:
            self._now += next(self._taken) * 1000
        self._running = not self._running
        return self._now
