"""A histogram for what happens several times a message: counted without locks, brought into form when it is read."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from prometheus_client.metrics_core import HistogramMetricFamily, Metric
from prometheus_client.registry import Collector


class Stopwatch:
    """The durations under one label. Only one thread may observe; any may read."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        """Count one duration."""
        self.counts[bisect_left(self._bounds, seconds)] += 1
        self.total += seconds


class Durations(Collector):
    """Histograms in seconds by one label; the library's own takes a lock for each of several counters an observation."""

    def __init__(self, name: str, documentation: str, *, label: str, bounds: Sequence[float]) -> None:
        self._name = name
        self._documentation = documentation
        self._label = label
        self._bounds = bounds
        self._stopwatches: dict[str, Stopwatch] = {}

    def labels(self, value: str) -> Stopwatch:
        """Return the durations under a label, made if there are none yet."""
        return self._stopwatches.setdefault(value, Stopwatch(self._bounds))

    def collect(self) -> Iterator[Metric]:
        """Yield all of them as the library writes them."""
        family = HistogramMetricFamily(self._name, self._documentation, labels=[self._label])
        names = [*map(str, self._bounds), "+Inf"]
        for value, stopwatch in list(self._stopwatches.items()):
            buckets = list(zip(names, accumulate(stopwatch.counts), strict=True))
            family.add_metric([value], buckets, stopwatch.total)
        yield family
