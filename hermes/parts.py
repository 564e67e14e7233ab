"""The parts of one daemon, built from its configuration and handed to each other. Nothing runs yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from hermes.bus import Bus
from hermes.catalog import find
from hermes.config import Config
from hermes.deadlines import Deadlines
from hermes.dispatch.once import Once
from hermes.dispatch.once_states import States
from hermes.dispatch.pipeline import Pipeline
from hermes.dispatch.retention import Retention
from hermes.dispatch.rooms import PipelineSettings, Rooms
from hermes.entries import entries_of
from hermes.host.crew import Watch
from hermes.host.files.watcher import Watcher, WatchSettings
from hermes.host.host import Host, HostSettings
from hermes.host.plugin import Places, Plugin
from hermes.host.supervisor import BreakerSettings
from hermes.journal.base import Journal
from hermes.observe.logs import Logger, Logs
from hermes.observe.metrics import Metrics
from hermes.routing.decision import thresholds_of
from hermes.routing.folding import readings
from hermes.routing.lexicon import Lexicon
from hermes.routing.router import Router
from hermes.routing.weighing import Weighing
from hermes.routing.weights import weights_file
from hermes.stores.base import Store


@dataclass(frozen=True, slots=True)
class Parts:
    """Everything that `App` starts and stops."""

    journal: Journal
    stores: Sequence[Store]
    retention: Retention
    bus: Bus
    router: Router
    host: Host
    watcher: Watcher
    pipeline: Pipeline
    metrics: Metrics
    weighing: Weighing


def build_parts(config: Config, environ: Mapping[str, str], *, logs: Logs) -> Parts:
    """Return the parts; `environ` is what plugins may be given variables from."""
    watch = Watch(logs.log, Metrics(), Deadlines())
    journal, router, stores = _journal(config, watch.metrics), _router(config), _stores(config, logs.log)
    weighing = Weighing(router, weights_file(config), log=logs.log)
    host = Host(
        _host_settings(config),
        _places(config, environ),
        watch=watch,
        check=_check_keywords,
        prepare=_follow(router, weighing),
        fold=readings,
    )
    bus = Bus(on_slow=watch.metrics.sse_dropped.labels("slow").inc)
    watch.metrics.sse_subscribers.set_function(lambda: bus.subscribers)
    once = Once(States(stores[-1], stores[0] if len(stores) > 1 else None, ttl=config.journal.max_age))
    rooms = Rooms(journal, router, host, bus, logs, watch.deadlines, watch.metrics, once)
    kept = config.journal
    retention = Retention(
        journal, max_age=kept.max_age, max_bytes=kept.max_bytes, log=logs.log, metrics=watch.metrics
    )
    watcher = Watcher(
        config.hermes.plugins_dir,
        WatchSettings(config.reload.watch, config.reload.debounce, config.reload.sweep),
        files=[*filter(None, [config.path]), config.router.weights],
        log=logs.log,
    )
    pipeline = Pipeline(_pipeline_settings(config), rooms)
    return Parts(journal, stores, retention, bus, router, host, watcher, pipeline, watch.metrics, weighing)


def _host_settings(config: Config) -> HostSettings:
    breaker = config.circuit_breaker
    return HostSettings(
        config.hermes.default_timeout,
        config.limits.queue_wait,
        config.limits.frame_bytes,
        BreakerSettings(breaker.failure_threshold, breaker.cooldown_seconds),
        config.limits.spare_workers,
        config.reload.debounce,
    )


def _pipeline_settings(config: Config) -> PipelineSettings:
    limits = config.limits
    return PipelineSettings(
        limits.pending,
        limits.pending_bytes,
        limits.result_bytes,
        limits.inline_bytes,
        config.hermes.locale,
        limits.hops,
        limits.body_bytes,
        limits.plugin_queue,
    )


def _journal(config: Config, metrics: Metrics) -> Journal:
    def on_commit(seconds: float, entries: int) -> None:
        metrics.journal_commit_seconds.observe(seconds)
        metrics.journal_entries.inc(entries)

    journal: Journal = find("journal", "sqlite")(
        config.hermes.state_dir / "journal.db", sync=config.journal.sync, on_commit=on_commit
    )
    return journal


def _router(config: Config) -> Router:
    return Router(config.router.strategies, thresholds_of(config))


def _stores(config: Config, log: Logger) -> list[Store]:
    """Return the store of this machine, which is always there, and behind it the one that others may share."""
    local = find("stores", "sqlite")(file=config.hermes.state_dir / "store.db", sync=config.journal.sync)
    if config.store != "redis":
        return [local]

    def on_change(trouble: str | None) -> None:
        if trouble is None:
            log.info("store_back")
        else:
            log.warning("store_away", reason=trouble)

    shared = find("stores", "redis")(
        url=config.hermes.redis_url, prefix=config.sessions.key_prefix, on_change=on_change
    )
    return [local, shared]


def _places(config: Config, environ: Mapping[str, str]) -> Places:
    return Places(
        plugins_dir=config.hermes.plugins_dir,
        state_dir=config.hermes.state_dir,
        base_dir=config.base_dir,
        configs=config.plugins,
        environment=environ,
        source=config.source,
    )


def _follow(router: Router, weighing: Weighing) -> Callable[[Sequence[Plugin]], Callable[[], None]]:
    """Let the router know the plugins that the host has."""

    def prepare(plugins: Iterable[Plugin]) -> Callable[[], None]:
        lexicon = weighing.prepared(entry for plugin in plugins for entry in entries_of(plugin.manifest))

        def use() -> None:
            router.use(lexicon)
            weighing.tell()

        return use

    return prepare


def _check_keywords(plugin: Plugin) -> None:
    Lexicon(entries_of(plugin.manifest))
