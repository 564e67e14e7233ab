"""All plugins together: knows which intent is whose, runs calls, and tells how each plugin is. The entrance to this room."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hermes.catalog import find
from hermes.config import Document
from hermes.errors import NotFound
from hermes.host.candidates import Candidates
from hermes.host.crew import Watch
from hermes.host.custody.custody import Custody
from hermes.host.disabled import Disabled
from hermes.host.folders import Folders
from hermes.host.gate import StartGate
from hermes.host.generation import Generation
from hermes.host.manifests.parameters import Fold
from hermes.host.orders import Orders
from hermes.host.plugin import Places, Plugin, safe_environment
from hermes.host.reloads import Reloads
from hermes.host.roster import Prepare, Roster, Target
from hermes.host.rows import empty_row, plugin_row
from hermes.host.supervisor import BreakerSettings, Supervisor
from hermes.host.workers.calls import Call
from hermes.host.workers.failures import Superseded
from hermes.host.workers.launch import blank_launch
from hermes.host.workers.spares import Spares
from hermes.host.workers.workshop import Tools

__all__ = ["Host", "HostSettings", "Target"]

_STARTS_AT_A_TIME = 2


@dataclass(frozen=True, slots=True)
class HostSettings:
    """Seconds a call may run and may wait for a worker, and bytes of one frame of the wire.

    `rest` is how many seconds a folder has to be left alone before a change in it is taken for whole.
    """

    default_timeout: float
    queue_wait: float
    frame_bytes: int
    breaker: BreakerSettings = field(default_factory=BreakerSettings)
    spare_workers: int = 0
    rest: float = 0.0


class _Maker:
    """Makes versions and owners of plugins, with what is the same for all of them."""

    def __init__(
        self,
        settings: HostSettings,
        candidates: Candidates,
        *,
        tools: Tools,
        disabled: Disabled,
        watch: Watch,
    ) -> None:
        self._settings = settings
        self._candidates = candidates
        self._disabled = disabled
        self._watch = watch
        self._gate = StartGate(_STARTS_AT_A_TIME)
        self._tools = tools

    def generation(self, plugin: Plugin) -> Generation:
        return Generation(
            plugin,
            find("host.runtimes", plugin.manifest.runtime)(),
            tools=self._tools,
            gate=self._gate,
            queue_wait=self._settings.queue_wait,
            watch=self._watch,
        )

    def supervisor(self, generation: Generation) -> Supervisor:
        made = Supervisor(
            generation, breaker=self._settings.breaker, watch=self._watch, discard=self._discard
        )
        made.disabled = made.name in self._disabled
        return made

    async def _discard(self, plugin: Plugin) -> None:
        await asyncio.to_thread(self._candidates.discard, plugin)


class Host:
    """The plugins of one folder. What is broken is listed with its reason; everything else goes on.

    `check` may refuse a plugin with ConfigError for reasons the host cannot know; `prepare` lets the router follow.
    `fold` is how words of a text are compared with values that parameters may have; without it none are looked for.
    """

    def __init__(
        self,
        settings: HostSettings,
        places: Places,
        *,
        watch: Watch,
        check: Callable[[Plugin], None] = lambda _plugin: None,
        prepare: Prepare = lambda _plugins: lambda: None,
        fold: Fold | None = None,
    ) -> None:
        candidates, folders = Candidates(places, check, rest=settings.rest, fold=fold), Folders()
        disabled = Disabled(places.state_dir / "disabled")
        self._folders = folders
        self._roster = Roster(prepare, default_timeout=settings.default_timeout)
        self._custody = Custody(places.state_dir, log=watch.log)
        self._spares = Spares(
            lambda: replace(
                blank_launch(
                    safe_environment(places.environment), places.state_dir, frame_bytes=settings.frame_bytes
                ),
                custody=self._custody,
            ),
            count=settings.spare_workers,
            log=watch.log,
        )
        tools = Tools(settings.frame_bytes, self._custody, self._spares)
        maker = _Maker(settings, candidates, tools=tools, disabled=disabled, watch=watch)
        self._reloads = Reloads(candidates, folders, roster=self._roster, maker=maker, watch=watch)
        self._orders = Orders(self._reloads, folders, roster=self._roster, disabled=disabled, log=watch.log)

    async def open(self) -> None:
        """Answer for every process below this one, and end what an earlier daemon left: for a process that is a daemon."""
        await self._custody.open()

    def load(self) -> None:
        """Read every plugin's folder; starts nothing."""
        self._reloads.load()

    def start(self) -> None:
        """Begin to start workers, a few at a time, in the background."""
        self._custody.start()
        for supervisor in self._roster.supervisors.values():
            supervisor.start()

    async def stop(self) -> None:
        """End all workers."""
        await self._reloads.stop()
        await self._spares.close()
        await asyncio.gather(*(supervisor.stop() for supervisor in self._roster.everyone()))
        await self._custody.close()

    async def look(self, touched: frozenset[Path] | None = None) -> None:
        """Load what has changed in these folders, in all of them if `touched` is None."""
        await self._reloads.look(touched)

    async def settle(self) -> None:
        """Return when nothing that was found is being tried any more."""
        await self._reloads.settle()

    async def reconfigure(self, configs: Mapping[str, Mapping[str, Any]], source: Document) -> None:
        """Take the plugins' sections of hermes.yaml as they are now."""
        await self._reloads.reconfigure(configs, source)

    async def reload(self, name: str) -> None:
        """Load a plugin anew and return when it serves; raises NotFound, or Conflict with the reason."""
        await self._orders.reload(name)

    async def disable(self, name: str) -> None:
        """Let a plugin take no calls until it is enabled; raises NotFound or Conflict."""
        await self._orders.disable(name)

    async def enable(self, name: str) -> None:
        """Let a plugin take calls again; raises NotFound, or Conflict with the reason."""
        await self._orders.enable(name)

    @property
    def targets(self) -> Iterator[Target]:
        """Every intent that can be called."""
        return iter(list(self._roster.targets.values()))

    def find(self, intent: str) -> Target | None:
        """Return who serves an intent, or None if nobody does."""
        return self._roster.targets.get(intent)

    def has_room(self, target: Target) -> bool:
        """Say whether a call would start at once."""
        supervisor = self._roster.supervisors.get(target.plugin.manifest.name)
        return supervisor is not None and supervisor.has_room()

    def capacity(self, target: Target) -> int:
        """Return how many calls can run at a time, once all workers are there."""
        manifest = target.plugin.manifest
        return manifest.workers.max * manifest.concurrency

    async def run(self, target: Target, call: Call) -> Any:
        """Run a call and return what the handler returned; raises a CallEnded if it returned nothing.

        Superseded says that nothing ran, and that the intent is to be found anew.
        """
        supervisor = self._roster.supervisors.get(target.plugin.manifest.name)
        if supervisor is None:
            raise Superseded("the plugin is gone")
        return await supervisor.run(target.plugin, call)

    def describe(self) -> list[dict[str, Any]]:
        """Return what `GET /v1/plugins` lists, one object a plugin, by name."""
        rows = [plugin_row(one) for one in self._roster.supervisors.values()]
        rows += [plugin_row(one, leaving=True) for one in self._roster.leaving]
        rows += [
            empty_row(folder.name, folder.error)
            for folder in self._folders
            if folder.error is not None and folder.plugin not in self._roster.supervisors
        ]
        return sorted(rows, key=lambda row: row["name"])

    def plugin(self, name: str) -> dict[str, Any]:
        """Return one plugin's object; raises NotFound."""
        for row in self.describe():
            if row["name"] == name:
                return row
        raise NotFound(f"there is no plugin {name!r}")
