"""The composition root: builds every part from the configuration, and owns start and stop. Only this file knows all."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from hermes import __version__
from hermes.bus import Bus
from hermes.catalog import find
from hermes.config import Config
from hermes.deadlines import Deadlines
from hermes.dispatch.once import Once
from hermes.dispatch.once_states import States
from hermes.dispatch.pipeline import Pipeline, PipelineSettings, Rooms
from hermes.dispatch.retention import Retention
from hermes.dispatch.shelf import Shelf
from hermes.gateway.access import Access, is_loopback, key_access, load_admin_key, open_access
from hermes.gateway.messages import Messages
from hermes.gateway.operations import Operations, Readiness
from hermes.gateway.operations import Parts as OperationsParts
from hermes.gateway.server import Server, bind, build_app, build_server
from hermes.gateway.submit import Submit
from hermes.greeting import greeting
from hermes.host.host import Host, HostSettings
from hermes.host.plugin import Places, Plugin
from hermes.host.supervisor import Watch
from hermes.journal.base import Journal
from hermes.observe.logs import Logs
from hermes.observe.metrics import Metrics
from hermes.routing.decision import Thresholds
from hermes.routing.lexicon import IntentEntry, Lexicon
from hermes.routing.router import Router
from hermes.state_folder import StateFolder
from hermes.stores.base import Store


@dataclass(frozen=True, slots=True)
class _Parts:
    journal: Journal
    stores: Sequence[Store]
    retention: Retention
    bus: Bus
    router: Router
    host: Host
    pipeline: Pipeline
    metrics: Metrics


class App:
    """One daemon. `environ` is what plugins may be given variables from; `hints` is where people are greeted."""

    def __init__(
        self, config: Config, environ: Mapping[str, str], *, logs: Logs, hints: TextIO = sys.stderr
    ) -> None:
        self._config = config
        self._environ = environ
        self._logs = logs
        self._log = logs.log
        self._hints = hints
        self._hurry = asyncio.Event()
        self._stop = asyncio.Event()

    async def run(self) -> None:
        """Serve until a signal asks to stop; raises StartError if this place does not allow a start."""
        started = time.perf_counter()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal, signal.Signals(number).name)
        with StateFolder(self._config.hermes.state_dir):
            listener = bind(self._config.hermes.bind_host, self._config.hermes.bind_port)
            url = _url(*listener.getsockname()[:2])
            access, key_file = self._access()
            parts = self._build()
            await parts.journal.open()
            for store in parts.stores:
                await store.open()
            self._load_plugins(parts)
            recovered = await parts.pipeline.recover()
            server = self._server(parts, access)
            serving = loop.create_task(server.serve(sockets=[listener]))
            seconds = round(time.perf_counter() - started, 3)
            self._log.info("listening", url=url, version=__version__, seconds=seconds, recovered=recovered)
            self._greet(url, key_file, host=parts.host)
            parts.host.start()
            forgetting = loop.create_task(parts.retention.run())
            _settle_memory()
            try:
                await self._until_told(serving)
            finally:
                forgetting.cancel()
                await self._shut_down(parts, server)
                await serving

    def _on_signal(self, name: str) -> None:
        self._log.info("signal", signal=name)
        if self._stop.is_set():
            self._hurry.set()
        self._stop.set()

    async def _until_told(self, serving: asyncio.Task[None]) -> None:
        stop = asyncio.ensure_future(self._stop.wait())
        await asyncio.wait((stop, serving), return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()

    async def _shut_down(self, parts: _Parts, server: Server) -> None:
        """End in the order in which nobody is lied to: streams, new messages, running calls, workers, connections."""
        self._log.info("stopping")
        parts.bus.close("shutdown")
        draining = asyncio.ensure_future(parts.pipeline.stop(self._config.limits.shutdown_grace))
        hurry = asyncio.ensure_future(self._hurry.wait())
        await asyncio.wait((draining, hurry), return_when=asyncio.FIRST_COMPLETED)
        hurry.cancel()
        if not draining.done():
            draining.cancel()
            await parts.pipeline.stop(0)
        await parts.host.stop()
        server.stop()
        for store in parts.stores:
            await store.close()
        await parts.journal.close()
        self._log.info("stopped")

    def _build(self) -> _Parts:
        config, metrics, deadlines = self._config, Metrics(), Deadlines()
        limits = config.limits

        def on_commit(seconds: float, entries: int) -> None:
            metrics.journal_commit_seconds.observe(seconds)
            metrics.journal_entries.inc(entries)

        journal: Journal = find("journal", "sqlite")(
            config.hermes.state_dir / "journal.db", sync=config.journal.sync, on_commit=on_commit
        )
        router = Router(
            config.router.strategies,
            Thresholds(
                config.router.min_confidence, config.router.clarify_threshold, config.router.clarify_margin
            ),
        )
        host = Host(
            HostSettings(config.hermes.default_timeout, limits.queue_wait, limits.frame_bytes),
            self._places(),
            check=_check_keywords,
            watch=Watch(self._log, metrics, deadlines),
        )
        bus = Bus(on_slow=metrics.sse_dropped.labels("slow").inc)
        metrics.sse_subscribers.set_function(lambda: bus.subscribers)
        stores = self._stores()
        once = Once(States(stores[-1], stores[0] if len(stores) > 1 else None, ttl=config.journal.max_age))
        pipeline = Pipeline(
            PipelineSettings(
                limits.pending,
                limits.pending_bytes,
                limits.result_bytes,
                limits.inline_bytes,
                config.hermes.locale,
            ),
            Rooms(journal, router, host, bus, self._logs, deadlines, metrics, once),
        )
        return _Parts(
            journal, stores, self._retention(journal, metrics), bus, router, host, pipeline, metrics
        )

    def _retention(self, journal: Journal, metrics: Metrics) -> Retention:
        kept = self._config.journal
        return Retention(
            journal, max_age=kept.max_age, max_bytes=kept.max_bytes, log=self._log, metrics=metrics
        )

    def _stores(self) -> list[Store]:
        """Return the store of this machine, which is always there, and behind it the one that others may share."""
        config = self._config
        local = find("stores", "sqlite")(file=config.hermes.state_dir / "store.db", sync=config.journal.sync)
        if config.store != "redis":
            return [local]

        def on_change(trouble: str | None) -> None:
            if trouble is None:
                self._log.info("store_back")
            else:
                self._log.warning("store_away", reason=trouble)

        shared = find("stores", "redis")(
            url=config.hermes.redis_url, prefix=config.sessions.key_prefix, on_change=on_change
        )
        return [local, shared]

    def _places(self) -> Places:
        return Places(
            plugins_dir=self._config.hermes.plugins_dir,
            state_dir=self._config.hermes.state_dir,
            base_dir=self._config.base_dir,
            configs=self._config.plugins,
            environment=self._environ,
            source=self._config.source,
        )

    def _load_plugins(self, parts: _Parts) -> None:
        folder = self._config.hermes.plugins_dir
        if not folder.is_dir():
            self._log.warning("plugins_dir_missing", plugins_dir=str(folder))
        parts.host.load()
        parts.router.load(
            entry
            for plugin in {id(t.plugin): t.plugin for t in parts.host.targets}.values()
            for entry in _entries(plugin)
        )

    def _server(self, parts: _Parts, access: Access) -> Server:
        shelf = Shelf(parts.pipeline.live, parts.journal, current=parts.pipeline.current)
        body_bytes = self._config.limits.body_bytes
        submit = Submit(parts.pipeline, parts.bus, access=access, body_bytes=body_bytes)
        messages = Messages(parts.pipeline, shelf, bus=parts.bus, access=access, body_bytes=body_bytes)
        operations = Operations(
            OperationsParts(parts.host, parts.router, parts.metrics),
            access=access,
            readiness=lambda: self._readiness(parts),
            body_bytes=body_bytes,
        )
        return build_server(build_app([submit.route, *messages.routes, *operations.routes], self._log))

    def _access(self) -> tuple[Access, Path | None]:
        """Return who is let in, and the file of the key if one is needed."""
        host = self._config.hermes.bind_host
        if self._config.auth.mode == "none" or is_loopback(host):
            if not is_loopback(host):
                self._log.warning("auth_is_off", bind=self._config.hermes.bind)
            return open_access(host), None
        file = self._config.hermes.state_dir / "admin.key"
        key, new = load_admin_key(file)
        self._log.info("admin_key_made" if new else "admin_key_used", file=str(file))
        return key_access(key), file

    async def _readiness(self, parts: _Parts) -> Readiness:
        trouble = await parts.journal.trouble()
        blocking = [trouble] if trouble is not None else []
        if parts.pipeline.stopping:
            blocking.append("Hermes is shutting down")
        lacking = [
            f"plugin {row['name']} failed" for row in parts.host.describe() if row["state"] == "failed"
        ]
        if not self._config.hermes.plugins_dir.is_dir():
            lacking.append("the plugins folder is missing")
        lacking += [away for store in parts.stores if (away := await store.trouble()) is not None]
        status = "unavailable" if blocking else "degraded" if lacking else "ok"
        return Readiness(status, blocking + lacking)

    def _greet(self, url: str, key_file: Path | None, *, host: Host) -> None:
        """Show a line to paste, with an example of a plugin that is there."""
        hermes = self._config.hermes
        where = url if is_loopback(hermes.bind_host) else f"{url} and for the network on {hermes.bind}"
        intents = (target.service.intent for target in host.targets)
        examples = [(one.name, one.examples[0]) for one in intents if one.examples]
        words = greeting(where, url, key_file=key_file, examples=examples)
        print(words, file=self._hints, flush=True)


def _settle_memory() -> None:
    """Spare the garbage collector what lives to the end anyway, and let it look less often at what a message makes."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def _check_keywords(plugin: Plugin) -> None:
    Lexicon(_entries(plugin))


def _entries(plugin: Plugin) -> list[IntentEntry]:
    name = plugin.manifest.name
    return [
        IntentEntry(one.name, name, one.keywords, priority=one.priority, writes=one.writes)
        for one in plugin.manifest.intents
    ]


def _url(host: str, port: int) -> str:
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - shown as an address that can be called
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
