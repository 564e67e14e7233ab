"""How many lines of a plugin get into the log: enough to work with, and not so many that they bury everybody else's."""

from __future__ import annotations

import time
from collections.abc import Callable


class LogBudget:
    """Lets `burst` lines through at once and `rate` more a second; `clock` is monotonic, in seconds."""

    def __init__(
        self, burst: int = 2000, rate: float = 100.0, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._burst = burst
        self._rate = rate
        self._clock = clock
        self._left = float(burst)
        self._at = clock()
        self._dropped = 0

    def take(self) -> int | None:
        """Return None if a line is to be left out, else how many were left out since the last one that was not."""
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate)
        self._at = now
        if self._left < 1:
            self._dropped += 1
            return None
        self._left -= 1
        dropped, self._dropped = self._dropped, 0
        return dropped
