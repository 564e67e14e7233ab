from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from hermes.observe.metrics import CONTENT_TYPE, Metrics

CONTRACT = {
    "hermes_messages_total": {"outcome", "source"},
    "hermes_stage_seconds_count": {"stage"},
    "hermes_queue_depth": {"plugin"},
    "hermes_worker_restarts_total": {"plugin", "reason"},
    "hermes_breaker_state": {"plugin"},
    "hermes_reloads_total": {"plugin", "result"},
    "hermes_sse_subscribers": set(),
    "hermes_sse_dropped_total": {"reason"},
    "hermes_journal_commit_seconds_count": set(),
    "hermes_webhooks_total": {"name", "verdict"},
    "hermes_model_calls_total": {"endpoint", "outcome"},
    "hermes_model_cost_total": {"endpoint"},
}
BUILT = {"messages", "stage", "queue", "worker", "sse", "journal", "pending"}


def touched() -> Metrics:
    """Return metrics of which each has been counted once."""
    metrics = Metrics()
    metrics.messages.labels("succeeded", "api").inc()
    metrics.stage_seconds.labels("accept").observe(0.002)
    metrics.queue_depth.labels("天气").set(3)
    metrics.worker_restarts.labels("天气", "crash").inc()
    metrics.sse_subscribers.set(1)
    metrics.sse_dropped.labels("slow").inc()
    metrics.journal_commit_seconds.observe(0.001)
    metrics.journal_entries.inc(2)
    metrics.pending.set(4)
    return metrics


def test_every_metric_has_the_name_and_the_labels_of_the_contract() -> None:
    families = list(text_string_to_metric_families(touched().render().decode()))
    labels = {sample.name: set(sample.labels) for family in families for sample in family.samples}
    for name, wanted in CONTRACT.items():
        if name.split("_")[1] in BUILT:
            assert labels[name] == wanted, name
    assert {name.split("_")[1] for name in labels} == BUILT
    assert all(family.documentation for family in families)


def test_what_was_counted_is_what_is_shown() -> None:
    text = touched().render().decode()
    assert 'hermes_messages_total{outcome="succeeded",source="api"} 1.0' in text
    assert 'hermes_queue_depth{plugin="天气"} 3.0' in text
    assert 'hermes_stage_seconds_bucket{le="0.0025",stage="accept"} 1.0' in text
    assert 'hermes_stage_seconds_bucket{le="0.001",stage="accept"} 0.0' in text
    assert "hermes_journal_entries_total 2.0" in text


def test_two_daemons_in_one_process_count_apart() -> None:
    touched()
    assert b"hermes_messages_total{" not in Metrics().render()


def test_the_form_is_the_text_format_of_prometheus() -> None:
    assert CONTENT_TYPE.startswith("text/plain; version=0.0.4")
