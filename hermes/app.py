"""The composition root: builds every part from the configuration, and owns start and stop. Only this file knows all."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from hermes import __version__
from hermes.config import Config, load_config
from hermes.dispatch.shelf import Shelf
from hermes.errors import ConfigError
from hermes.gateway.access import Access, is_loopback, key_access, load_admin_key, open_access
from hermes.gateway.messages import Messages
from hermes.gateway.operations import Operations, Readiness
from hermes.gateway.operations import Parts as OperationsParts
from hermes.gateway.plugins import Plugins
from hermes.gateway.server import Server, bind, build_app, build_server
from hermes.gateway.submit import Submit
from hermes.greeting import greeting
from hermes.host.files.watcher import Watcher
from hermes.host.host import Host
from hermes.observe.logs import Logs
from hermes.parts import Parts, build_parts
from hermes.state_folder import StateFolder

_FOLLOW_AGAIN = 1.0  # seconds after a change could not be followed


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
        self._anew = asyncio.Event()  # all is to be looked at, whether it seems to have changed or not
        self._lost = ""  # why changes of plugins are not followed, if they are not
        self._refused: list[str] = []  # what is wrong with the configuration file as it is now

    async def run(self) -> None:
        """Serve until a signal asks to stop; raises StartError if this place does not allow a start."""
        started = time.perf_counter()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal, signal.Signals(number).name)
        loop.add_signal_handler(signal.SIGHUP, self._anew.set)
        with StateFolder(self._config.hermes.state_dir):
            listener = bind(self._config.hermes.bind_host, self._config.hermes.bind_port)
            url = _url(*listener.getsockname()[:2])
            access, key_file = self._access()
            parts = build_parts(self._config, self._environ, logs=self._logs)
            await parts.journal.open()
            for store in parts.stores:
                await store.open()
            await parts.watcher.start()
            await parts.host.open()
            self._load_plugins(parts.host)
            await parts.weighing.look()
            recovered = await parts.pipeline.recover()
            server = self._server(parts, access)
            serving = loop.create_task(server.serve(sockets=[listener]))
            seconds = round(time.perf_counter() - started, 3)
            self._log.info("listening", url=url, version=__version__, seconds=seconds, recovered=recovered)
            self._greet(url, key_file, host=parts.host)
            parts.host.start()
            running = (parts.retention.run(), parts.weighing.run(), self._follow(parts))
            beside = [loop.create_task(one) for one in running]
            _settle_memory()
            try:
                await self._until_told(serving)
            finally:
                for task in beside:
                    task.cancel()
                await parts.watcher.stop()
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

    async def _shut_down(self, parts: Parts, server: Server) -> None:
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

    def _load_plugins(self, host: Host) -> None:
        folder = self._config.hermes.plugins_dir
        if not folder.is_dir():
            self._log.warning("plugins_dir_missing", plugins_dir=str(folder))
        host.load()

    async def _follow(self, parts: Parts) -> None:
        """Load what changes in the plugins' folders, and in what the configuration says of them."""
        while True:
            try:
                await self._follow_once(parts)
                self._lost = ""
            except Exception as error:  # noqa: BLE001 - one change that goes wrong must not be the last that is followed
                self._lost = f"changes of plugins were not followed: {error}"
                self._log.exception("follow_failed")
                await asyncio.sleep(_FOLLOW_AGAIN)

    async def _follow_once(self, parts: Parts) -> None:
        touched = await self._change(parts.watcher)
        if self._config.path is not None and (touched is None or self._config.path in touched):
            await self._reconfigure(parts.host)
        if touched is None or self._config.router.weights in touched:
            parts.weighing.tell()
        await parts.host.look(touched)

    async def _change(self, watcher: Watcher) -> frozenset[Path] | None:
        """Wait for a change, or for a signal to look at everything."""
        change, anew = asyncio.ensure_future(watcher.wait()), asyncio.ensure_future(self._anew.wait())
        try:
            await asyncio.wait((change, anew), return_when=asyncio.FIRST_COMPLETED)
        finally:
            anew.cancel()
            if not change.done():
                change.cancel()
        self._anew.clear()
        return change.result() if change.done() and not change.cancelled() else None

    async def _reconfigure(self, host: Host) -> None:
        """Let plugins have their sections of the file as it is now; an invalid file changes nothing."""
        try:
            config = await asyncio.to_thread(load_config, self._config.path, self._environ)
        except ConfigError as error:
            problems = [str(problem) for problem in error.problems]
            if problems != self._refused:
                self._refused = problems
                self._log.error("config_refused", problems=problems)
            return
        self._refused = []
        await host.reconfigure(config.plugins, config.source)

    def _server(self, parts: Parts, access: Access) -> Server:
        shelf = Shelf(parts.pipeline.live, parts.journal, current=parts.pipeline.current)
        body_bytes = self._config.limits.body_bytes
        submit = Submit(parts.pipeline, parts.bus, access=access, body_bytes=body_bytes)
        messages = Messages(parts.pipeline, shelf, bus=parts.bus, access=access, body_bytes=body_bytes)
        operations = Operations(
            OperationsParts(parts.router, parts.pipeline.words, parts.metrics, self._config.hermes.locale),
            access=access,
            readiness=lambda: self._readiness(parts),
            body_bytes=body_bytes,
        )
        plugins = Plugins(parts.host, access=access)
        routes = [submit.route, *messages.routes, *plugins.routes, *operations.routes]
        return build_server(build_app(routes, self._log))

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

    async def _readiness(self, parts: Parts) -> Readiness:
        trouble = await parts.journal.trouble()
        blocking = [trouble] if trouble is not None else []
        if parts.pipeline.stopping:
            blocking.append("Hermes is shutting down")
        lacking = [
            f"plugin {row['name']} failed" for row in parts.host.describe() if row["state"] == "failed"
        ]
        if not self._config.hermes.plugins_dir.is_dir():
            lacking.append("the plugins folder is missing")
        lacking += [f"the configuration file is refused as it is now: {one}" for one in self._refused[:1]]
        lacking += [one for one in (self._lost, parts.weighing.trouble) if one]
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


def _url(host: str, port: int) -> str:
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - shown as an address that can be called
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
