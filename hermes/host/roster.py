"""Who there is: every plugin by its name and every intent by whose it is, changed in single steps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from hermes.config.document import dotted
from hermes.errors import ConfigError
from hermes.host.manifests.inspection import taken
from hermes.host.plugin import Plugin, Service
from hermes.host.supervisor import Supervisor
from hermes.values import value

Prepare = Callable[[Sequence[Plugin]], Callable[[], None]]
"""Makes ready, in any thread, what the router knows of these plugins; the result puts it in force, in no time."""


@value
class Target:
    """An intent with the plugin that serves it; `timeout` is in seconds."""

    plugin: Plugin
    service: Service
    timeout: float


class Taken(ConfigError):
    """The name or an intent of a plugin belongs to another one, which may give it up."""


class Roster:
    """The plugins that are taken in. `default_timeout` is in seconds."""

    def __init__(self, prepare: Prepare, *, default_timeout: float) -> None:
        self._prepare = prepare
        self._default_timeout = default_timeout
        self._changing = asyncio.Lock()
        self.supervisors: dict[str, Supervisor] = {}
        self.leaving: list[Supervisor] = []
        """Plugins that are gone and still run calls."""
        self.targets: dict[str, Target] = {}

    def check(self, plugin: Plugin, *, instead_of: str | None = None) -> None:
        """Raise Taken if the plugin's name, or an intent, belongs to a plugin other than `instead_of`."""
        owners = {intent: target.plugin.manifest.name for intent, target in self.targets.items()}
        others = {intent: owner for intent, owner in owners.items() if owner != instead_of}
        for path, reason in taken(
            plugin.manifest, plugins=self.supervisors.keys() - {instead_of}, owners=others
        ):
            raise Taken(reason, key=dotted(path))

    def put(self, supervisor: Supervisor) -> None:
        """Take a plugin in, in the place of an earlier version; what the router knows is not changed."""
        plugin = supervisor.plugin
        self._forget(supervisor.name)
        self.supervisors[supervisor.name] = supervisor
        timeout = plugin.manifest.timeout or self._default_timeout
        for intent, service in plugin.services.items():
            self.targets[intent] = Target(plugin, service, timeout)

    def announce(self) -> None:
        """Let the router know all plugins that there are."""
        self._prepare([one.plugin for one in self.supervisors.values()])()

    async def install(
        self, plugin: Plugin, take_in: Callable[[], Supervisor], *, instead_of: str | None = None
    ) -> None:
        """Let a version serve in one step: `take_in` makes it the current one and returns its supervisor.

        `instead_of` is the name of the plugin that it replaces, None if it is new. Raises Taken.
        """
        async with self._changing:
            self.check(plugin, instead_of=instead_of)
            others = [one.plugin for name, one in self.supervisors.items() if name != instead_of]
            put_in_force = await self._ready([*others, plugin], plugin, instead_of=instead_of)
            # Nothing else runs from here to the end.
            old = self.supervisors.get(instead_of or "")
            supervisor = take_in()
            if old is not None and old is not supervisor:
                self._let_go(old)
            self.put(supervisor)
            put_in_force()

    async def remove(self, name: str) -> None:
        """Take a plugin out in one step; its running calls go on to their end."""
        async with self._changing:
            others = [one.plugin for other, one in self.supervisors.items() if other != name]
            put_in_force = await asyncio.to_thread(self._prepare, others)
            self._let_go(self.supervisors[name])
            put_in_force()

    async def _ready(
        self, plugins: Sequence[Plugin], plugin: Plugin, *, instead_of: str | None
    ) -> Callable[[], None]:
        """Prepare the router, unless a new version is the same to it as the old one."""
        old = self.supervisors.get(instead_of or "")
        same_name = old is not None and old.name == plugin.manifest.name
        if old is not None and same_name and old.plugin.manifest.intents == plugin.manifest.intents:
            return lambda: None
        return await asyncio.to_thread(self._prepare, plugins)

    def _let_go(self, supervisor: Supervisor) -> None:
        self._forget(supervisor.name)
        self.leaving.append(supervisor)
        supervisor.remove(self._on_gone)

    def _on_gone(self, supervisor: Supervisor) -> None:
        self.leaving.remove(supervisor)
        if supervisor.name not in self.supervisors:
            supervisor.forget()

    def _forget(self, name: str) -> None:
        self.supervisors.pop(name, None)
        gone = [intent for intent, target in self.targets.items() if target.plugin.manifest.name == name]
        for intent in gone:
            del self.targets[intent]

    def everyone(self) -> Iterable[Supervisor]:
        """Return all plugins, those that are leaving too."""
        return [*self.supervisors.values(), *self.leaving]
