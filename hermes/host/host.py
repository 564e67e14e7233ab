"""All plugins together: finds them, keeps them running, knows which intent is whose, and runs calls."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes.catalog import find
from hermes.errors import ConfigError, NotFound
from hermes.host.calls import Call
from hermes.host.gate import StartGate
from hermes.host.manifest import MANIFEST_FILE
from hermes.host.plugin import Places, Plugin, Service, load_plugin
from hermes.host.runtimes.base import Runtime
from hermes.host.supervisor import LastError, Supervisor, Watch
from hermes.host.worker import Worker

_STARTS_AT_A_TIME = 2


@dataclass(frozen=True, slots=True)
class HostSettings:
    """Seconds a call may run and may wait for a worker, and bytes of one frame of the wire."""

    default_timeout: float
    queue_wait: float
    frame_bytes: int


@dataclass(frozen=True, slots=True)
class Target:
    """An intent with the plugin that serves it; `timeout` is in seconds."""

    plugin: Plugin
    service: Service
    timeout: float


@dataclass(frozen=True, slots=True)
class Failed:
    """A plugin's folder that could not be taken in, and why."""

    name: str
    error: LastError


class Host:
    """The plugins of one folder. What is broken is listed with its reason; everything else goes on.

    `check` may refuse a plugin with ConfigError for reasons the host cannot know.
    """

    def __init__(
        self, settings: HostSettings, places: Places, *, check: Callable[[Plugin], None], watch: Watch
    ) -> None:
        self._check = check
        self._settings = settings
        self._places = places
        self._watch = watch
        self._gate = StartGate(_STARTS_AT_A_TIME)
        self._supervisors: dict[str, Supervisor] = {}
        self._targets: dict[str, Target] = {}
        self._failed: list[Failed] = []

    def load(self) -> None:
        """Read every plugin's folder; starts nothing."""
        for directory in plugin_folders(self._places.plugins_dir):
            try:
                self._take_in(load_plugin(directory, self._places))
            except (ConfigError, OSError) as error:
                self._refuse(directory, error)

    def start(self) -> None:
        """Begin to start workers, a few at a time, in the background."""
        for supervisor in self._supervisors.values():
            supervisor.start()

    async def stop(self) -> None:
        """End all workers."""
        await asyncio.gather(*(supervisor.stop() for supervisor in self._supervisors.values()))

    @property
    def targets(self) -> Iterator[Target]:
        """Every intent that can be called."""
        return iter(self._targets.values())

    def find(self, intent: str) -> Target | None:
        """Return who serves an intent, or None if nobody does."""
        return self._targets.get(intent)

    def has_room(self, target: Target) -> bool:
        """Say whether a call would start at once."""
        return self._supervisors[target.plugin.manifest.name].pool.has_room

    def capacity(self, target: Target) -> int:
        """Return how many calls can run at a time, once all workers are there."""
        manifest = target.plugin.manifest
        return manifest.workers.max * manifest.concurrency

    async def run(self, target: Target, call: Call) -> Any:
        """Run a call and return what the handler returned; raises a CallEnded if it returned nothing."""
        return await self._supervisors[target.plugin.manifest.name].run(call)

    def describe(self) -> list[dict[str, Any]]:
        """Return what `GET /v1/plugins` lists, one object a plugin, by name."""
        rows = [_row(supervisor) for supervisor in self._supervisors.values()]
        rows += [_failed_row(failed) for failed in self._failed]
        return sorted(rows, key=lambda row: row["name"])

    def plugin(self, name: str) -> dict[str, Any]:
        """Return one plugin's object; raises NotFound."""
        for row in self.describe():
            if row["name"] == name:
                return row
        raise NotFound(f"there is no plugin {name!r}")

    def _take_in(self, plugin: Plugin) -> None:
        manifest = plugin.manifest
        if manifest.name in self._supervisors:
            raise ConfigError(
                f"another folder has a plugin named {manifest.name} already; rename one", key="name"
            )
        for name in plugin.services:
            if name in self._targets:
                other = self._targets[name].plugin.manifest.name
                raise ConfigError(f"the intent {name} belongs to the plugin {other} already", key="intents")
        self._check(plugin)
        runtime: Runtime = find("host.runtimes", manifest.runtime)()
        supervisor = Supervisor(
            plugin,
            runtime.launch(plugin, frame_bytes=self._settings.frame_bytes),
            gate=self._gate,
            queue_wait=self._settings.queue_wait,
            watch=self._watch,
        )
        self._supervisors[manifest.name] = supervisor
        self._watch.metrics.queue_depth.labels(manifest.name).set_function(lambda: supervisor.pool.depth)
        timeout = manifest.timeout or self._settings.default_timeout
        for name, service in plugin.services.items():
            self._targets[name] = Target(plugin, service, timeout)
        self._watch.log.info(
            "plugin_loaded",
            plugin=manifest.name,
            version=manifest.version,
            hash=plugin.hash,
            intents=sorted(plugin.services),
        )

    def _refuse(self, directory: Path, error: ConfigError | OSError) -> None:
        file = Path(error.file).name if isinstance(error, ConfigError) and error.file else MANIFEST_FILE
        line = error.line if isinstance(error, ConfigError) else None
        key = f"{error.key}: " if isinstance(error, ConfigError) and error.key else ""
        reason = f"{key}{error.detail}" if isinstance(error, ConfigError) else str(error.strerror)
        name = os.fsencode(directory.name).decode(
            "utf-8", "replace"
        )  # a name of other bytes can be shown too
        self._failed.append(Failed(name, LastError(reason, file, line, time.time())))
        problems = (
            [str(problem) for problem in error.problems] if isinstance(error, ConfigError) else [str(error)]
        )
        self._watch.log.error("plugin_refused", plugin=name, problems=problems)


def plugin_folders(plugins_dir: Path) -> list[Path]:
    """Return the folders that count as plugins, in the order in which they are taken in; none if there is no such place."""
    if not plugins_dir.is_dir():
        return []
    return sorted(
        path for path in plugins_dir.iterdir() if path.is_dir() and not path.name.startswith((".", "__"))
    )


def _row(supervisor: Supervisor) -> dict[str, Any]:
    plugin, statistics = supervisor.plugin, supervisor.statistics
    p50, p95 = statistics.percentiles_ms()
    return {
        "name": plugin.manifest.name,
        "version": plugin.manifest.version,
        "hash": plugin.hash,
        "state": "failed" if supervisor.broken else "ready",
        "runtime": plugin.manifest.runtime,
        "intents": sorted(plugin.services),
        "loaded_at": supervisor.loaded_at,
        "last_error": supervisor.last_error,
        "breaker": {"state": "closed", "failures": statistics.failures_in_a_row, "retry_at": None},
        "workers": [_worker_row(worker) for worker in supervisor.pool],
        "queue_depth": supervisor.pool.depth,
        "calls": statistics.calls,
        "failures": statistics.failures,
        "p50_ms": p50,
        "p95_ms": p95,
        "reloads": 0,
    }


def _failed_row(failed: Failed) -> dict[str, Any]:
    return {
        "name": failed.name,
        "version": None,
        "hash": None,
        "state": "failed",
        "runtime": None,
        "intents": [],
        "loaded_at": None,
        "last_error": failed.error,
        "breaker": {"state": "closed", "failures": 0, "retry_at": None},
        "workers": [],
        "queue_depth": 0,
        "calls": 0,
        "failures": 0,
        "p50_ms": None,
        "p95_ms": None,
        "reloads": 0,
    }


def _worker_row(worker: Worker) -> dict[str, Any]:
    return {"pid": worker.pid, "busy": worker.busy, "rss_bytes": worker.rss_bytes(), "since": worker.since}
