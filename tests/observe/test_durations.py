from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from hermes.observe.durations import Durations


def test_durations_are_a_histogram_that_prometheus_understands() -> None:
    registry = CollectorRegistry()
    durations = Durations("hermes_stage_seconds", "Seconds.", label="stage", bounds=(0.001, 0.01, 1))
    registry.register(durations)
    for seconds in (0.0005, 0.001, 0.0078125, 0.5, 1.0, 7.0):
        durations.labels("accept").observe(seconds)
    durations.labels("tool")
    lines = generate_latest(registry).decode().splitlines()
    assert lines[:6] == [
        "# HELP hermes_stage_seconds Seconds.",
        "# TYPE hermes_stage_seconds histogram",
        'hermes_stage_seconds_bucket{le="0.001",stage="accept"} 2.0',
        'hermes_stage_seconds_bucket{le="0.01",stage="accept"} 3.0',
        'hermes_stage_seconds_bucket{le="1",stage="accept"} 5.0',
        'hermes_stage_seconds_bucket{le="+Inf",stage="accept"} 6.0',
    ]
    assert registry.get_sample_value("hermes_stage_seconds_count", {"stage": "accept"}) == 6
    assert registry.get_sample_value("hermes_stage_seconds_sum", {"stage": "accept"}) == pytest.approx(
        8.5093125
    )
    assert registry.get_sample_value("hermes_stage_seconds_count", {"stage": "tool"}) == 0
