"""Keeps what is loaded in step with the folders: what is new is tried, and only what works takes the place of the old."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hermes.config import Document
from hermes.host.arrangement import Arrangement
from hermes.host.candidates import Candidates, NotTaken
from hermes.host.changes import Change, misfits
from hermes.host.crew import Watch
from hermes.host.files.staging import ChangedMeanwhile
from hermes.host.folders import Folder, Folders, plugin_folders
from hermes.host.outcomes import Outcomes
from hermes.host.readings import Readings
from hermes.host.refusals import shown_name
from hermes.host.roster import Roster
from hermes.host.trials import Maker, Trials

_WITHIN = 0.5  # seconds that a look waits for a folder; a larger one is tried when it has been read
_AGAIN = (
    0.2  # seconds until a folder is looked at again that was written to while it was read; doubled each time
)
_RARELY = 10.0  # seconds, at the most
_RESTLESS = 6  # times in a row after which that is told: something writes there all the time


class Reloads:
    """Loads the plugins of one folder, and goes on loading what changes there."""

    def __init__(
        self, candidates: Candidates, folders: Folders, *, roster: Roster, maker: Maker, watch: Watch
    ) -> None:
        self._candidates = candidates
        self._folders = folders
        self._roster = roster
        self._maker = maker
        self._log = watch.log
        self._outcomes = outcomes = Outcomes(folders, roster=roster, watch=watch)
        self._arrangement = Arrangement(
            folders,
            roster=roster,
            outcomes=outcomes,
            trials=Trials(candidates, roster=roster, maker=maker, outcomes=outcomes),
            again=self._look_again,
            freed=self._try_taken,
        )
        self._readings = Readings(
            candidates,
            roster=roster,
            outcomes=outcomes,
            give_up=self._arrangement.give_up,
            again=self._look_again,
            log=watch.log,
        )
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
            except ChangedMeanwhile:
                self._look_again(folder)
            except NotTaken as error:
                folder.tried = error.hash
                self._outcomes.refuse(folder, error)
            else:
                folder.tried = plugin.hash
                self._put(Change(folder, plugin, None))
        self._roster.announce()

    def _put(self, change: Change) -> None:
        refused = misfits([change], (), served=self._roster.served)
        if refused:
            self._outcomes.refuse(change.folder, refused[change])
            return
        self._roster.put(self._maker.supervisor(self._maker.generation(change.plugin)))
        self._outcomes.taken_in(change.folder, change.plugin, anew=True)

    async def stop(self) -> None:
        """Try nothing any more."""
        tasks = self._under_way()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def look(
        self,
        touched: frozenset[Path] | None = None,
        *,
        anew: frozenset[Path] = frozenset(),
        patience: float = 0.0,
    ) -> None:
        """Look at the folders that may have changed, all if `touched` is None; those of `anew` count as changed.

        Returns when it is known what changed. What is to be tried goes on in the background, and so does what takes long
        to be read, for which this waits `patience` seconds more.
        """
        async with self._looking:
            present = await self._present()
            if present is None:
                return
            due = self._due()
            folders = []
            for path in present:
                if path in self._folders and touched is not None and path not in touched | anew | due:
                    continue
                folder = self._folders.add(path)
                folder.anew = folder.anew or path in anew
                folders.append(folder)
            late = await self._readings.read(folders, within=_WITHIN)
            late |= await self._arrange()
        if late:
            await asyncio.wait({self._own(self._arrange_later(late))}, timeout=patience)

    def _due(self) -> frozenset[Path]:
        """Return the folders that are to be looked at again, if that is due for any: they may depend on one another."""
        due = [one for one in self._folders if one.again is not None and one.again.done()]
        for folder in due:
            folder.again = None
        others = [one for one in self._folders if due and one.again is not None]
        return frozenset(one.path for one in (*due, *others))

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

    def give_up(self, folder: Folder) -> None:
        """Give up what is tried of a folder; others that are tried with it are looked at again."""
        self._arrangement.give_up(folder)
        self._own(self.look(frozenset()))

    async def _present(self) -> list[Path] | None:
        """Return the folders that there are, None if that is not to be known: then what serves goes on."""
        plugins_dir = self._candidates.places.plugins_dir
        if not plugins_dir.is_dir():
            self._log.warning("plugins_dir_missing", plugins_dir=str(plugins_dir))
            return None
        try:
            return await asyncio.to_thread(plugin_folders, plugins_dir)
        except OSError as error:  # gone this moment, or not to be read
            self._log.warning("plugins_dir_unreadable", plugins_dir=str(plugins_dir), reason=str(error))
            return None

    async def _arrange(self) -> set[asyncio.Task[None]]:
        """Begin to try what was found, and to let go what is gone; return the readings that still go on.

        What may be able to serve by now is read for it: what wanted something of another plugin, and what was given up.
        """
        loose, present = self._arrangement.loose, await self._present()
        if present is None:
            return set()
        late: set[asyncio.Task[None]] = set()
        gone = [one for one in self._folders if one.path not in present]
        if self._readings.found or loose or gone:
            found = self._readings.found
            drawn = [one for one in self._folders if (one.taken or one in loose) and one not in found]
            loose.clear()
            for folder in drawn:
                folder.tried = ""
            late = await self._readings.read(drawn, within=_WITHIN)
            present = await self._present()
            if present is None:
                return late
        # Nothing else runs from here to the end.
        for folder in self._folders:
            if folder.path not in present:
                self._arrangement.drop(folder)
        found, self._readings.found = self._readings.found, {}
        self._arrangement.begin(found)
        return late

    async def _arrange_later(self, late: set[asyncio.Task[None]]) -> None:
        """Try what takes long to be read, each as soon as it has been."""
        while late:
            _, late = await asyncio.wait(late, return_when=asyncio.FIRST_COMPLETED)
            async with self._looking:
                late |= await self._arrange()

    def _try_taken(self) -> None:
        """Try those again that wanted what another plugin had: it may be free now."""
        waiting = frozenset(one.path for one in self._folders if one.taken)
        if waiting:
            for folder in self._folders:
                folder.tried = "" if folder.taken else folder.tried
            self._own(self.look(waiting))

    def _look_again(self, folder: Folder) -> None:
        """Look later at a folder that is written to: once, however often that is found until then."""
        if folder.again is not None:
            return
        folder.unrest += 1
        if folder.unrest == _RESTLESS:
            self._log.warning("plugin_restless", plugin=shown_name(folder.path), folder=str(folder.path))
        seconds = min(_AGAIN * 2 ** min(folder.unrest, _RESTLESS), _RARELY)
        folder.again = asyncio.get_running_loop().create_task(self._look_later(seconds))

    async def _look_later(self, seconds: float) -> None:
        await asyncio.sleep(seconds)
        self._own(self.look(frozenset()))

    def _under_way(self) -> set[asyncio.Task[None]]:
        waiting = (task for one in self._folders for task in (one.reading, one.again) if task is not None)
        return {*self._tasks, *self._arrangement.tasks, *waiting}

    def _own(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
