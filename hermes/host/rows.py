"""Plugins as `GET /v1/plugins` lists them."""

from __future__ import annotations

import time
from typing import Any

from hermes.host.last_error import LastError
from hermes.host.supervisor import Supervisor
from hermes.host.workers.worker import Process


def plugin_row(supervisor: Supervisor, *, leaving: bool = False) -> dict[str, Any]:
    """Return the object of a plugin that was taken in; `leaving` says that its folder is gone."""
    plugin, statistics, breaker = supervisor.plugin, supervisor.statistics, supervisor.breaker
    p50, p95 = statistics.percentiles_ms()
    retry_at = None if breaker.state != "open" else round(time.time() + breaker.retry_in, 3)
    return empty_row(supervisor.name, supervisor.last_error) | {
        "version": plugin.manifest.version,
        "hash": plugin.hash,
        "state": "draining" if leaving else supervisor.state,
        "runtime": plugin.manifest.runtime,
        "intents": sorted(plugin.services),
        "loaded_at": supervisor.current.loaded_at,
        "breaker": {"state": breaker.state, "failures": breaker.failures, "retry_at": retry_at},
        "workers": [_process_row(one) for one in supervisor.processes()],
        "queue_depth": supervisor.current.pool.depth,
        "calls": statistics.calls,
        "failures": statistics.failures,
        "p50_ms": p50,
        "p95_ms": p95,
        "reloads": supervisor.reloads,
    }


def empty_row(name: str, error: LastError | None) -> dict[str, Any]:
    """Return the object of a folder that no plugin could be taken from."""
    return {
        "name": name,
        "version": None,
        "hash": None,
        "state": "failed",
        "runtime": None,
        "intents": [],
        "loaded_at": None,
        "last_error": error,
        "breaker": {"state": "closed", "failures": 0, "retry_at": None},
        "workers": [],
        "queue_depth": 0,
        "calls": 0,
        "failures": 0,
        "p50_ms": None,
        "p95_ms": None,
        "reloads": 0,
    }


def _process_row(process: Process) -> dict[str, Any]:
    return {
        "pid": process.pid,
        "busy": process.busy,
        "rss_bytes": process.rss_bytes,
        "since": process.since,
    }
