"""What the host remembers of a plugin's calls: how many, how many failed, how long the latest took."""

from __future__ import annotations

from collections import deque
from statistics import quantiles

_REMEMBERED = 256


class Statistics:
    """Counts of one plugin since it was loaded."""

    def __init__(self) -> None:
        self.calls = 0
        self.failures = 0
        self._seconds: deque[float] = deque(maxlen=_REMEMBERED)

    def add(self, seconds: float, *, failed: bool) -> None:
        """Count a call that took `seconds`."""
        self.calls += 1
        self.failures += failed
        self._seconds.append(seconds)

    def percentiles_ms(self) -> tuple[float | None, float | None]:
        """Return the median and the 95th percentile of the latest calls in milliseconds; None before the first."""
        if not self._seconds:
            return None, None
        cuts = quantiles([*self._seconds, self._seconds[-1]], n=20, method="inclusive")
        return round(cuts[9] * 1000, 2), round(cuts[18] * 1000, 2)
