"""All metrics of Hermes, declared in one place with their units. Counting is done where things happen."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from hermes.observe.durations import Durations

_COMMITS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
_STAGES = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The metrics of one daemon, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.messages = self._counter(
            "messages",
            "Messages that ended, by outcome (succeeded or the error code) and source.",
            "outcome",
            "source",
        )
        self.messages_refused = self._counter(
            "messages_refused", "Messages that were not accepted for lack of room or of a journal.", "code"
        )
        self.stage_seconds = Durations(
            "hermes_stage_seconds",
            "Seconds a message spent in a stage: accept (arrival to journal), tool, finish (answer to journal).",
            label="stage",
            bounds=_STAGES,
        )
        self.registry.register(self.stage_seconds)
        self._declare_host()
        self.sse_subscribers = self._gauge("sse_subscribers", "Open event streams.")
        self.sse_dropped = self._counter(
            "sse_dropped", "Event streams that Hermes ended, by reason.", "reason"
        )
        self.journal_commit_seconds = Histogram(
            "hermes_journal_commit_seconds",
            "Seconds a commit of the journal took.",
            buckets=_COMMITS,
            registry=self.registry,
        )
        self.journal_entries = self._counter("journal_entries", "Entries written to the journal.")
        self.messages_removed = self._counter("messages_removed", "Messages that the journal has forgotten.")
        self.pending = self._gauge("pending_messages", "Messages that were accepted and have not ended.")

    def _declare_host(self) -> None:
        self.queue_depth = self._gauge("queue_depth", "Calls that wait for a worker, by plugin.", "plugin")
        self.worker_restarts = self._counter(
            "worker_restarts",
            "Workers that ended and were replaced, by plugin and reason.",
            "plugin",
            "reason",
        )
        self.breaker_state = self._gauge(
            "breaker_state", "A plugin's circuit breaker: 0 closed, 1 half open, 2 open.", "plugin"
        )
        self.reloads = self._counter(
            "reloads",
            "Changes of plugins, by plugin and result (loaded, swapped, failed, removed).",
            "plugin",
            "result",
        )

    def render(self) -> bytes:
        """Return all of them in the text format of Prometheus."""
        return generate_latest(self.registry)

    def _counter(self, name: str, documentation: str, *labels: str) -> Counter:
        return Counter(f"hermes_{name}", documentation, labels, registry=self.registry)

    def _gauge(self, name: str, documentation: str, *labels: str) -> Gauge:
        return Gauge(f"hermes_{name}", documentation, labels, registry=self.registry)
