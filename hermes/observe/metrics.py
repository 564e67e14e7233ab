"""All metrics of Hermes, declared in one place with their units. Counting is done where things happen."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_COMMITS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
_STAGES = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The metrics of one daemon, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.messages = Counter(
            "hermes_messages",
            "Messages that ended, by outcome (succeeded or the error code) and source.",
            ["outcome", "source"],
            registry=self.registry,
        )
        self.stage_seconds = Histogram(
            "hermes_stage_seconds",
            "Seconds a message spent in a stage: accept (arrival to journal), tool, finish (answer to journal).",
            ["stage"],
            buckets=_STAGES,
            registry=self.registry,
        )
        self.queue_depth = Gauge(
            "hermes_queue_depth",
            "Calls that wait for a worker, by plugin.",
            ["plugin"],
            registry=self.registry,
        )
        self.worker_restarts = Counter(
            "hermes_worker_restarts",
            "Workers that were replaced, by plugin and reason (crash, killed, start).",
            ["plugin", "reason"],
            registry=self.registry,
        )
        self.sse_subscribers = Gauge("hermes_sse_subscribers", "Open event streams.", registry=self.registry)
        self.sse_dropped = Counter(
            "hermes_sse_dropped",
            "Event streams that Hermes ended, by reason.",
            ["reason"],
            registry=self.registry,
        )
        self.journal_commit_seconds = Histogram(
            "hermes_journal_commit_seconds",
            "Seconds a commit of the journal took.",
            buckets=_COMMITS,
            registry=self.registry,
        )
        self.journal_entries = Counter(
            "hermes_journal_entries", "Entries written to the journal.", registry=self.registry
        )
        self.pending = Gauge(
            "hermes_pending_messages",
            "Messages that were accepted and have not ended.",
            registry=self.registry,
        )

    def render(self) -> bytes:
        """Return all of them in the text format of Prometheus."""
        return generate_latest(self.registry)
