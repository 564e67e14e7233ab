"""Keeps what is loaded in step with the folders: what is new is tried, and only what works takes the place of the old."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from hermes.config import Document
from hermes.host.candidates import Candidates, NotTaken
from hermes.host.crew import StartFailed, Watch
from hermes.host.files.staging import ChangedMeanwhile
from hermes.host.folders import Folder, Folders, plugin_folders
from hermes.host.generation import Generation
from hermes.host.plugin import Plugin
from hermes.host.refusals import refusal, shown_name
from hermes.host.roster import Roster, Taken
from hermes.host.supervisor import Supervisor

_AGAIN = (
    0.2  # seconds until a folder is looked at again that was written to while it was read; doubled each time
)
_RARELY = 10.0  # seconds, at the most
_RESTLESS = 6  # times in a row after which that is told: something writes there all the time


class Maker(Protocol):
    """Makes what runs a plugin."""

    def generation(self, plugin: Plugin) -> Generation:
        """Return a version that has not started."""

    def supervisor(self, generation: Generation) -> Supervisor:
        """Return the owner of a plugin that is new."""


class Reloads:
    """Loads the plugins of one folder, and goes on loading what changes there."""

    def __init__(
        self, candidates: Candidates, folders: Folders, *, roster: Roster, maker: Maker, watch: Watch
    ) -> None:
        self._candidates = candidates
        self._folders = folders
        self._roster = roster
        self._maker = maker
        self._metrics = watch.metrics
        self._log = watch.log
        self._looking = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()

    def load(self) -> None:
        """Read every folder for the first time; starts nothing."""
        for error in self._candidates.open():
            self._log.warning("staged_copy_left", reason=str(error))
        for path in plugin_folders(self._candidates.places.plugins_dir):
            folder = self._folders.add(path)
            try:
                plugin = self._candidates.read(path)
                folder.tried = plugin.hash
                self._roster.check(plugin)
            except ChangedMeanwhile:
                self._look_again(folder)
            except (NotTaken, Taken) as error:
                folder.tried = error.hash if isinstance(error, NotTaken) else folder.tried
                self._refuse(folder, error)
            else:
                supervisor = self._maker.supervisor(self._maker.generation(plugin))
                self._roster.put(supervisor)
                self._note(folder, plugin, event="plugin_loaded", result="loaded")
        self._roster.announce()

    async def stop(self) -> None:
        """Try nothing any more."""
        tasks = self._under_way()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def look(
        self, touched: frozenset[Path] | None = None, *, anew: frozenset[Path] = frozenset()
    ) -> None:
        """Look at the folders that may have changed, all if `touched` is None; those of `anew` count as changed.

        Returns when it is known what changed; what is to be tried goes on in the background.
        """
        async with self._looking:
            plugins_dir = self._candidates.places.plugins_dir
            if not plugins_dir.is_dir():
                self._log.warning("plugins_dir_missing", plugins_dir=str(plugins_dir))
                return
            try:
                present = await asyncio.to_thread(plugin_folders, plugins_dir)
            except OSError as error:  # gone this moment, or not to be read: what serves goes on
                self._log.warning("plugins_dir_unreadable", plugins_dir=str(plugins_dir), reason=str(error))
                return
            candidates = []
            for path in present:
                known = path in self._folders
                if known and touched is not None and path not in touched | anew:
                    continue
                folder = self._folders.add(path)
                plugin = await self._read(folder, anew=path in anew)
                if plugin is not None:
                    candidates.append((folder, plugin))
            gone = [one for one in self._folders if one.path not in present]
            candidates = [pair for pair in candidates if not self._moved(*pair, gone=gone)]
            for folder in gone:
                self._drop(folder)
            for folder, plugin in candidates:
                folder.task = asyncio.get_running_loop().create_task(self._try(folder, plugin))

    async def settle(self) -> None:
        """Return when nothing is being tried, removed or looked at any more."""
        while tasks := {task for task in self._under_way() if not task.done()}:
            await asyncio.wait(tasks)

    async def reconfigure(self, configs: Mapping[str, Mapping[str, Any]], source: Document) -> None:
        """Take the plugins' sections of hermes.yaml as they are now; those that they belong to are loaded anew."""
        before = self._candidates.places.configs
        self._candidates.places = replace(self._candidates.places, configs=configs, source=source)
        changed = {name for name in {*before, *configs} if before.get(name) != configs.get(name)}
        if not changed:
            return
        anew = {one.path for one in self._folders if one.plugin in changed or one.error is not None}
        await self.look(frozenset(), anew=frozenset(anew))

    async def _read(self, folder: Folder, *, anew: bool) -> Plugin | None:
        """Return what is to be tried, None if there is nothing new."""
        supervisor = self._roster.supervisors.get(folder.plugin or "")
        if supervisor is not None and supervisor.disabled and not anew:
            return None
        try:
            found = await asyncio.to_thread(self._candidates.content, folder.path)
            if found == folder.tried and not anew:
                return None
            if folder.task is not None:
                folder.task.cancel()  # what it tries is not what is there
                folder.tried = ""
            if supervisor is not None and found == supervisor.plugin.hash and not anew:
                folder.tried = found
                self._clear(folder, supervisor)
                self._log.info("plugin_as_served", plugin=supervisor.name, hash=found)
                return None
            plugin = await asyncio.to_thread(self._candidates.read, folder.path, at_rest=not anew)
        except ChangedMeanwhile:
            self._look_again(folder)
        except NotTaken as error:
            folder.tried = "" if error.passing else found  # then the next sweep tries it again
            self._refuse(folder, error)
        else:
            folder.tried, folder.unrest = plugin.hash, 0
            return plugin
        return None

    async def _try(self, folder: Folder, plugin: Plugin) -> None:
        """Let a version serve if it can be started."""
        old = self._roster.supervisors.get(folder.plugin or "")
        fresh = old is None or old.disabled
        served = False
        try:
            self._roster.check(plugin, instead_of=folder.plugin)
            generation = self._maker.generation(plugin)
            await generation.prove()

            def take_in() -> Supervisor:
                nonlocal served
                served = True
                if old is not None and old.name == plugin.manifest.name:
                    old.replace(generation)
                    return old
                supervisor = self._maker.supervisor(generation)
                supervisor.start()
                return supervisor

            try:
                await self._roster.install(plugin, take_in, instead_of=None if old is None else old.name)
            finally:
                if not served:
                    await generation.stop()
        except (Taken, *StartFailed) as error:
            self._refuse(folder, error)
        else:
            if old is not None and old.name != plugin.manifest.name:
                self._gone(old.name)
            what = "plugin_loaded" if fresh else "plugin_reloaded"
            self._note(folder, plugin, event=what, result="loaded" if fresh else "swapped")
            self._try_taken()
        finally:
            if not served:
                await asyncio.to_thread(self._candidates.discard, plugin)

    def _moved(self, folder: Folder, plugin: Plugin, *, gone: list[Folder]) -> bool:
        """Take over the plugin of a folder that is gone, if this is it under another name; say whether nothing else is new."""
        for other in gone:
            if other.plugin == plugin.manifest.name:
                supervisor = self._roster.supervisors[plugin.manifest.name]
                folder.plugin, other.plugin = other.plugin, None
                if supervisor.plugin.hash == plugin.hash or supervisor.disabled:
                    self._clear(folder, supervisor)
                    self._own(asyncio.to_thread(self._candidates.discard, plugin))
                    return True
        return False

    def _drop(self, folder: Folder) -> None:
        self._folders.remove(folder)
        for task in (folder.task, folder.again):
            if task is not None:
                task.cancel()
        if folder.plugin in self._roster.supervisors:
            self._own(self._remove(folder.plugin))

    async def _remove(self, name: str) -> None:
        await self._roster.remove(name)
        self._gone(name)
        self._try_taken()

    def _gone(self, name: str) -> None:
        self._metrics.reloads.labels(name, "removed").inc()
        self._log.info("plugin_removed", plugin=name)

    def _try_taken(self) -> None:
        """Try those again that wanted what another plugin had: it may be free now."""
        waiting = frozenset(one.path for one in self._folders if one.taken)
        if waiting:
            self._own(self.look(frozenset(), anew=waiting))

    def _look_again(self, folder: Folder) -> None:
        """Look later at a folder that is written to: once, however often that is found until then."""
        if folder.again is not None:
            return
        folder.unrest += 1
        if folder.unrest == _RESTLESS:
            self._log.warning("plugin_restless", plugin=shown_name(folder.path), folder=str(folder.path))
        seconds = min(_AGAIN * 2 ** min(folder.unrest, _RESTLESS), _RARELY)
        folder.again = asyncio.get_running_loop().create_task(self._look_later(folder, seconds))

    async def _look_later(self, folder: Folder, seconds: float) -> None:
        try:
            await asyncio.sleep(seconds)
        finally:
            folder.again = None
        self._own(self.look(frozenset({folder.path})))

    def _refuse(self, folder: Folder, error: Exception) -> None:
        """Keep in mind why a folder's latest content does not serve."""
        lines = error.lines if isinstance(error, NotTaken) else [str(error)]
        folder.error = error.error if isinstance(error, NotTaken) else refusal(error)
        folder.taken = isinstance(error, Taken)
        supervisor = self._roster.supervisors.get(folder.plugin or "")
        name, serving = shown_name(folder.path), {}
        if supervisor is not None:
            supervisor.refused = folder.error
            name, serving = supervisor.name, {"serving": supervisor.plugin.hash}
        self._metrics.reloads.labels(name, "failed").inc()
        where = {"file": folder.error.file, "line": folder.error.line}
        self._log.error("plugin_refused", plugin=name, problems=lines, **where, **serving)

    def _clear(self, folder: Folder, supervisor: Supervisor | None) -> None:
        folder.error, folder.taken = None, False
        if supervisor is not None:
            supervisor.refused = None

    def _note(self, folder: Folder, plugin: Plugin, *, event: str, result: str) -> None:
        """Keep in mind, and tell, that a folder's content serves."""
        folder.plugin = plugin.manifest.name
        self._clear(folder, self._roster.supervisors.get(folder.plugin))
        self._metrics.reloads.labels(folder.plugin, result).inc()
        self._log.info(
            event,
            plugin=folder.plugin,
            version=plugin.manifest.version,
            hash=plugin.hash,
            intents=sorted(plugin.services),
        )

    def _under_way(self) -> set[asyncio.Task[None]]:
        waiting = (task for one in self._folders for task in (one.task, one.again) if task is not None)
        return {*self._tasks, *waiting}

    def _own(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
