"""What is being tried: begins it with all that it depends on, and gives it up. It reads no folder."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from hermes.host.changes import Batch, Change, batches, gives_or_takes
from hermes.host.folders import Folder, Folders
from hermes.host.outcomes import Outcomes
from hermes.host.ownership import hand_over
from hermes.host.plugin import Plugin
from hermes.host.roster import Roster
from hermes.host.trials import Trials

_HELD = 5  # looks that who gives something up, or takes it, waits for a folder that is still being read or written to


class Arrangement:
    """Tries what was found in folders. `again` is called with a folder that is to be looked at later, `freed` whenever
    something changed that others may have waited for.
    """

    def __init__(
        self,
        folders: Folders,
        *,
        roster: Roster,
        outcomes: Outcomes,
        trials: Trials,
        again: Callable[[Folder], None],
        freed: Callable[[], None],
    ) -> None:
        self._folders = folders
        self._roster = roster
        self._outcomes = outcomes
        self._trials = trials
        self._again = again
        self._freed = freed
        self._batches: dict[asyncio.Task[None], Batch] = {}
        self._lost: set[str] = set()  # plugins without a folder whose end is not under way
        self.tasks: set[asyncio.Task[None]] = set()
        """What is under way."""
        self.loose: set[Folder] = set()
        """Folders that have to be read again: their trial was given up for the sake of another one."""

    def give_up(self, folder: Folder) -> None:
        """Give up what is tried of a folder; what is tried with it is `loose` then."""
        task = folder.task
        if task is None:
            return
        folder.tried, folder.task = "", None
        batch = self._batches.get(task)
        if batch is None or batch.made:  # what is left to do is to tell of it, and to tidy up
            return
        task.cancel()
        self._lost.update(batch.removals)
        for change in batch.changes:
            if change.folder is not folder:
                supervisor = self._roster.supervisors.get(change.instead_of or "")
                if supervisor is not None and supervisor.plugin.hash == change.plugin.hash:
                    change.folder.anew = True  # there was another reason than its content
                change.folder.tried = ""
                self.loose.add(change.folder)

    def drop(self, folder: Folder) -> None:
        """Forget a folder that is gone; its plugin goes with the next `begin`."""
        self._folders.remove(folder)
        self.give_up(folder)
        self.loose.discard(folder)
        if folder.again is not None:
            folder.again.cancel()
        if folder.plugin in self._roster.supervisors:
            self._lost.add(folder.plugin)
        else:
            self._outcomes.gone(folder.name)

    def begin(self, found: Mapping[Folder, Plugin]) -> None:
        """Try what was found, and let go what has no folder."""
        news = {}
        for folder, plugin in sorted(found.items(), key=lambda pair: pair[0].path):
            if self._folders.has(folder):
                news[folder] = plugin
            else:
                self._discard(plugin)
        served = self._roster.served
        lost = self._lost & served.keys()
        moved, lost = hand_over(news, self._folders, served=served.keys(), lost=lost)
        self._lost.clear()
        for folder, name in moved.items():
            supervisor = self._roster.supervisors[name]
            if supervisor.disabled or supervisor.plugin.hash == news[folder].hash:
                self._outcomes.clear(folder)
                self._discard(news.pop(folder))
        changes = [
            Change(folder, plugin, folder.plugin if folder.plugin in served else None)
            for folder, plugin in news.items()
        ]
        for batch in batches(self._ready(changes, served), sorted(lost), served=served):
            task = self._own(self._carry_out(batch))
            self._batches[task] = batch
            for change in batch.changes:
                change.folder.task = task

    async def _carry_out(self, batch: Batch) -> None:
        if await self._trials.carry_out(batch):
            self._freed()

    def _ready(self, changes: Sequence[Change], served: Mapping[str, Plugin]) -> list[Change]:
        """Return the changes that can be tried now.

        One that gives something up waits for those that are still being read or written to, and may want it.
        """
        unsure = {one for one in self._folders if one.again is not None or one.reading is not None}
        ready = []
        for change in changes:
            folder = change.folder
            others = unsure - {folder}
            if others and folder.held < _HELD and gives_or_takes(change, served):
                folder.held += 1
                folder.tried = ""
                self._discard(change.plugin)
                self._again(folder)
            else:
                folder.held = 0
                ready.append(change)
        return ready

    def _discard(self, plugin: Plugin) -> None:
        self._own(self._trials.discard(plugin))

    def _own(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self._forget)
        return task

    def _forget(self, task: asyncio.Task[None]) -> None:
        self.tasks.discard(task)
        self._batches.pop(task, None)
