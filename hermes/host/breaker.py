"""The circuit breaker of one plugin: after failures in a row it lets no call through, then one, whose end decides."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Literal

from hermes.host.workers.failures import BreakerOpen

State = Literal["closed", "open", "half_open"]


class Breaker:
    """Counts the failures of a plugin's calls; after `threshold` in a row it is open for `cooldown` seconds.

    `clock` is monotonic, in seconds; `on_change` is told every new state, with the failures in a row.
    """

    def __init__(
        self,
        threshold: int,
        cooldown: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        on_change: Callable[[State, int], None] = lambda _state, _failures: None,
    ) -> None:
        self._threshold = threshold
        self._cooldown = cooldown
        self._clock = clock
        self._on_change = on_change
        self._opened_at: float | None = None
        self._probing = False
        self.failures = 0
        """In a row."""

    @property
    def state(self) -> State:
        """`open` lets nothing through, `half_open` has its one probe under way or waits for it."""
        if self._opened_at is None:
            return "closed"
        return "half_open" if self._probing or not self.retry_in else "open"

    @property
    def retry_in(self) -> float:
        """Seconds until a call is let through as the probe; 0 if that is not to be waited for."""
        if self._opened_at is None or self._probing:
            return 0.0
        return max(0.0, self._opened_at + self._cooldown - self._clock())

    def admit(self) -> bool:
        """Let a call through and say whether it is the probe, whose end is to be told; raises BreakerOpen."""
        if self._opened_at is None:
            return False
        if self._probing or self.retry_in:
            raise self.refusal()
        self._probing = True
        self._on_change("half_open", self.failures)
        return True

    def confirm(self, *, probe: bool) -> None:
        """Raise BreakerOpen if it has opened since a call was let through: one that waited may have got its place then."""
        if self._opened_at is not None and not probe:
            raise self.refusal()

    def refusal(self) -> BreakerOpen:
        """Return what a call that is not let through ends with."""
        return BreakerOpen(self.failures, math.ceil(self.retry_in))

    def succeed(self, *, probe: bool) -> None:
        """Take note of a call that ended well, or with an answer that is no failure of the plugin."""
        if probe or self._opened_at is None:
            self.failures = 0
        if probe:
            self._probing, self._opened_at = False, None
            self._on_change("closed", 0)

    def fail(self, *, probe: bool) -> None:
        """Take note of a time-out, a crash, an exception, or an upstream that is unavailable."""
        if not probe and self._opened_at is not None:
            return  # it began before the breaker opened: only the probe decides now
        self.failures += 1
        if probe or self.failures >= self._threshold:
            self._probing, self._opened_at = False, self._clock()
            self._on_change("open", self.failures)

    def abandon(self, *, probe: bool) -> None:
        """Take note of a call that says nothing of the plugin: cancelled, or never begun. The next may be the probe."""
        if probe:
            self._probing = False
