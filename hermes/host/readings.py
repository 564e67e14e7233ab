"""Reads plugins' folders beside one another, so that a large one holds up no other. What comes of it is decided elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection

from hermes.host.candidates import Candidates, NotTaken
from hermes.host.files.staging import ChangedMeanwhile
from hermes.host.folders import Folder
from hermes.host.outcomes import Outcomes
from hermes.host.plugin import Plugin
from hermes.host.roster import Roster
from hermes.observe.logs import Logger

_AT_A_TIME = 4
"""Folders that are read at a time, a thread each: the others of the process are to find one too."""


class Readings:
    """Reads folders, each by one at a time; `found` is what is new in them, in copies of its own, until it is fetched.

    `give_up` is called with a folder of which something is tried that is there no more, `again` with one that is to be
    looked at later.
    """

    def __init__(
        self,
        candidates: Candidates,
        *,
        roster: Roster,
        outcomes: Outcomes,
        give_up: Callable[[Folder], None],
        again: Callable[[Folder], None],
        log: Logger,
    ) -> None:
        self._candidates = candidates
        self._roster = roster
        self._outcomes = outcomes
        self._give_up = give_up
        self._again = again
        self._log = log
        self._places = asyncio.Semaphore(_AT_A_TIME)
        self.found: dict[Folder, Plugin] = {}

    async def read(self, folders: Collection[Folder], *, within: float) -> set[asyncio.Task[None]]:
        """Read folders, and return after `within` seconds those readings that still go on.

        One that is being read already is read once more after that.
        """
        for folder in folders:
            if folder.reading is None:
                folder.reading = asyncio.get_running_loop().create_task(self._read(folder))
            else:
                folder.touched = True
        readings = {folder.reading for folder in folders if folder.reading is not None}
        if not readings:
            return set()
        _, going_on = await asyncio.wait(readings, timeout=within)
        return going_on

    async def discard(self, folder: Folder) -> None:
        """Let go of what was found in a folder."""
        plugin = self.found.pop(folder, None)
        if plugin is not None:
            await asyncio.to_thread(self._candidates.discard, plugin)

    async def _read(self, folder: Folder) -> None:
        try:
            while True:
                folder.touched = False
                async with self._places:
                    await self._look(folder)
                if not folder.touched:
                    break
        finally:
            folder.reading, folder.anew = None, False

    async def _look(self, folder: Folder) -> None:
        try:
            plugin = await self._news(folder)
        except ChangedMeanwhile:
            self._again(folder)
            return
        if folder.again is not None:
            folder.again.cancel()
            folder.again = None
        if plugin is not None:
            folder.tried, folder.unrest = plugin.hash, 0
            self.found[folder] = plugin

    async def _news(self, folder: Folder) -> Plugin | None:
        """Return what is to be tried, None if there is nothing new; raises ChangedMeanwhile."""
        supervisor = self._roster.supervisors.get(folder.plugin or "")
        if supervisor is not None and supervisor.disabled and not folder.anew:
            return None
        found = await asyncio.to_thread(self._candidates.content, folder.path)
        if found == folder.tried and not folder.anew:
            return None
        self._give_up(folder)  # what it tries is not what is there
        await self.discard(folder)
        if supervisor is not None and found == supervisor.plugin.hash and not folder.anew:
            folder.tried = found
            self._outcomes.clear(folder)
            self._log.info("plugin_as_served", plugin=supervisor.name, hash=found)
            return None
        try:
            return await asyncio.to_thread(self._candidates.read, folder.path, at_rest=not folder.anew)
        except NotTaken as error:
            folder.tried = "" if error.passing else found  # then the next sweep tries it again
            self._outcomes.refuse(folder, error)
        return None
