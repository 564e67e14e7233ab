"""Who there is: every plugin by its name and every intent by whose it is, changed in single steps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence

from hermes.host.changes import Batch, Change, Taken, misfits
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

    @property
    def served(self) -> dict[str, Plugin]:
        """The version of every plugin that is taken in."""
        return {name: one.plugin for name, one in self.supervisors.items()}

    def misfits(self, batch: Batch, changes: Sequence[Change]) -> dict[Change, Taken]:
        """Find which of the changes cannot be made when all others are, with the plugins of `batch` gone."""
        return misfits(changes, batch.removals, served=self.served)

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

    async def make(
        self, batch: Batch, changes: Sequence[Change], *, take_in: Callable[[Change], Supervisor]
    ) -> dict[Change, Taken]:
        """Let versions serve, and plugins go, in one step; return the changes that could not be made beside the others.

        `changes` are those of the batch that are proven; `take_in` makes the version of one the current one, and returns
        its supervisor. What ends is let go; its running calls go on to their end.
        """
        async with self._changing:
            refused = self.misfits(batch, changes)
            made = [change for change in changes if change not in refused]
            ends = {*batch.removals, *(one.instead_of for one in made if one.instead_of)}
            gone = (ends - {one.name for one in made}) & self.supervisors.keys()
            put_in_force = await self._ready(made, gone)
            # Nothing else runs from here to the end.
            batch.made = True
            taken_in = [take_in(change) for change in made]
            for name in gone:
                self._let_go(self.supervisors[name])
            for supervisor in taken_in:
                self._forget(supervisor.name)
            for supervisor in taken_in:
                self.put(supervisor)
            put_in_force()
        return refused

    async def _ready(self, made: Sequence[Change], gone: Collection[str]) -> Callable[[], None]:
        """Prepare the router, unless all new versions are the same to it as the old ones."""
        before = self.served
        if not gone and all(
            one.name in before and before[one.name].manifest.intents == one.plugin.manifest.intents
            for one in made
        ):
            return lambda: None
        after = {name: plugin for name, plugin in before.items() if name not in gone}
        after |= {one.name: one.plugin for one in made}
        return await asyncio.to_thread(self._prepare, list(after.values()))

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
