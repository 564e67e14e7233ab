"""Who is responsible for the processes that are started for plugins: each is marked, watched, and seen to its end."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections.abc import Callable
from pathlib import Path

from hermes.host.custody.orphans import Orphans
from hermes.host.custody.processes import MARK
from hermes.host.custody.resources import Resources, SessionLimits
from hermes.observe.logs import Logger

_STARTS_AT_A_TIME = 2


class Ward:
    """One process, from before its start until it was reaped. `variables` belong into its environment."""

    def __init__(self, limits: SessionLimits, *, orphans: Orphans, resources: Resources) -> None:
        self._limits = limits
        self._orphans = orphans
        self._resources = resources
        self._mark = orphans.new_mark()
        self._pid = 0
        self._over = False
        self.variables = {MARK: self._mark}

    def begin(self, pid: int, kill: Callable[[str], None]) -> None:
        """Take note that it runs; `kill` is told why, if it uses more than its limits."""
        if not self._over:
            self._pid = pid
            self._orphans.enroll(pid, self._mark)
            self._resources.watch(pid, self._limits, on_over=kill)

    def limit(self, limits: SessionLimits, kill: Callable[[str], None]) -> None:
        """Put other limits in the place of those that it began with."""
        if not self._over:
            self._limits = limits
            self._resources.forget(self._pid)
            self._resources.watch(self._pid, limits, on_over=kill)

    def end(self) -> None:
        """Take note that it was reaped, or never started: what it left behind is ended."""
        if not self._over:
            self._over = True
            self._resources.forget(self._pid)
            self._orphans.ended(self._mark)


class Custody:
    """Keeps the processes of one daemon; `state_dir` is the folder that no other daemon uses at the same time."""

    def __init__(self, state_dir: Path, *, log: Logger) -> None:
        self._orphans = Orphans(_state_id(state_dir), log=log)
        self._resources = Resources()
        self._tasks: list[asyncio.Task[None]] = []
        self._open = False
        self.starts = asyncio.Semaphore(_STARTS_AT_A_TIME)
        """Held while a program is started for a call: many at once would be one long halt of the event loop."""

    def take(self, limits: SessionLimits) -> Ward:
        """Return what a process that is about to be started is kept by; its `end` has to follow."""
        return Ward(limits, orphans=self._orphans, resources=self._resources)

    async def open(self) -> None:
        """Become responsible for orphans too, of this process and of an earlier daemon: for a process that is a daemon."""
        await self._orphans.open()
        self._open = True

    def start(self) -> None:
        """Begin to watch."""
        loop = asyncio.get_running_loop()
        self._tasks.append(loop.create_task(self._resources.run()))
        if self._open:
            self._tasks.append(loop.create_task(self._orphans.run()))

    async def close(self) -> None:
        """End what is left; nothing may be started any more."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._open:
            await self._orphans.close()


def _state_id(folder: Path) -> str:
    """Return a name of a folder that no other one of this machine has, in another container neither."""
    place = str(folder.resolve())
    with contextlib.suppress(
        OSError
    ):  # it is not there yet: then nothing can have been left by an earlier daemon
        found = folder.stat()
        place += f":{found.st_dev}:{found.st_ino}"
    return hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest()[:16]
